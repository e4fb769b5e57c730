// linalg.cpp: the table of the CPU's LinalgKernels.
#include "core/kernels/linalg.h"

#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/linalg/batches.h"

namespace undertow::core::cpu {

constinit const LinalgKernels linalg_kernels = {
    .first_failure = first_failure,
    .lu_factor = batch_lu_factor,
    .permutation = permutation,
    .split_lu = split_lu,
    .invert = batch_invert,
    .solve = batch_solve,
    .solve_triangular = batch_solve_triangular,
    .det = det,
    .slogdet = slogdet,
    .cholesky = batch_cholesky,
    .ldl_factor = ldl_factor,
    .ldl_solve = ldl_solve,
    .qr = batch_qr,
    .reflections = batch_reflections,
    .eigh = batch_eigh,
    .eig = batch_eig,
    .svd = batch_svd,
    .divide_columns = divide_columns,
    .least_squares = batch_least_squares,
    .squared_distances = squared_distances,
    .exponential = batch_exponential,
};

}  // namespace undertow::core::cpu
