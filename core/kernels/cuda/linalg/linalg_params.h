// linalg_params.h: the parameters of the kernels for matrices. Included by the host and by device code, so it uses no
// other header; the includer has defined int64_t.
#pragma once

namespace undertow {

struct Triangle {
  bool upper, unit;  // unit: the diagonal is taken to be ones
};
struct DenseStrides {
  int64_t row, column;
};
// Triangular systems of n equations for `columns` right sides. `*_batch`: the elements between matrices.
struct TriangleParams {
  Triangle triangle;
  DenseStrides a, x;
  int64_t n, columns, a_batch, x_batch;
};

// Threads of a block, and right sides that one block solves: the host divides the work by them.
constexpr int kLinalgThreads = 128, kColumnsAtOnce = 8;

}  // namespace undertow
