// linalg.cpp: see linalg.h: chooses between our own kernels, cuSOLVER, and the host, for what neither computes:
// indefinite factors, eigenvalues of general matrices, least squares and exponentials.
#include "core/kernels/cuda/linalg/linalg.h"

#include <algorithm>

#include "core/kernels/cuda/driver/cusolver.h"
#include "core/kernels/cuda/host_kernels.h"
#include "core/kernels/cuda/linalg/factors.h"
#include "core/kernels/cuda/linalg/solver.h"

namespace undertow::core::cuda {

namespace {

template <auto kernel>
constexpr auto on_host = HostKernel<&Backend::linalg, kernel>::run;

// One block per matrix is fastest for small matrices and for many; the library for few large ones.
constexpr int64_t kLarge = 192, kFew = 64;
bool prefers_library(const Tensor& a) {
  return std::min(a.size(-2), a.size(-1)) >= kLarge && batch_count(a) <= kFew && cusolver();
}

void lu_factor(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  prefers_library(a) ? solver_lu(a, pivots, info) : factor_lu(a, pivots, info);
}
void cholesky(const Tensor& a, const Tensor& info) {
  prefers_library(a) ? solver_cholesky(a, info) : factor_cholesky(a, info);
}
void solve(const Tensor& x, const Tensor& lu, const Tensor& pivots) {
  prefers_library(lu) ? solver_solve(x, lu, pivots) : solve_factored(x, lu, pivots);
}
void invert(const Tensor& out, const Tensor& lu, const Tensor& pivots) {
  write_identity(out);
  solve(out, lu, pivots);
}

// Iterations on small matrices are many short kernels, one matrix after the other: the host is faster.
constexpr int64_t kSmall = 64;
bool prefers_host(const Tensor& a) { return std::max(a.size(-2), a.size(-1)) <= kSmall || !cusolver(); }

void qr(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q) {
  prefers_host(a) ? on_host<&LinalgKernels::qr>(Q, R, a, want_q) : solver_qr(Q, R, a, want_q);
}
void reflections(const Tensor& a, const Tensor& tau) {
  prefers_host(a) ? on_host<&LinalgKernels::reflections>(a, tau) : solver_reflections(a, tau);
}
void eigh(const Tensor& values, const Tensor& a, bool vectors) {
  prefers_host(a) ? on_host<&LinalgKernels::eigh>(values, a, vectors) : solver_eigh(values, a, vectors);
}
void svd(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a) {
  prefers_host(a) ? on_host<&LinalgKernels::svd>(S, U, V, a) : solver_svd(S, U, V, a);
}

}  // namespace

const LinalgKernels linalg_kernels = {
    .first_failure = on_host<&LinalgKernels::first_failure>,
    .lu_factor = lu_factor,
    .permutation = permutation,
    .split_lu = split_lu,
    .invert = invert,
    .solve = solve,
    .solve_triangular = solve_triangular,
    .det = det,
    .slogdet = slogdet,
    .cholesky = cholesky,
    .ldl_factor = on_host<&LinalgKernels::ldl_factor>,
    .ldl_solve = on_host<&LinalgKernels::ldl_solve>,
    .qr = qr,
    .reflections = reflections,
    .eigh = eigh,
    .eig = on_host<&LinalgKernels::eig>,
    .svd = svd,
    .divide_columns = divide_columns,
    .least_squares = on_host<&LinalgKernels::least_squares>,
    .squared_distances = squared_distances,
    .exponential = on_host<&LinalgKernels::exponential>,
};

}  // namespace undertow::core::cuda
