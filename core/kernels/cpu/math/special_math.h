// special_math.h: the special functions of torch.special that are computed one element at a time.
// Knows no tensor and no vectorisation. Edge cases (poles, infinities, NaN) follow torch; where torch's own
// approximation is coarse (trigamma: about 1e-8), these are accurate instead. They are noexcept, so that the kernels
// that call them need no unwind tables.
#pragma once
#include <cstddef>

namespace undertow::core::special {

double lgamma(double x) noexcept;    // gammaln: log |Gamma(x)|; does not set libm's global sign
double digamma(double x) noexcept;   // psi: nan at negative integers, -inf at +0, inf at -0
double trigamma(double x) noexcept;  // inf at 0; huge, not inf, at negative integers, like torch's reflection
double polygamma(int order, double x) noexcept;  // order >= 0
double igamma(double a, double x) noexcept;      // regularized lower incomplete gamma function P(a, x)
double igammac(double a, double x) noexcept;     // Q(a, x) = 1 - P(a, x)
double zeta(double x, double q) noexcept;        // Hurwitz: sum over k >= 0 of (k + q)^-x

double erfcx(double x) noexcept;  // e^(x*x) erfc(x)
double log_ndtr(double x) noexcept;

double i0(double x) noexcept;   // modified Bessel functions of the first kind; nan at infinity, as in torch
double i0e(double x) noexcept;  // e^-|x| i0(x)
double i1(double x) noexcept;
double i1e(double x) noexcept;

double xlogy(double x, double y) noexcept;  // 0 if x is 0, unless y is NaN
double xlog1py(double x, double y) noexcept;
double entr(double x) noexcept;  // -x log x; -inf below 0

// The functions of arrays, faster for each element. They may run in place.
template <class T>
void lgamma_array(const T* x, T* y, size_t n);
template <class T>
void digamma_array(const T* x, T* y, size_t n);
template <class T>
void i0_array(const T* x, T* y, size_t n);
template <class T>
void i0e_array(const T* x, T* y, size_t n);
template <class T>
void i1_array(const T* x, T* y, size_t n);
template <class T>
void i1e_array(const T* x, T* y, size_t n);

// float goes through double: these are not performance-critical, and torch itself rounds worse in float.
#define UNDERTOW_SPECIAL_FLOAT(name) \
  inline float name(float x) noexcept { return static_cast<float>(name(static_cast<double>(x))); }
#define UNDERTOW_SPECIAL_FLOAT2(name)                                                \
  inline float name(float x, float y) noexcept {                                     \
    return static_cast<float>(name(static_cast<double>(x), static_cast<double>(y))); \
  }
UNDERTOW_SPECIAL_FLOAT(lgamma)
UNDERTOW_SPECIAL_FLOAT(digamma)
UNDERTOW_SPECIAL_FLOAT(trigamma)
inline float polygamma(int order, float x) noexcept {
  return static_cast<float>(polygamma(order, static_cast<double>(x)));
}
UNDERTOW_SPECIAL_FLOAT2(zeta)
float igamma(float a, float x) noexcept;  // fewer terms than in double
float igammac(float a, float x) noexcept;
UNDERTOW_SPECIAL_FLOAT(erfcx)
UNDERTOW_SPECIAL_FLOAT(log_ndtr)
UNDERTOW_SPECIAL_FLOAT(i0)
UNDERTOW_SPECIAL_FLOAT(i0e)
UNDERTOW_SPECIAL_FLOAT(i1)
UNDERTOW_SPECIAL_FLOAT(i1e)
UNDERTOW_SPECIAL_FLOAT2(xlogy)
UNDERTOW_SPECIAL_FLOAT2(xlog1py)
UNDERTOW_SPECIAL_FLOAT(entr)
#undef UNDERTOW_SPECIAL_FLOAT
#undef UNDERTOW_SPECIAL_FLOAT2

}  // namespace undertow::core::special
