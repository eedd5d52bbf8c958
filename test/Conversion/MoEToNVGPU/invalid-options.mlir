// RUN: not moe-opt %s --convert-moe-to-nvgpu=target=a100 2>&1 | FileCheck %s

// CHECK: error: {{.*}}a100
// CHECK-SAME: h100-sxm
module {}
