// Single grouped matmuls and what surrounds them, through all of moe-run.
//
// DEFINE: %{device} = cuda
// DEFINE: %{run} = moe-run %s --device=%{device} --check --repeat=3

// RUN: %{run} --entry=bias | FileCheck %s
// RUN: %{run} --entry=bias --routing=empty-groups | FileCheck %s
// RUN: %{run} --entry=gated --rows=50 --routing=zipf:1.5 | FileCheck %s
// RUN: %{run} --entry=in_place --seed=4 | FileCheck %s
// RUN: %{run} --entry=in_place --routing=one-expert | FileCheck %s
// RUN: %{run} --entry=swapped | FileCheck %s
// RUN: %{run} --entry=unswapped | FileCheck %s
// REQUIRES: cuda-sm90

// The orientations are those of their names; for an H20 both exist where the
// number of rows is not known, and the launch chooses.
// RUN: moe-opt %s --moe-swap-ab | FileCheck %s --check-prefix=CHOICE
// RUN: moe-opt %s --moe-swap-ab=target=h20 | FileCheck %s --check-prefix=VERSIONS
// RUN: %{run} --entry=versions --target=h20 --rows=6 | FileCheck %s
// RUN: %{run} --entry=versions --target=h20 --rows=300 --routing=one-expert | FileCheck %s
// RUN: %{run} --entry=versions --target=h20 --rows=3000 | FileCheck %s
// RUN: %{run} --entry=versions --target=h20 --rows=0 | FileCheck %s

// CHECK-NOT: FAILED
// CHECK: check passed

func.func @bias(%x: tensor<100x200xbf16>, %w: tensor<8x136x200xbf16>,
                %off: tensor<9xi32>, %b: tensor<8x136xbf16>,
                %y: tensor<100x136xf32>) -> tensor<100x136xf32> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<100x200xbf16>, tensor<8x136x200xbf16>, tensor<9xi32>)
      bias(%b : tensor<8x136xbf16>)
      outs(%y : tensor<100x136xf32>) -> tensor<100x136xf32>
  return %0 : tensor<100x136xf32>
}

func.func @gated(%x: tensor<?x128xf16>, %w: tensor<8x128x192xf16>,
                 %sizes: tensor<8xi64>, %b: tensor<8x192xf32>,
                 %s: tensor<?xf32>, %rows: tensor<?xi32>, %y: tensor<?x96xf16>)
    -> tensor<?x96xf16> {
  %0 = moe.grouped_matmul {
      weight_layout = #moe.weight_layout<kn>,
      group_kind = #moe.group_kind<sizes>,
      epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %w, %sizes
          : tensor<?x128xf16>, tensor<8x128x192xf16>, tensor<8xi64>)
      bias(%b : tensor<8x192xf32>) scale(%s : tensor<?xf32>)
      scatter(%rows : tensor<?xi32>)
      outs(%y : tensor<?x96xf16>) -> tensor<?x96xf16>
  return %0 : tensor<?x96xf16>
}

// The second matmul writes over the tokens of the first: each of the runs has
// to start from the tokens as they were.
func.func @in_place(%x: tensor<40x64xbf16>, %w: tensor<4x64x64xbf16>,
                    %off: tensor<5xi32>, %h: tensor<40x64xbf16>)
    -> (tensor<40x64xbf16>, tensor<40x64xbf16>) {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<40x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%h : tensor<40x64xbf16>) -> tensor<40x64xbf16>
  %1 = moe.grouped_matmul
      ins(%0, %w, %off
          : tensor<40x64xbf16>, tensor<4x64x64xbf16>, tensor<5xi32>)
      outs(%x : tensor<40x64xbf16>) -> tensor<40x64xbf16>
  return %1, %1 : tensor<40x64xbf16>, tensor<40x64xbf16>
}

// CHOICE-LABEL: func.func @swapped
// CHOICE: moe.grouped_matmul_swapped
func.func @swapped(%x: tensor<64x768xbf16>, %w: tensor<32x512x768xbf16>,
                   %off: tensor<33xi32>, %y: tensor<64x512xbf16>)
    -> tensor<64x512xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<64x768xbf16>, tensor<32x512x768xbf16>, tensor<33xi32>)
      outs(%y : tensor<64x512xbf16>) -> tensor<64x512xbf16>
  return %0 : tensor<64x512xbf16>
}

// CHOICE-LABEL: func.func @unswapped
// CHOICE-NOT: moe.grouped_matmul_swapped
func.func @unswapped(%x: tensor<4096x768xbf16>, %w: tensor<4x512x768xbf16>,
                     %off: tensor<5xi32>, %y: tensor<4096x512xbf16>)
    -> tensor<4096x512xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<4096x768xbf16>, tensor<4x512x768xbf16>, tensor<5xi32>)
      outs(%y : tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
  return %0 : tensor<4096x512xbf16>
}

// CHOICE-LABEL: func.func @versions
// VERSIONS-LABEL: func.func @versions
// VERSIONS: arith.constant {{[0-9]+}}0 : index
// VERSIONS: scf.if
// VERSIONS: moe.grouped_matmul_swapped
// VERSIONS: else
// VERSIONS: moe.grouped_matmul {expected_tokens
func.func @versions(%x: tensor<?x256xbf16>, %w: tensor<10x512x256xbf16>,
                    %off: tensor<11xi32>, %y: tensor<?x512xbf16>)
    -> tensor<?x512xbf16> {
  %0 = moe.grouped_matmul
      ins(%x, %w, %off
          : tensor<?x256xbf16>, tensor<10x512x256xbf16>, tensor<11xi32>)
      outs(%y : tensor<?x512xbf16>) -> tensor<?x512xbf16>
  return %0 : tensor<?x512xbf16>
}
