//===- compile_time_peer.cu - a grouped matmul in CUDA C++ ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[r, :] = x[r, :] * w[e]^T for the rows r from offsets[e] to offsets[e + 1],
// in bf16 with f32 accumulation: what compile_time.py has nvcc compile. Only
// its compile time is of interest; a fast kernel would be longer.
//
//===----------------------------------------------------------------------===//

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace {

namespace wmma = nvcuda::wmma;
using bf16 = __nv_bfloat16;

/// A block computes tiles of kTile rows by kTile columns, a warp a quarter of
/// one.
constexpr int kTile = 64;
constexpr int kWarpTile = 32;
constexpr int kFragment = 16;
constexpr int kFragments = kWarpTile / kFragment;
constexpr int kThreads = 4 * 32;

/// A stage holds this much of every row; its rows lie apart by some more, so
/// that those of a fragment are in different banks.
constexpr int kDepth = 32;
constexpr int kPitch = kDepth + 8;
constexpr int kStages = 4;
constexpr int kResultPitch = kTile + 4;

/// What one asynchronous copy moves.
constexpr int kVectorBytes = 16;
constexpr int kVector = kVectorBytes / sizeof(bf16);

struct Stage {
  bf16 x[kTile][kPitch];
  bf16 w[kTile][kPitch];
};

union alignas(128) Shared {
  Stage stages[kStages];
  float result[kTile][kResultPitch];
};

using FragmentX = wmma::fragment<wmma::matrix_a, kFragment, kFragment,
                                 kFragment, bf16, wmma::row_major>;
using FragmentW = wmma::fragment<wmma::matrix_b, kFragment, kFragment,
                                 kFragment, bf16, wmma::col_major>;
using FragmentY =
    wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

/// Starts to copy columns [k, k + kDepth) of a matrix of `rows` x K. What lies
/// outside of it counts as 0.
__device__ void loadTile(bf16 (&tile)[kTile][kPitch], const bf16 *matrix,
                         int rows, int K, int k) {
  constexpr int kVectorsOfRow = kDepth / kVector;
  for (int i = threadIdx.x; i < kTile * kVectorsOfRow; i += kThreads) {
    int row = i / kVectorsOfRow;
    int column = i % kVectorsOfRow * kVector;
    bool isInside = row < rows && k + column < K;
    size_t offset = isInside ? static_cast<size_t>(row) * K + k + column : 0;
    __pipeline_memcpy_async(&tile[row][column], matrix + offset, kVectorBytes,
                            isInside ? 0 : kVectorBytes);
  }
}

/// Adds the product of one stage to the quarter of this warp.
__device__ void multiply(const Stage &stage, int row, int column,
                         FragmentY (&sums)[kFragments][kFragments]) {
  for (int k = 0; k < kDepth; k += kFragment) {
    FragmentX x[kFragments];
    FragmentW w[kFragments];
    for (int i = 0; i < kFragments; ++i) {
      wmma::load_matrix_sync(x[i], &stage.x[row + i * kFragment][k], kPitch);
      wmma::load_matrix_sync(w[i], &stage.w[column + i * kFragment][k], kPitch);
    }
    for (int i = 0; i < kFragments; ++i)
      for (int j = 0; j < kFragments; ++j)
        wmma::mma_sync(sums[i][j], x[i], w[j], sums[i][j]);
  }
}

/// The product of `rows` x K tokens and `columns` x K weights; y is a part of a
/// matrix of N columns.
__device__ void computeTile(Shared &shared, const bf16 *x, int rows,
                            const bf16 *w, int columns, bf16 *y, int N, int K) {
  int warp = threadIdx.x / 32;
  int warpRow = warp / 2 * kWarpTile;
  int warpColumn = warp % 2 * kWarpTile;
  FragmentY sums[kFragments][kFragments];
  for (auto &line : sums)
    for (FragmentY &sum : line)
      wmma::fill_fragment(sum, 0.0f);

  int steps = (K + kDepth - 1) / kDepth;
  auto load = [&](int step) {
    if (step < steps) {
      Stage &stage = shared.stages[step % kStages];
      loadTile(stage.x, x, rows, K, step * kDepth);
      loadTile(stage.w, w, columns, K, step * kDepth);
    }
    // Also of nothing, so that the wait below counts alike in every step.
    __pipeline_commit();
  };
  for (int step = 0; step < kStages - 1; ++step)
    load(step);
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);
    // Everybody's copies are there, and the stage of the step before is free.
    __syncthreads();
    load(step + kStages - 1);
    multiply(shared.stages[step % kStages], warpRow, warpColumn, sums);
  }

  // The result takes the place of the stages.
  __syncthreads();
  for (int i = 0; i < kFragments; ++i)
    for (int j = 0; j < kFragments; ++j)
      wmma::store_matrix_sync(
          &shared.result[warpRow + i * kFragment][warpColumn + j * kFragment],
          sums[i][j], kResultPitch, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
    int row = i / kTile;
    int column = i % kTile;
    if (row < rows && column < columns)
      y[static_cast<size_t>(row) * N + column] =
          __float2bfloat16(shared.result[row][column]);
  }
  __syncthreads();
}

} // namespace

/// The grid is (N / kTile rounded up, experts). K is a multiple of kVector, and
/// addresses are aligned to kVectorBytes.
extern "C" __global__ void __launch_bounds__(kThreads)
    grouped_matmul(const bf16 *x, const bf16 *w, const int *offsets, bf16 *y,
                   int N, int K) {
  __shared__ Shared shared;
  int column = blockIdx.x * kTile;
  int expert = blockIdx.y;
  w += (static_cast<size_t>(expert) * N + column) * K;
  int end = offsets[expert + 1];
  for (int row = offsets[expert]; row < end; row += kTile)
    computeTile(shared, x + static_cast<size_t>(row) * K, min(kTile, end - row),
                w, min(kTile, N - column),
                y + static_cast<size_t>(row) * N + column, N, K);
}
