// Every form of output. The tests' PATH has no CUDA toolkit.
//
// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s --target=h200 --emit=mlir | FileCheck %s --check-prefix=MLIR
// RUN: moe-compile %s --target=h200 --emit=nvgpu | FileCheck %s --check-prefix=NVGPU
// RUN: moe-compile %s --target=h200 --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: moe-compile %s --target=h200 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: moe-compile %s --target=cpu --emit=mlir | FileCheck %s --check-prefix=CPU-MLIR
// RUN: moe-compile %s --target=cpu --emit=llvm | FileCheck %s --check-prefix=CPU-LLVM

// Raised or decomposed, oriented and scheduled; still on tensors.
// MLIR: func.func @down
// MLIR: moe.grouped_matmul_swapped {{{.*}}schedule = #moe.schedule<{{.*}}>{{.*}}} {{.*}} -> tensor<64x2048xbf16>

// NVGPU: gpu.launch_func @moe_kernels::@grouped_matmul_swapped_0
// NVGPU: gpu.module @moe_kernels
// NVGPU: nvgpu.warpgroup.mma
// NVGPU-NOT: moe.

// The host side needs no lowering: the launch file is made of it.
// LLVM: gpu.launch_func
// LLVM: gpu.module @moe_kernels
// LLVM: llvm.inline_asm {{.*}}wgmma.mma_async
// LLVM-NOT: nvgpu.warpgroup

// PTX: .version 8.0
// PTX: .target sm_90a
// PTX: .visible .entry grouped_matmul_swapped_0
// Standard output holds PTX and nothing else.
// PTX-NOT: "abi"

// A CPU's choices are not those of a GPU: nothing is swapped.
// CPU-MLIR: func.func @down
// CPU-MLIR: moe.grouped_matmul ins
// CPU-LLVM: llvm.func @_mlir_ciface_down
// CPU-LLVM-NOT: moe.

// The default is PTX for sm_90a; the launch file lies beside it.
// RUN: moe-compile %s -o %t/down.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/down.ptx
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/down.json
// RUN: moe-compile %s --target=sm_90a --emit=ptx -o %t/other.name.ptx
// RUN: diff %t/down.ptx %t/other.name.ptx
// RUN: FileCheck %s --check-prefix=NAME --input-file=%t/other.name.json
// JSON: "image": "down.ptx"
// JSON: "kernel": "grouped_matmul{{(_swapped)?}}_0"
// JSON: "programmatic": true
// NAME: "image": "other.name.ptx"

// Standard input.
// RUN: moe-compile --emit=mlir --target=h200 < %s | FileCheck %s --check-prefix=MLIR
// RUN: moe-compile - --emit=mlir --target=h200 < %s | FileCheck %s --check-prefix=MLIR

// Other forms leave no launch file.
// RUN: moe-compile %s --emit=nvgpu -o %t/down.nvgpu
// RUN: FileCheck %s --check-prefix=NVGPU-FILE --input-file=%t/down.nvgpu
// RUN: moe-compile %s --target=cpu --emit=obj -o %t/down.o
// RUN: llvm-readobj --file-headers %t/down.o | FileCheck %s --check-prefix=OBJ
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// NVGPU-FILE: nvgpu.warpgroup.mma
// OBJ: Type: Relocatable
// FILES: down.json
// FILES-NEXT: down.nvgpu
// FILES-NEXT: down.o
// FILES-NEXT: down.ptx
// FILES-NEXT: other.name.json
// FILES-NEXT: other.name.ptx
// FILES-NOT: {{.}}

func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off : tensor<64x768xbf16>, tensor<128x2048x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}
