// families.h: the namespaces torch::linalg and torch::special: linalg::solve is linalg_solve.
#pragma once
#include <undertow/functions.h>

#include <utility>

#define UT_FAMILY(family, name)                                      \
  template <class... Args>                                           \
  decltype(auto) name(Args&&... args) {                              \
    return ::undertow::family##_##name(std::forward<Args>(args)...); \
  }

namespace undertow::linalg {
UT_FAMILY(linalg, cholesky)
UT_FAMILY(linalg, det)
UT_FAMILY(linalg, eig)
UT_FAMILY(linalg, eigh)
UT_FAMILY(linalg, eigvals)
UT_FAMILY(linalg, eigvalsh)
UT_FAMILY(linalg, householder_product)
UT_FAMILY(linalg, inv)
UT_FAMILY(linalg, lstsq)
UT_FAMILY(linalg, lu)
UT_FAMILY(linalg, lu_factor)
UT_FAMILY(linalg, matrix_exp)
UT_FAMILY(linalg, matrix_norm)
UT_FAMILY(linalg, matrix_rank)
UT_FAMILY(linalg, multi_dot)
UT_FAMILY(linalg, norm)
UT_FAMILY(linalg, pinv)
UT_FAMILY(linalg, qr)
UT_FAMILY(linalg, slogdet)
UT_FAMILY(linalg, solve)
UT_FAMILY(linalg, solve_triangular)
UT_FAMILY(linalg, svd)
UT_FAMILY(linalg, svdvals)
UT_FAMILY(linalg, tensorinv)
UT_FAMILY(linalg, tensorsolve)
UT_FAMILY(linalg, vector_norm)
}  // namespace undertow::linalg

namespace undertow::special {
UT_FAMILY(special, digamma)
UT_FAMILY(special, entr)
UT_FAMILY(special, erf)
UT_FAMILY(special, erfc)
UT_FAMILY(special, erfcx)
UT_FAMILY(special, erfinv)
UT_FAMILY(special, exp2)
UT_FAMILY(special, expit)
UT_FAMILY(special, expm1)
UT_FAMILY(special, gammainc)
UT_FAMILY(special, gammaincc)
UT_FAMILY(special, gammaln)
UT_FAMILY(special, i0)
UT_FAMILY(special, i0e)
UT_FAMILY(special, i1)
UT_FAMILY(special, i1e)
UT_FAMILY(special, log1p)
UT_FAMILY(special, log_ndtr)
UT_FAMILY(special, log_softmax)
UT_FAMILY(special, logit)
UT_FAMILY(special, logsumexp)
UT_FAMILY(special, multigammaln)
UT_FAMILY(special, ndtr)
UT_FAMILY(special, ndtri)
UT_FAMILY(special, polygamma)
UT_FAMILY(special, psi)
UT_FAMILY(special, sinc)
UT_FAMILY(special, softmax)
UT_FAMILY(special, xlog1py)
UT_FAMILY(special, xlogy)
UT_FAMILY(special, zeta)
}  // namespace undertow::special
#undef UT_FAMILY
