// RUN: moe-opt %s --allow-unregistered-dialect --verify-roundtrip | FileCheck %s
// RUN: moe-opt %s --allow-unregistered-dialect --mlir-print-op-generic \
// RUN:   | moe-opt --allow-unregistered-dialect | FileCheck %s
// RUN: moe-opt %s --allow-unregistered-dialect --emit-bytecode \
// RUN:   | moe-opt --allow-unregistered-dialect | FileCheck %s

// A preset prints as its name, and only what differs from it after that.
// CHECK: preset = #moe.target<"h200">
// CHECK-SAME: architecture = #moe.target<"h100-sxm">
// CHECK-SAME: overridden = #moe.target<"h20", memory_bandwidth = 3000, peak_16bit = 100>
// CHECK-SAME: same = #moe.target<"h20">
// CHECK-SAME: whole = #moe.target<"own", sm_count = 1, shared_memory = 2, memory_bandwidth = 3, l2_bandwidth = 4, peak_16bit = 5, peak_8bit = 6, peak_f32 = 7, swapped_efficiency = 8, unswapped_efficiency = 9, m_step = 10, n_step = 11, n_max = 22, launch_overhead = 0, tile_overhead = 0>
"test.targets"() {
  a.preset = #moe.target<"h200">,
  b.architecture = #moe.target<"sm_90a">,
  c.overridden = #moe.target<"h20", peak_16bit = 100, memory_bandwidth = 3000>,
  d.same = #moe.target<"h20", sm_count = 78>,
  e.whole = #moe.target<"own", sm_count = 1, shared_memory = 2,
    memory_bandwidth = 3, l2_bandwidth = 4, peak_16bit = 5, peak_8bit = 6,
    peak_f32 = 7, swapped_efficiency = 8, unswapped_efficiency = 9, m_step = 10,
    n_step = 11, n_max = 22, launch_overhead = 0, tile_overhead = 0>
} : () -> ()
