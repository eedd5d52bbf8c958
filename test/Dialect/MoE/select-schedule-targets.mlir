// Targets for which there is no schedule.
//
// RUN: moe-opt %s --moe-select-schedule='target={#moe.target<"h200", shared_memory = 16384>}' \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: moe-opt %s --moe-select-schedule='target={#moe.target<"h200", m_step = 36>}' \
// RUN:   --remarks-filter='moe.*' 2>&1 | FileCheck %s --check-prefix=STEP

// SMALL-NOT: schedule =
// SMALL: Reason="no tile fits 16384 bytes of shared memory"
// STEP-NOT: schedule =
// STEP: Reason="schedule needs m to be a multiple of 8 rows
func.func @down(%x: tensor<64x768xbf16>, %w: tensor<128x2048x768xbf16>,
                %off: tensor<129xi32>,
                %y: tensor<64x2048xbf16>) -> tensor<64x2048xbf16> {
  %0 = moe.grouped_matmul_swapped {result_order = #moe.order<row_major>,
                                   token_order = #moe.order<row_major>}
      ins(%w, %x, %off : tensor<128x2048x768xbf16>, tensor<64x768xbf16>,
                         tensor<129xi32>)
      outs(%y : tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
  return %0 : tensor<64x2048xbf16>
}
