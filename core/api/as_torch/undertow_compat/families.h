// families.h: the namespaces torch::linalg and torch::special: linalg::solve is linalg_solve; and fft_fft, which is
// fft::fft.
#pragma once
#include <undertow/fft.h>
#include <undertow/functions.h>

#include <string_view>
#include <utility>

#define UT_FAMILY(family, name)                                      \
  template <class... Args>                                           \
  decltype(auto) name(Args&&... args) {                              \
    return ::undertow::family##_##name(std::forward<Args>(args)...); \
  }

namespace undertow {
inline Tensor linalg_matmul(const Tensor& self, const Tensor& other) { return matmul(self, other); }
inline Tensor linalg_matrix_power(const Tensor& self, int64_t n) { return matrix_power(self, n); }
inline Tensor chain_matmul(TensorList matrices) { return linalg_multi_dot(matrices); }
#define UT_FFT(name)                                                                                                  \
  inline Tensor fft_##name(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1,                       \
                           const fft::Norm& norm = nullopt) {                                                         \
    return fft::name(self, n, dim, norm);                                                                             \
  }                                                                                                                   \
  inline Tensor fft_##name##2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},        \
                              const fft::Norm& norm = nullopt) {                                                      \
    return fft::name##2(self, s, dim, norm);                                                                          \
  }                                                                                                                   \
  inline Tensor fft_##name##n(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt, \
                              const fft::Norm& norm = nullopt) {                                                      \
    return fft::name##n(self, s, dim, norm);                                                                          \
  }
UT_FFT(fft)
UT_FFT(ifft)
UT_FFT(rfft)
UT_FFT(irfft)
UT_FFT(hfft)
UT_FFT(ihfft)
#undef UT_FFT
inline Tensor fft_fftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {}) {
  return fft::fftfreq(n, d, options);
}
inline Tensor fft_rfftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {}) {
  return fft::rfftfreq(n, d, options);
}
inline Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim = nullopt) { return fft::fftshift(self, dim); }
inline Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim = nullopt) { return fft::ifftshift(self, dim); }
}  // namespace undertow

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
UT_FAMILY(linalg, matmul)
UT_FAMILY(linalg, matrix_exp)
UT_FAMILY(linalg, matrix_power)
UT_FAMILY(linalg, matrix_rank)
UT_FAMILY(linalg, pinv)
UT_FAMILY(linalg, qr)
UT_FAMILY(linalg, slogdet)
UT_FAMILY(linalg, solve)
UT_FAMILY(linalg, solve_triangular)
UT_FAMILY(linalg, svd)
UT_FAMILY(linalg, svdvals)
UT_FAMILY(linalg, tensorinv)
// Lists in braces, {-2, -1}, have no type that a template could find: functions that take lists are written out.
inline Tensor matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                          optional<ScalarType> dtype = nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor multi_dot(TensorList tensors) { return linalg_multi_dot(tensors); }
inline Tensor norm(const Tensor& self, const optional<Scalar>& ord = nullopt, OptionalIntArrayRef dim = nullopt,
                   bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor tensorsolve(const Tensor& self, const Tensor& other, OptionalIntArrayRef dims = nullopt) {
  return linalg_tensorsolve(self, other, dims);
}
inline Tensor vector_norm(const Tensor& self, const Scalar& ord = 2, OptionalIntArrayRef dim = nullopt,
                          bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return linalg_vector_norm(self, ord, dim, keepdim, dtype);
}
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
inline Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return special_logsumexp(self, dim, keepdim);
}
}  // namespace undertow::special
#undef UT_FAMILY
