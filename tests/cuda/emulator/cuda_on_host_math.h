// cuda_on_host_math.h: CUDA's mathematical functions and intrinsics, by those of the C library where it has them.
#pragma once
#ifdef EMBED_HEADER_TEXT  // see embedded_headers.cpp
EMBED_HEADER_TEXT(cuda_on_host_math, __FILE__)
#else

// float overloads of the C library's functions, as in CUDA
#define EMULATED_FLOAT1(name) \
  inline float name(float x) { return name##f(x); }
#define EMULATED_FLOAT2(name) \
  inline float name(float x, float y) { return name##f(x, y); }
EMULATED_FLOAT1(sqrt)
EMULATED_FLOAT1(cbrt)
EMULATED_FLOAT1(exp)
EMULATED_FLOAT1(exp2)
EMULATED_FLOAT1(expm1)
EMULATED_FLOAT1(log)
EMULATED_FLOAT1(log2)
EMULATED_FLOAT1(log10)
EMULATED_FLOAT1(log1p)
EMULATED_FLOAT1(logb)
EMULATED_FLOAT1(sin)
EMULATED_FLOAT1(cos)
EMULATED_FLOAT1(tan)
EMULATED_FLOAT1(asin)
EMULATED_FLOAT1(acos)
EMULATED_FLOAT1(atan)
EMULATED_FLOAT1(sinh)
EMULATED_FLOAT1(cosh)
EMULATED_FLOAT1(tanh)
EMULATED_FLOAT1(asinh)
EMULATED_FLOAT1(acosh)
EMULATED_FLOAT1(atanh)
EMULATED_FLOAT1(erf)
EMULATED_FLOAT1(erfc)
EMULATED_FLOAT1(lgamma)
EMULATED_FLOAT1(tgamma)
EMULATED_FLOAT1(floor)
EMULATED_FLOAT1(ceil)
EMULATED_FLOAT1(trunc)
EMULATED_FLOAT1(round)
EMULATED_FLOAT1(rint)
EMULATED_FLOAT1(nearbyint)
EMULATED_FLOAT1(fabs)
EMULATED_FLOAT2(pow)
EMULATED_FLOAT2(atan2)
EMULATED_FLOAT2(hypot)
EMULATED_FLOAT2(fmod)
EMULATED_FLOAT2(remainder)
EMULATED_FLOAT2(fmin)
EMULATED_FLOAT2(fmax)
EMULATED_FLOAT2(fdim)
EMULATED_FLOAT2(copysign)
EMULATED_FLOAT2(nextafter)
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float ldexp(float x, int n) { return ldexpf(x, n); }
inline float scalbn(float x, int n) { return scalbnf(x, n); }
inline float frexp(float x, int* n) { return frexpf(x, n); }
inline float modf(float x, float* whole) { return modff(x, whole); }
inline int ilogb(float x) { return ilogbf(x); }
inline long lrint(float x) { return lrintf(x); }
inline long lround(float x) { return lroundf(x); }
inline long long llrint(float x) { return llrintf(x); }
inline long long llround(float x) { return llroundf(x); }
inline float pow(float x, int n) { return powf(x, static_cast<float>(n)); }
inline double pow(double x, int n) { return pow(x, static_cast<double>(n)); }

#undef isnan
#undef isinf
#undef isfinite
#undef signbit
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }

extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return llabs(x); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }

#define EMULATED_MIN_MAX(result, a_type, b_type)                                                              \
  constexpr result min(a_type a, b_type b) {                                                                  \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(a) : static_cast<result>(b); \
  }                                                                                                           \
  constexpr result max(a_type a, b_type b) {                                                                  \
    return static_cast<result>(a) > static_cast<result>(b) ? static_cast<result>(a) : static_cast<result>(b); \
  }
#define EMULATED_MIN_MAX_OF_SIGN(type)                          \
  EMULATED_MIN_MAX(type, type, type)                            \
  EMULATED_MIN_MAX(unsigned type, unsigned type, unsigned type) \
  EMULATED_MIN_MAX(unsigned type, type, unsigned type)          \
  EMULATED_MIN_MAX(unsigned type, unsigned type, type)
EMULATED_MIN_MAX_OF_SIGN(int)
EMULATED_MIN_MAX_OF_SIGN(long)
EMULATED_MIN_MAX_OF_SIGN(long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

// Functions that the C library does not have. Simple rather than quick: they are computed in double, and their float
// forms round.
#define EMULATED_BOTH(name, expression)                                                      \
  inline double name(double x) { return expression; }                                        \
  inline float name##f(float x) { return static_cast<float>(name(static_cast<double>(x))); } \
  inline float name(float x) { return name##f(x); }
namespace emulated {
constexpr double kPi = 3.14159265358979323846;
inline double series_bessel_i(double x, int order) {
  // The power series, whose terms are positive: sum of (x/2)^(2k+n) / (k! (k+n)!)
  const double half = x / 2;
  double term = order ? half : 1, sum = term;
  for (int k = 1; k < 2000 && term != 0; ++k) {
    term *= half * half / (static_cast<double>(k) * (k + order));
    const double next = sum + term;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}
// exp(x * x) * erfc(x), for large x by the asymptotic series
inline double scaled_erfc(double x) {
  if (x < 25) return exp(x * x) * erfc(x);
  const double h = 0.5 / (x * x);
  return (1 - h * (1 - 3 * h * (1 - 5 * h * (1 - 7 * h * (1 - 9 * h))))) / (x * sqrt(kPi));
}
// x modulo 2, exactly, so that sinpi and cospi have exact zeros
inline double half_turns(double x) { return x - 2 * nearbyint(x / 2); }
inline double sine_pi(double x) {
  const double r = half_turns(x), a = fabs(r);
  if (r == nearbyint(r)) return copysign(0.0, x);
  return copysign(a == 0.5 ? 1 : a < 0.25 ? sin(kPi * a) : a < 0.75 ? cos(kPi * (a - 0.5)) : sin(kPi * (1 - a)), r);
}
inline double cosine_pi(double x) {
  const double a = fabs(half_turns(x));
  if (a == 0.5) return 0;
  return a < 0.25 ? cos(kPi * a) : a < 0.75 ? sin(kPi * (0.5 - a)) : -cos(kPi * (1 - a));
}
// By Newton's method from Winitzki's approximation.
inline double inverse_erf(double y) {
  const double a = fabs(y);
  if (!(a < 1)) return a == 1 ? copysign(__builtin_inf(), y) : __builtin_nan("");
  const double l = log1p(-a * a), t = 2 / (kPi * 0.147) + l / 2;
  double x = sqrt(sqrt(t * t - l / 0.147) - t);
  for (int i = 0; i < 4; ++i) {
    const double error = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x);
    x -= error * sqrt(kPi) / 2 * exp(x * x);
  }
  return copysign(x, y);
}
inline double inverse_erfc(double y) {
  if (y > 0.5) return inverse_erf(1 - y);
  if (!(y > 0)) return y == 0 ? __builtin_inf() : __builtin_nan("");
  double x = sqrt(-log(y));
  for (int i = 0; i < 60; ++i) {  // on the logarithm, which is nearly a parabola
    const double value = erfc(x);
    const double step = (log(value) - log(y)) * value * sqrt(kPi) / (-2 * exp(-x * x));
    x -= step;
    if (fabs(step) < 1e-16 * x) break;
  }
  return x;
}
}  // namespace emulated
EMULATED_BOTH(rsqrt, 1 / sqrt(x))
EMULATED_BOTH(rcbrt, 1 / cbrt(x))
EMULATED_BOTH(sinpi, emulated::sine_pi(x))
EMULATED_BOTH(cospi, emulated::cosine_pi(x))
EMULATED_BOTH(erfinv, emulated::inverse_erf(x))
EMULATED_BOTH(erfcinv, emulated::inverse_erfc(x))
EMULATED_BOTH(erfcx, emulated::scaled_erfc(x))
EMULATED_BOTH(normcdf, 0.5 * erfc(-x * sqrt(0.5)))
EMULATED_BOTH(normcdfinv, -sqrt(2.0) * emulated::inverse_erfc(2 * x))
EMULATED_BOTH(cyl_bessel_i0, emulated::series_bessel_i(x, 0))
EMULATED_BOTH(cyl_bessel_i1, emulated::series_bessel_i(x, 1))
#undef exp10
inline float exp10(float x) { return exp10f(x); }
EMULATED_FLOAT1(j0)
EMULATED_FLOAT1(j1)
EMULATED_FLOAT1(y0)
EMULATED_FLOAT1(y1)
inline float jn(int n, float x) { return jnf(n, x); }
inline float yn(int n, float x) { return ynf(n, x); }
inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }
inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
inline float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
inline double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
inline float fdividef(float x, float y) { return x / y; }

// Intrinsics. The fast ones are exact here.
#define EMULATED_FAST(name, plain) \
  inline float __##name(float x) { return plain(x); }
EMULATED_FAST(expf, expf)
EMULATED_FAST(exp10f, exp10f)
EMULATED_FAST(logf, logf)
EMULATED_FAST(log2f, log2f)
EMULATED_FAST(log10f, log10f)
EMULATED_FAST(sinf, sinf)
EMULATED_FAST(cosf, cosf)
EMULATED_FAST(tanf, tanf)
EMULATED_FAST(tanhf, tanhf)
EMULATED_FAST(fsqrt_rn, sqrtf)
EMULATED_FAST(frsqrt_rn, rsqrtf)
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __drcp_rn(double x) { return 1 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }

#define EMULATED_BITS(name, to, from)                            \
  inline to name(from value) {                                   \
    static_assert(sizeof(to) == sizeof(from), "the same width"); \
    to result;                                                   \
    memcpy(&result, &value, sizeof(to));                         \
    return result;                                               \
  }
EMULATED_BITS(__float_as_int, int, float)
EMULATED_BITS(__int_as_float, float, int)
EMULATED_BITS(__float_as_uint, unsigned, float)
EMULATED_BITS(__uint_as_float, float, unsigned)
EMULATED_BITS(__double_as_longlong, long long, double)
EMULATED_BITS(__longlong_as_double, double, long long)
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(
      static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low)));
}
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }

// Conversions saturate, and not-a-number becomes 0 (the smallest value for long long).
namespace emulated {
template <class To>
inline To saturated(double rounded, To least, To most, To not_a_number) {
  if (__builtin_isnan(rounded)) return not_a_number;
  if (rounded <= static_cast<double>(least)) return least;
  return rounded >= static_cast<double>(most) ? most : static_cast<To>(rounded);
}
}  // namespace emulated
#define EMULATED_CONVERSIONS(name, to, from, least, most, not_a_number)                           \
  inline to __##name##_rn(from x) {                                                               \
    return emulated::saturated<to>(nearbyint(static_cast<double>(x)), least, most, not_a_number); \
  }                                                                                               \
  inline to __##name##_rz(from x) {                                                               \
    return emulated::saturated<to>(trunc(static_cast<double>(x)), least, most, not_a_number);     \
  }                                                                                               \
  inline to __##name##_rd(from x) {                                                               \
    return emulated::saturated<to>(floor(static_cast<double>(x)), least, most, not_a_number);     \
  }                                                                                               \
  inline to __##name##_ru(from x) {                                                               \
    return emulated::saturated<to>(ceil(static_cast<double>(x)), least, most, not_a_number);      \
  }
#define EMULATED_CONVERSIONS_OF(from_name, from, not_a_number)                                           \
  EMULATED_CONVERSIONS(from_name##2int, int, from, -0x7fffffff - 1, 0x7fffffff, not_a_number)            \
  EMULATED_CONVERSIONS(from_name##2uint, unsigned, from, 0, ~0u, not_a_number)                           \
  EMULATED_CONVERSIONS(from_name##2ll, long long, from, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL, \
                       -0x7fffffffffffffffLL - 1)                                                        \
  EMULATED_CONVERSIONS(from_name##2ull, unsigned long long, from, 0, ~0ull, 0x8000000000000000ull)
EMULATED_CONVERSIONS_OF(float, float, 0)
EMULATED_CONVERSIONS_OF(double, double, 0)
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned __int128>(a) * b >> 64;
}
inline long long __mul64hi(long long a, long long b) { return static_cast<__int128>(a) * b >> 64; }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (n & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return result;
}

#endif  // EMBED_HEADER_TEXT
