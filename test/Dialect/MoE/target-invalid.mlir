// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{target "h300" is not a preset (h100-sxm, h200, h20, sm_90a) and lacks the field 'sm_count'}}
module attributes {moe.target = #moe.target<"h300">} {}

// -----

// expected-error @+1 {{target "own" is not a preset (h100-sxm, h200, h20, sm_90a) and lacks the field 'shared_memory'}}
module attributes {moe.target = #moe.target<"own", sm_count = 4>} {}

// -----

// expected-error @+1 {{target has no field 'sms'; its fields are sm_count, shared_memory}}
module attributes {moe.target = #moe.target<"h200", sms = 4>} {}

// -----

// expected-error @+1 {{target gives 'sm_count' twice}}
module attributes {moe.target = #moe.target<"h200", sm_count = 4, sm_count = 5>} {}

// -----

// expected-error @+1 {{target needs a sm_count of at least 1, got 0}}
module attributes {moe.target = #moe.target<"h200", sm_count = 0>} {}

// -----

// expected-error @+1 {{target needs a launch_overhead of at least 0, got -1}}
module attributes {moe.target = #moe.target<"h200", launch_overhead = -1>} {}

// -----

// expected-error @+1 {{target needs a swapped_efficiency of at most 100 percent, got 101}}
module attributes {moe.target = #moe.target<"h200", swapped_efficiency = 101>} {}

// -----

// expected-error @+1 {{target needs n_max to be a multiple of n_step = 8, got 250}}
module attributes {moe.target = #moe.target<"h200", n_max = 250>} {}

// -----

// expected-error @+1 {{target "" is not a preset}}
module attributes {moe.target = #moe.target<"">} {}

// -----

// expected-error @+1 {{target needs a name}}
module attributes {moe.target = #moe.target<"", sm_count = 1, shared_memory = 2,
    memory_bandwidth = 3, l2_bandwidth = 4, peak_16bit = 5, peak_8bit = 6,
    peak_f32 = 7, swapped_efficiency = 8, unswapped_efficiency = 9, m_step = 10,
    n_step = 11, n_max = 22, launch_overhead = 0, tile_overhead = 0>} {}

// -----

// expected-error @+1 {{target needs a sm_count of at most 1099511627776, got 1099511627777}}
module attributes {moe.target = #moe.target<"h200", sm_count = 1099511627777>} {}

// -----

// expected-error @+1 {{target needs m_step and n_max of at most 1024, got 64 and 2048}}
module attributes {moe.target = #moe.target<"h200", n_max = 2048>} {}

// -----

// expected-error @+1 {{attribute 'moe.target' must be a #moe.target, got "h200"}}
module attributes {moe.target = "h200"} {}

// -----

// expected-error @+1 {{attribute 'moe.target' must be a #moe.target, got unit}}
func.func private @f() attributes {moe.target}
