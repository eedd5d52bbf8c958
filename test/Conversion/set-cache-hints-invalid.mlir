// RUN: moe-opt %s --moe-set-cache-hints --split-input-file --verify-diagnostics

// expected-error @below {{'llvm.func' op argument 1 has moe.cache_hint = "never"; it must be "evict_first" or "evict_last"}}
llvm.func @unknown(%a: !llvm.ptr, %b: !llvm.ptr {moe.cache_hint = "never"}) {
  llvm.return
}

// -----

// expected-error @below {{'llvm.func' op argument 0 has moe.cache_hint = 1 : i32; it must be}}
llvm.func @number(%a: !llvm.ptr {moe.cache_hint = 1 : i32}) {
  llvm.return
}
