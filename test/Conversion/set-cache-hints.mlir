// RUN: moe-opt %s --moe-set-cache-hints --split-input-file | FileCheck %s

// Loads through the argument with a hint, and no others.
// CHECK-LABEL: llvm.func @kernel(
// CHECK-NOT: moe.cache_hint
// CHECK-DAG: %[[FIRST:.+]] = llvm.mlir.constant(1364590687093260288 : i64) : i64
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %arg0, %{{.+}}, box[%{{.+}}, %{{.+}}] l2_cache_hint = %[[FIRST]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %arg1, %{{.+}}, box[%{{.+}}, %{{.+}}] :
// CHECK: %[[LAST:.+]] = llvm.mlir.constant(1508705875169116160 : i64) : i64
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %arg2, %{{.+}}, box[%{{.+}}, %{{.+}}] l2_cache_hint = %[[LAST]]
llvm.func @kernel(%weights: !llvm.ptr {moe.cache_hint = "evict_first"}, %tokens: !llvm.ptr,
                  %other: !llvm.ptr {moe.cache_hint = "evict_last"},
                  %to: !llvm.ptr<7>, %barrier: !llvm.ptr<3>, %x: i32) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %weights, %barrier, box[%x, %x] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %tokens, %barrier, box[%x, %x] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %other, %barrier, box[%x, %x] : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}

// -----

// A declaration loses the attribute too.
// CHECK: llvm.func @declaration(!llvm.ptr)
llvm.func @declaration(!llvm.ptr {moe.cache_hint = "evict_first"})
