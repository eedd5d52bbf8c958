// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a grouped matmul that moe-compile made, through its C interface.

#include <stdint.h>
#include <stdio.h>

// Memory as MLIR's calling convention describes it.
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[1], strides[1];
} Vector;
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix;
typedef struct {
  void *allocated, *aligned;
  int64_t offset, sizes[3], strides[3];
} Cube;

void _mlir_ciface_matmul(Matrix *result, Matrix *tokens, Cube *weights,
                         Vector *offsets, Matrix *destination);

int main(void) {
  // One token of the first expert, none of the second, two of the third.
  float tokens[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  float weights[3][2][2] = {
      {{1, 0}, {0, 1}}, {{7, 7}, {7, 7}}, {{1, 1}, {1, -1}}};
  int32_t offsets[4] = {0, 1, 1, 3};
  float destination[3][2] = {{0}};
  Matrix x = {tokens, tokens, 0, {3, 2}, {2, 1}};
  Cube w = {weights, weights, 0, {3, 2, 2}, {4, 2, 1}};
  Vector o = {offsets, offsets, 0, {4}, {1}};
  Matrix y = {destination, destination, 0, {3, 2}, {2, 1}};
  Matrix result;
  _mlir_ciface_matmul(&result, &x, &w, &o, &y);
  const float *values = (const float *)result.aligned + result.offset;
  for (int64_t row = 0; row < result.sizes[0]; ++row)
    printf("row %g %g\n", values[row * result.strides[0]],
           values[row * result.strides[0] + result.strides[1]]);
  return 0;
}
