// factors.cpp: LU and Cholesky factors, systems solved with them, and small work on factors, by kernels of our own.
#include "core/kernels/cuda/linalg/factors.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/linalg/linalg_params.h"
#include "core/kernels/cuda/matmul/matmul.h"
#include "core/kernels/cuda/memory.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/runtime/workspace.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate factor_lu_kernel("linalg/factors.cuh", "factor_lu");
KernelTemplate factor_cholesky_kernel("linalg/factors.cuh", "factor_cholesky");
KernelTemplate solve_factored_kernel("linalg/factors.cuh", "solve_factored");
KernelTemplate write_identity_kernel("linalg/matrices.cuh", "write_identity");
KernelTemplate solve_triangles("linalg/factors.cuh", "solve_triangles");
KernelTemplate write_permutation("linalg/matrices.cuh", "write_permutation");
KernelTemplate separate_triangles("linalg/matrices.cuh", "separate_triangles");
KernelTemplate determinants("linalg/matrices.cuh", "determinants");
KernelTemplate log_determinants("linalg/matrices.cuh", "log_determinants");
KernelTemplate divide_by_values("linalg/matrices.cuh", "divide_by_values");
KernelTemplate column_distances("linalg/matrices.cuh", "column_distances");

LaunchShape blocks(int64_t count) { return {.blocks = count, .threads = kLinalgThreads}; }
LaunchShape for_elements(int64_t n) { return blocks(std::min<int64_t>(blocks_for(n, kLinalgThreads), 1 << 20)); }

constexpr int64_t kSubstituted = 128;  // larger triangles are divided, so that most of the work is in products

// Solves the equations [first, first + p.n).
void solve_part(const Launcher& on, const Tensor& x, const Tensor& a, TriangleParams p, int64_t first) {
  auto a_offset = [&](int64_t row, int64_t column) { return (first + row) * p.a.row + (first + column) * p.a.column; };
  int64_t batch = batch_count(x);
  if (p.n <= kSubstituted) {
    on.run(solve_triangles, {x.dtype()}, blocks(batch * blocks_for(p.columns, kColumnsAtOnce)),
           x.data() + first * p.x.row * x.itemsize(), a.data() + a_offset(0, 0) * a.itemsize(), p);
    return;
  }
  int64_t half = p.n / 2, rest = p.n - half;
  TriangleParams upper = p, lower = p;
  upper.n = half;
  lower.n = rest;
  // The equations that are solved first are put into the others.
  auto put = [&](int64_t row, int64_t rows, int64_t column, int64_t depth) {
    multiply(x, a, x,
             {batch,
              rows,
              p.columns,
              depth,
              {p.a_batch, p.a.row, p.a.column, a_offset(row, column)},
              {p.x_batch, p.x.row, p.x.column, (first + column) * p.x.row},
              {p.x_batch, p.x.row, p.x.column, (first + row) * p.x.row}},
             Scalar(-1), Scalar(1));
  };
  if (p.triangle.upper) {
    solve_part(on, x, a, lower, first + half);
    put(0, half, half, rest);
    solve_part(on, x, a, upper, first);
  } else {
    solve_part(on, x, a, upper, first);
    put(half, rest, 0, half);
    solve_part(on, x, a, lower, first + half);
  }
}

[[noreturn]] void raise_pivot(int64_t pivot, int64_t, int64_t) {
  UT_FAIL("lu_unpack: pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive: got ", pivot);
}

}  // namespace

int64_t batch_count(const Tensor& t) { return product(t.sizes().first(static_cast<size_t>(t.dim() - 2))); }

void factor_lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  Launcher(a).run(factor_lu_kernel, {a.dtype()}, blocks(info.numel()), a.data(), pivots.data(), info.data(), a.size(-2),
                  a.size(-1));
}

void factor_cholesky(const Tensor& a, const Tensor& info) {
  Launcher(a).run(factor_cholesky_kernel, {a.dtype()}, blocks(info.numel()), a.data(), info.data(), a.size(-1));
}

void write_identity(const Tensor& x) {
  Launcher(x).run(write_identity_kernel, {x.dtype()}, for_elements(x.numel()), x.data(), x.numel(), x.size(-1));
}

void solve_factored(const Tensor& x, const Tensor& lu, const Tensor& pivots) {
  int64_t n = x.size(-2), columns = x.size(-1);
  Launcher(x).run(solve_factored_kernel, {x.dtype()}, blocks(batch_count(x) * blocks_for(columns, kColumnsAtOnce)),
                  x.data(), lu.data(), pivots.data(), n, columns);
}

void solve_triangular(const Tensor& x, const Tensor& a, TriangularSystem how) {
  int64_t n = a.size(-1), rows = x.size(-2), columns = how.left ? x.size(-1) : rows;
  // X A = B is A^T X^T = B^T: the strides of both are exchanged. a is row-major, x column-major.
  TriangleParams p{{how.left ? how.upper : !how.upper, how.unit},
                   how.left ? DenseStrides{n, 1} : DenseStrides{1, n},
                   how.left ? DenseStrides{1, rows} : DenseStrides{rows, 1},
                   n,
                   columns,
                   n * n,
                   n * columns};
  if (x.numel()) solve_part(Launcher(x), x, a, p, 0);
}

void permutation(const Tensor& P, const Tensor& pivots) {
  int64_t m = P.size(-1), k = pivots.size(-1), count = m ? P.numel() / (m * m) : 0;
  if (count == 0) return;
  Launcher on(P);
  Workspace rows(on.device(), static_cast<size_t>(count * m) * sizeof(int32_t));
  on.run(write_permutation, {P.dtype()}, blocks(count), P.data(), pivots.data(), rows.data(), m, k,
         device_error_slot(on.device()), reinterpret_cast<int64_t>(&raise_pivot));
}

void split_lu(const Tensor& L, const Tensor& U) {
  int64_t count = batch_count(L), m = L.size(-2), n = U.size(-1), k = L.size(-1);
  Launcher(L).run(separate_triangles, {L.dtype()}, for_elements(L.numel() + U.numel()), L.data(), U.data(), count, m, n,
                  k);
}

void det(const Tensor& out, const Tensor& lu, const Tensor& pivots) {
  Launcher(out).run(determinants, {lu.dtype()}, for_elements(out.numel()), out.data(), lu.data(), pivots.data(),
                    out.numel(), lu.size(-1));
}

void slogdet(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots) {
  Launcher(sign).run(log_determinants, {lu.dtype()}, for_elements(sign.numel()), sign.data(), size.data(), lu.data(),
                     pivots.data(), sign.numel(), lu.size(-1));
}

int64_t divide_columns(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol,
                       const Tensor& ranks) {
  int64_t rows = a.size(-2), least = a.size(-1), count = batch_count(a);
  if (count == 0) return least;
  Tensor counted = ranks.defined() ? ranks : empty_on_device_of(a, IntSpan({count}), DType::Int64),
         host = empty(counted.sizes(), DType::Int64);
  Launcher(a).run(divide_by_values, {a.dtype()}, blocks(count), a.data(), values.data(), atol.data(), rtol.data(),
                  counted.data(), rows, a.size(-1));
  copy_memory(host.data(), kCpu, counted.data(), counted.device(), static_cast<size_t>(host.nbytes()));
  for (int64_t i = 0; i < count; i++) least = std::min(least, host.data_as<int64_t>()[i]);
  return least;
}

void squared_distances(const Tensor& out, const Tensor& a, const Tensor& b) {
  Launcher(out).run(column_distances, {a.dtype()}, blocks(out.numel()), out.data(), a.data(), b.data(), a.size(-2),
                    a.size(-1));
}

}  // namespace undertow::core::cuda
