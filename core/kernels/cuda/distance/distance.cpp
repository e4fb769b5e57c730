// distance.cpp: see distance.h.
#include "core/kernels/cuda/distance/distance.h"

#include <algorithm>
#include <cmath>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/matmul/matmul.h"
#include "core/kernels/cuda/matmul/precision.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate distances_of_all("distance/distance.cuh", "distances_of_all");
KernelTemplate distances_of_pairs("distance/distance.cuh", "distances_of_pairs");

KernelTemplate square_rows("distance/distance.cuh", "square_rows");
KernelTemplate finish_distances("distance/distance.cuh", "finish_distances");

TemplateArg norm_kind(double p) {
  if (p == 0) return "kNormZero";
  if (p == 1) return "kNormOne";
  if (p == 2) return "kNormTwo";
  return std::isinf(p) ? "kNormInfinity" : "kNormAny";
}

// One warp per pair.
LaunchShape shape_for(int64_t pairs) { return {.blocks = std::min<int64_t>(blocks_for(pairs, 8), 1 << 20)}; }

// Enough work for a product of matrices to pay off.
constexpr int64_t kProductWork = 1 << 18;
bool prefers_product(const Tensor& out, int64_t n, double p) {
  bool exact = out.dtype() == DType::Float64 || (out.dtype() == DType::Float32 && !product_precision().tf32);
  return p == 2 && exact && n >= 8 && out.numel() * n >= kProductWork;
}

void cdist_by_product(const Tensor& out, const Tensor& a, const Tensor& b) {
  int64_t rows = a.size(-2), columns = b.size(-2), n = a.size(-1), batch = out.numel() / (rows * columns);
  Tensor a_squares = empty_on_device_of(a, IntSpan({batch * rows}), a.dtype()),
         b_squares = empty_on_device_of(b, IntSpan({batch * columns}), b.dtype());
  Launcher on(out);
  on.run(square_rows, {a.dtype()}, shape_for(batch * rows), a_squares.data(), a.data(), batch * rows, n);
  on.run(square_rows, {b.dtype()}, shape_for(batch * columns), b_squares.data(), b.data(), batch * columns, n);
  multiply(out, a, b, {batch, rows, columns, n, {rows * n, n, 1}, {columns * n, 1, n}, {rows * columns, columns, 1}},
           Scalar(-2), Scalar(0));
  on.run(finish_distances, {out.dtype()}, {.blocks = std::min<int64_t>(blocks_for(out.numel(), 256), 1 << 20)},
         out.data(), a.data(), b.data(), a_squares.data(), b_squares.data(), out.numel(), rows, columns, n);
}

void cdist(const Tensor& out, const Tensor& a, const Tensor& b, double p) {
  if (out.numel() == 0) return;
  int64_t rows = a.size(-2), columns = b.size(-2), n = a.size(-1), batch = out.numel() / (rows * columns);
  if (prefers_product(out, n, p)) return cdist_by_product(out, a, b);
  Launcher(out).run(distances_of_all, {out.dtype(), norm_kind(p)}, shape_for(out.numel()), out.data(), a.data(),
                    b.data(), batch, rows, columns, n, p);
}

void pdist(const Tensor& out, const Tensor& rows, double p) {
  if (out.numel() == 0) return;
  Launcher(out).run(distances_of_pairs, {out.dtype(), norm_kind(p)}, shape_for(out.numel()), out.data(), rows.data(),
                    rows.size(0), rows.size(1), p);
}

}  // namespace

const DistanceKernels distance_kernels = {.cdist = cdist, .pdist = pdist};

}  // namespace undertow::core::cuda
