// RUN: moe-opt %s --convert-moe-to-nvgpu --split-input-file --verify-diagnostics

func.func @strided_indices(%i: memref<?x2xi32, strided<[4, 1]>>, %t: memref<?xi32>, %p: memref<?x2xi32>, %o: memref<9xi32>) {
  // expected-error @below {{'moe.dispatch' op has an operand of type 'memref<?x2xi32, strided<[4, 1]>>'; the GPU kernel needs contiguous memrefs}}
  moe.dispatch ins(%i : memref<?x2xi32, strided<[4, 1]>>) outs(%t, %p, %o : memref<?xi32>, memref<?x2xi32>, memref<9xi32>)
  return
}

// -----

func.func @dispatch_of_tensors(%i: tensor<4x2xi32>, %t: tensor<8xi32>, %p: tensor<4x2xi32>, %o: tensor<9xi32>) -> tensor<9xi32> {
  // expected-error @below {{'moe.dispatch' op has an operand of type 'tensor<4x2xi32>'; the GPU kernel needs contiguous memrefs}}
  %0:3 = moe.dispatch ins(%i : tensor<4x2xi32>) outs(%t, %p, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  return %0#2 : tensor<9xi32>
}

// -----

func.func @dynamic_top_k(%i: memref<?x?xi32>, %t: memref<?xi32>, %p: memref<?x?xi32>, %o: memref<9xi32>) {
  // expected-error @below {{has an operand of type 'memref<?x?xi32>'; the GPU kernel needs rows of a static size}}
  moe.dispatch ins(%i : memref<?x?xi32>) outs(%t, %p, %o : memref<?xi32>, memref<?x?xi32>, memref<9xi32>)
  return
}

// -----

func.func @dynamic_experts(%i: memref<?x2xi32>, %t: memref<?xi32>, %p: memref<?x2xi32>, %o: memref<?xi32>) {
  // expected-error @below {{has offsets of a dynamic size; the GPU kernel needs a static number of experts}}
  moe.dispatch ins(%i : memref<?x2xi32>) outs(%t, %p, %o : memref<?xi32>, memref<?x2xi32>, memref<?xi32>)
  return
}

// -----

func.func @strided_rows(%r: memref<?x64xbf16, strided<[128, 1]>>, %p: memref<?x2xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{'moe.combine' op has an operand of type 'memref<?x64xbf16, strided<[128, 1]>>'; the GPU kernel needs contiguous memrefs}}
  moe.combine ins(%r, %p : memref<?x64xbf16, strided<[128, 1]>>, memref<?x2xi32>) outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @dynamic_columns(%r: memref<?x?xbf16>, %p: memref<?x2xi32>, %y: memref<?x?xbf16>) {
  // expected-error @below {{'moe.combine' op has an operand of type 'memref<?x?xbf16>'; the GPU kernel needs rows of a static size}}
  moe.combine ins(%r, %p : memref<?x?xbf16>, memref<?x2xi32>) outs(%y : memref<?x?xbf16>)
  return
}

// -----

func.func @fill_with_a_variable(%value: bf16, %x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>) {
  // expected-error @below {{'linalg.fill' op fills with a value that is not a constant of the memref's element type; the GPU kernel needs one}}
  linalg.fill ins(%value : bf16) outs(%y : memref<?x64xbf16>)
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @strided_fill(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>, %z: memref<4x4xbf16, strided<[8, 1]>>) {
  %zero = arith.constant 0.0 : bf16
  // expected-error @below {{'linalg.fill' op has an operand of type 'memref<4x4xbf16, strided<[8, 1]>>'; the GPU kernel needs contiguous memrefs}}
  linalg.fill ins(%zero : bf16) outs(%z : memref<4x4xbf16, strided<[8, 1]>>)
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @strided_copy(%x: memref<?x64xbf16>, %w: memref<4x64x64xbf16>, %off: memref<5xi32>, %y: memref<?x64xbf16>, %z: memref<?x64xbf16, strided<[128, 1]>>) {
  // expected-error @below {{'memref.copy' op has an operand of type 'memref<?x64xbf16, strided<[128, 1]>>'; the GPU kernel needs contiguous memrefs}}
  memref.copy %z, %x : memref<?x64xbf16, strided<[128, 1]>> to memref<?x64xbf16>
  moe.grouped_matmul {schedule = #moe.schedule<m = 64, n = 8, k = 64, stages = 2, warpgroups = 1>}
      ins(%x, %w, %off : memref<?x64xbf16>, memref<4x64x64xbf16>, memref<5xi32>)
      outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @fill_of_indices(%r: memref<?x64xbf16>, %p: memref<?x2xi32>, %y: memref<?x64xbf16>, %z: memref<4xindex>) {
  %zero = arith.constant 0 : index
  // expected-error @below {{'linalg.fill' op has an operand of type 'memref<4xindex>'; the GPU kernel moves i8, i16, i32, i64, f16, bf16, f32 and f64: keep the op outside of the compiled function, or use --target=cpu}}
  linalg.fill ins(%zero : index) outs(%z : memref<4xindex>)
  moe.combine ins(%r, %p : memref<?x64xbf16>, memref<?x2xi32>) outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @copy_of_complex_numbers(%r: memref<?x64xbf16>, %p: memref<?x2xi32>, %y: memref<?x64xbf16>, %z: memref<4xcomplex<f32>>) {
  // expected-error @below {{'memref.copy' op has an operand of type 'memref<4xcomplex<f32>>'; the GPU kernel moves}}
  memref.copy %z, %z : memref<4xcomplex<f32>> to memref<4xcomplex<f32>>
  moe.combine ins(%r, %p : memref<?x64xbf16>, memref<?x2xi32>) outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @copy_of_shared_memory(%r: memref<?x64xbf16>, %p: memref<?x2xi32>, %y: memref<?x64xbf16>, %z: memref<4xf32>, %shared: memref<4xf32, 3>) {
  // expected-error @below {{'memref.copy' op has an operand of type 'memref<4xf32, 3>'; the GPU kernel needs memrefs in global memory}}
  memref.copy %shared, %z : memref<4xf32, 3> to memref<4xf32>
  moe.combine ins(%r, %p : memref<?x64xbf16>, memref<?x2xi32>) outs(%y : memref<?x64xbf16>)
  return
}

// -----

func.func @too_many_experts(%i: memref<?x2xi32>, %t: memref<?xi32>, %r: memref<?x2xi32>, %o: memref<4294967297xi32>) {
  // expected-error @below {{'moe.dispatch' op has 4294967296 experts and 2 of them a token; the GPU kernel counts in i32}}
  moe.dispatch ins(%i : memref<?x2xi32>) outs(%t, %r, %o : memref<?xi32>, memref<?x2xi32>, memref<4294967297xi32>)
  return
}

// -----

func.func @too_many_experts_of_a_token(%i: memref<?x4294967296xi32>, %t: memref<?xi32>, %r: memref<?x4294967296xi32>, %o: memref<9xi32>) {
  // expected-error @below {{'moe.dispatch' op has 8 experts and 4294967296 of them a token; the GPU kernel counts in i32}}
  moe.dispatch ins(%i : memref<?x4294967296xi32>) outs(%t, %r, %o : memref<?xi32>, memref<?x4294967296xi32>, memref<9xi32>)
  return
}

// -----

func.func @strided_logits(%l: memref<?x8xf32, strided<[16, 1]>>, %w: memref<?x2xf32>, %i: memref<?x2xi32>) {
  // expected-error @below {{'moe.route' op has an operand of type 'memref<?x8xf32, strided<[16, 1]>>'; the GPU kernel needs contiguous memrefs}}
  moe.route ins(%l : memref<?x8xf32, strided<[16, 1]>>) outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  return
}

// -----

func.func @route_of_too_many_experts(%l: memref<?x1025xf32>, %w: memref<?x2xf32>, %i: memref<?x2xi32>) {
  // expected-error @below {{'moe.route' op chooses 2 of 1025 experts; the GPU kernel chooses at most 128 of 1024: use --target=cpu}}
  moe.route ins(%l : memref<?x1025xf32>) outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  return
}

// -----

func.func @too_many_choices(%l: memref<?x256xf32>, %w: memref<?x129xf32>, %i: memref<?x129xi32>) {
  // expected-error @below {{'moe.route' op chooses 129 of 256 experts; the GPU kernel chooses at most 128 of 1024: use --target=cpu}}
  moe.route ins(%l : memref<?x256xf32>) outs(%w, %i : memref<?x129xf32>, memref<?x129xi32>)
  return
}

// -----

func.func @dynamic_bias(%l: memref<?x8xf32>, %b: memref<?xf32>, %w: memref<?x2xf32>, %i: memref<?x2xi32>) {
  // expected-error @below {{'moe.route' op has a bias of a dynamic size; the GPU kernel needs it static}}
  moe.route ins(%l : memref<?x8xf32>) bias(%b : memref<?xf32>) outs(%w, %i : memref<?x2xf32>, memref<?x2xi32>)
  return
}
