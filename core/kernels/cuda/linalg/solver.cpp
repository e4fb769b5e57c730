// solver.cpp: see solver.h. The library takes one matrix at a time.
#include "core/kernels/cuda/linalg/solver.h"

#include <algorithm>
#include <vector>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/driver/cusolver.h"
#include "core/kernels/cuda/linalg/factors.h"
#include "core/kernels/cuda/linalg/linalg_params.h"
#include "core/kernels/cuda/memory.h"
#include "core/kernels/cuda/runtime/workspace.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate keep_triangle("linalg/matrices.cuh", "keep_triangle");
KernelTemplate adjoint_matrices("linalg/matrices.cuh", "adjoint_matrices");

LibraryType real_type(DType t) { return library_type(to_real(t)); }
int dtype_number(DType t) { return t == DType::Float32 ? 0 : t == DType::Float64 ? 1 : t == DType::Complex64 ? 2 : 3; }

// A leading dimension is at least one, even for matrices without rows.
int64_t lead(int64_t rows) { return std::max<int64_t>(1, rows); }
char* element(const Tensor& t, int64_t i) { return t.data() + i * t.itemsize(); }

// Calls size(&device, &host) once, then run(i, device memory, bytes, host memory, bytes) for each matrix.
template <class Size, class Run>
void for_each_matrix(const Launcher& on, int64_t count, const char* name, Size&& size, Run&& run) {
  if (count == 0) return;
  size_t device_bytes = 0, host_bytes = 0;
  Cusolver::check(size(&device_bytes, &host_bytes), name);
  Workspace device(on.device(), device_bytes);
  std::vector<char> host(host_bytes);
  for (int64_t i = 0; i < count; i++)
    Cusolver::check(run(i, device.data(), device_bytes, host.data(), host_bytes), name);
}

Tensor wide_pivots(const Tensor& pivots) { return empty_on_device_of(pivots, pivots.sizes(), DType::Int64); }

// Elements above (upper = false) or below the diagonal of m by n column-major matrices become zero.
void zero_other_triangle(const Launcher& on, const Tensor& a, bool upper) {
  if (a.numel() == 0) return;
  on.run(keep_triangle, {a.dtype()},
         {.blocks = std::min<int64_t>(blocks_for(a.numel(), kLinalgThreads), 1 << 20), .threads = kLinalgThreads},
         a.data(), a.numel(), a.size(-2), a.size(-1), upper);
}

// Raises if an iteration did not converge: waits for the device.
void check_converged(const Tensor& info, bool batched, const char* name) {
  Tensor host = empty(info.sizes(), DType::Int32);
  copy_memory(host.data(), kCpu, info.data(), info.device(), static_cast<size_t>(host.nbytes()));
  for (int64_t i = 0; i < host.numel(); i++)
    UT_CHECK_AS(LinAlg, host.data_as<int32_t>()[i] == 0, name, ": ",
                batched ? str("(Batch element ", i, "): ") : std::string(),
                "The algorithm failed to converge because the input matrix contained non-finite values or is "
                "ill-conditioned.");
}

Tensor info_for(const Tensor& a) { return empty_on_device_of(a, IntSpan({batch_count(a)}), DType::Int32); }

void factor_qr(const Launcher& on, const Tensor& a, const Tensor& tau) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  LibraryType type = library_type(a.dtype());
  Tensor info = info_for(a);
  CusolverSession s(on.device(), on.stream());
  for_each_matrix(
      on, batch_count(a), "cusolverDnXgeqrf",
      [&](size_t* device, size_t* host) {
        return cusolver()->geqrf_size(s.handle(), s.params(), m, n, type, a.data(), lead(m), type, tau.data(), type,
                                      device, host);
      },
      [&](int64_t i, char* device, size_t device_bytes, char* host, size_t host_bytes) {
        return cusolver()->geqrf(s.handle(), s.params(), m, n, type, element(a, i * m * n), lead(m), type,
                                 element(tau, i * k), type, device, device_bytes, host, host_bytes,
                                 info.data_as<int>() + i);
      });
}

// Q of m rows and `columns` columns, whose first k columns hold the reflectors.
void form_q(const Launcher& on, const Tensor& Q, const Tensor& tau, int64_t k) {
  int which = dtype_number(Q.dtype()), m = static_cast<int>(Q.size(-2)), columns = static_cast<int>(Q.size(-1)),
      depth = static_cast<int>(k), elements = 0, ld = std::max(1, m);
  const Cusolver& f = *cusolver();
  Tensor info = info_for(Q);
  CusolverSession s(on.device(), on.stream());
  Cusolver::check(f.form_q_size[which](s.handle(), m, columns, depth, Q.data(), ld, tau.data(), &elements), "orgqr");
  Workspace work(on.device(), static_cast<size_t>(elements * Q.itemsize()));
  for (int64_t i = 0; i < batch_count(Q); i++)
    Cusolver::check(f.form_q[which](s.handle(), m, columns, depth, element(Q, i * m * columns), ld, element(tau, i * k),
                                    work.data(), elements, info.data_as<int>() + i),
                    "orgqr");
}

// The first `columns` columns or rows of column-major matrices, as a view.
Tensor part_of(const Tensor& t, int64_t rows, int64_t columns) {
  Dims sizes(t.sizes());
  sizes[sizes.size() - 2] = rows;
  sizes[sizes.size() - 1] = columns;
  return alias(t, sizes, t.strides(), t.storage_offset(), t.dtype());
}

}  // namespace

void solver_lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  LibraryType type = library_type(a.dtype());
  Tensor wide = wide_pivots(pivots);
  Launcher on(a);
  {
    CusolverSession s(on.device(), on.stream());
    for_each_matrix(
        on, info.numel(), "cusolverDnXgetrf",
        [&](size_t* device, size_t* host) {
          return cusolver()->getrf_size(s.handle(), s.params(), m, n, type, a.data(), lead(m), type, device, host);
        },
        [&](int64_t i, char* device, size_t device_bytes, char* host, size_t host_bytes) {
          return cusolver()->getrf(s.handle(), s.params(), m, n, type, element(a, i * m * n), lead(m),
                                   wide.data_as<int64_t>() + i * k, type, device, device_bytes, host, host_bytes,
                                   info.data_as<int>() + i);
        });
  }
  copy(pivots, wide);
}

void solver_solve(const Tensor& x, const Tensor& lu, const Tensor& pivots) {
  int64_t n = x.size(-2), columns = x.size(-1);
  LibraryType type = library_type(x.dtype());
  Tensor wide = wide_pivots(pivots), info = info_for(x);
  Launcher on(x);
  copy(wide, pivots);
  CusolverSession s(on.device(), on.stream());
  for (int64_t i = 0; i < batch_count(x); i++)
    Cusolver::check(cusolver()->getrs(s.handle(), s.params(), 0, n, columns, type, element(lu, i * n * n), lead(n),
                                      wide.data_as<int64_t>() + i * n, type, element(x, i * n * columns), lead(n),
                                      info.data_as<int>() + i),
                    "cusolverDnXgetrs");
}

void solver_cholesky(const Tensor& a, const Tensor& info) {
  int64_t n = a.size(-1);
  LibraryType type = library_type(a.dtype());
  Launcher on(a);
  {
    CusolverSession s(on.device(), on.stream());
    for_each_matrix(
        on, info.numel(), "cusolverDnXpotrf",
        [&](size_t* device, size_t* host) {
          return cusolver()->potrf_size(s.handle(), s.params(), kSolverLower, n, type, a.data(), lead(n), type, device,
                                        host);
        },
        [&](int64_t i, char* device, size_t device_bytes, char* host, size_t host_bytes) {
          return cusolver()->potrf(s.handle(), s.params(), kSolverLower, n, type, element(a, i * n * n), lead(n), type,
                                   device, device_bytes, host, host_bytes, info.data_as<int>() + i);
        });
  }
  zero_other_triangle(on, a, false);
}

void solver_reflections(const Tensor& a, const Tensor& tau) {
  if (a.numel()) factor_qr(Launcher(a), a, tau);
}

void solver_qr(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), rows = R.size(-2);
  Launcher on(R);
  Tensor tau = empty_on_device_of(a, IntSpan({batch_count(a), k}), a.dtype());
  if (a.numel()) factor_qr(on, a, tau);
  // R: the first k rows of the result on and above the diagonal; with all columns of Q, R has zeros below.
  if (R.numel()) {
    if (rows > k) zero(R);
    copy(part_of(R, k, n), part_of(a, k, n));
    zero_other_triangle(on, R, true);
  }
  if (!want_q || Q.numel() == 0) return;
  if (k == 0) return write_identity(Q);
  copy(part_of(Q, m, k), part_of(a, m, k));
  form_q(on, Q, tau, k);
}

void solver_eigh(const Tensor& values, const Tensor& a, bool vectors) {
  int64_t n = a.size(-1);
  if (a.numel() == 0) return;
  LibraryType type = library_type(a.dtype()), real = real_type(a.dtype());
  int mode = vectors ? kSolverVectors : kSolverNoVectors;
  Tensor info = info_for(a);
  Launcher on(a);
  {
    CusolverSession s(on.device(), on.stream());
    for_each_matrix(
        on, info.numel(), "cusolverDnXsyevd",
        [&](size_t* device, size_t* host) {
          return cusolver()->syevd_size(s.handle(), s.params(), mode, kSolverLower, n, type, a.data(), lead(n), real,
                                        values.data(), type, device, host);
        },
        [&](int64_t i, char* device, size_t device_bytes, char* host, size_t host_bytes) {
          return cusolver()->syevd(s.handle(), s.params(), mode, kSolverLower, n, type, element(a, i * n * n), lead(n),
                                   real, element(values, i * n), type, device, device_bytes, host, host_bytes,
                                   info.data_as<int>() + i);
        });
  }
  check_converged(info, values.dim() > 1, "linalg.eigh");
}

void solver_svd(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a) {
  int64_t m = a.size(-2), k = a.size(-1), columns = U.defined() ? U.size(-1) : 0;
  if (a.numel() == 0) return;
  LibraryType type = library_type(a.dtype()), real = real_type(a.dtype());
  // The library gives V^H.
  Tensor adjoint = V.defined() ? empty_strided_on_device_of(V, V.sizes(), V.strides(), V.dtype()) : V,
         info = info_for(a);
  auto job = static_cast<signed char>(!U.defined()   ? 'N'
                                      : columns == m ? 'A'
                                                     : 'S'),
       job_v = static_cast<signed char>(!U.defined() ? 'N' : 'A');
  auto data = [](const Tensor& t, int64_t i) { return t.defined() ? element(t, i) : nullptr; };
  Launcher on(a);
  {
    CusolverSession s(on.device(), on.stream());
    for_each_matrix(
        on, info.numel(), "cusolverDnXgesvd",
        [&](size_t* device, size_t* host) {
          return cusolver()->gesvd_size(s.handle(), s.params(), job, job_v, m, k, type, a.data(), lead(m), real,
                                        S.data(), type, data(U, 0), lead(m), type, data(adjoint, 0), lead(k), type,
                                        device, host);
        },
        [&](int64_t i, char* device, size_t device_bytes, char* host, size_t host_bytes) {
          return cusolver()->gesvd(s.handle(), s.params(), job, job_v, m, k, type, element(a, i * m * k), lead(m), real,
                                   element(S, i * k), type, data(U, i * m * columns), lead(m), type,
                                   data(adjoint, i * k * k), lead(k), type, device, device_bytes, host, host_bytes,
                                   info.data_as<int>() + i);
        });
  }
  if (V.defined())
    on.run(adjoint_matrices, {V.dtype()},
           {.blocks = std::min<int64_t>(blocks_for(V.numel(), kLinalgThreads), 1 << 20), .threads = kLinalgThreads},
           V.data(), adjoint.data(), V.numel(), k);
  check_converged(info, S.dim() > 1, "linalg.svd");
}

}  // namespace undertow::core::cuda
