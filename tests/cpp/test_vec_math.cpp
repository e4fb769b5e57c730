// test_vec_math.cpp: compares every vec_math function, float and double, with libm in long double.
// The limits in main() are the maximum errors in units in the last place (ulp). Build it once per instruction set with
// the flags of Note [Branch-Free Math] (core/kernels/cpu/math/vec_math.h). No test framework, no tensors.
#include "core/kernels/cpu/math/vec_math.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <random>
#include <vector>

namespace vm = undertow::core::vm;

namespace {

int failures = 0;
bool verbose = false;

template <typename T>
const char* type_name() {
  return sizeof(T) == 4 ? "float" : "double";
}

// The error in ulps of T at the reference; infinite if a special case is wrong.
template <typename T>
double ulp_error(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0.0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  if (rounded == got && std::signbit(rounded) == std::signbit(got)) {
    if (rounded == T(0) || std::isinf(rounded)) return 0.0;
  } else if (want == 0.0L) {
    return INFINITY;  // a zero with the wrong sign, or not a zero
  }
  if (std::isinf(got) || std::isinf(rounded)) {  // the largest finite number and inf are neighbours
    const T finite = std::isinf(got) ? rounded : got;
    return std::abs(finite) >= std::numeric_limits<T>::max() * T(0.9999999) ? 1.0 : INFINITY;
  }
  const int exponent = std::max(std::ilogb(want), std::numeric_limits<T>::min_exponent - 1);
  const long double unit = std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

template <typename T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  for (T v : {T(0),
              L::denorm_min(),
              T(3) * L::denorm_min(),
              L::min() / T(2),
              L::min(),
              L::epsilon(),
              T(0.25),
              T(0.5),
              T(0.75),
              T(1),
              T(1.5),
              T(2),
              T(3),
              T(4),
              T(10),
              T(100),
              T(1000),
              T(1e10),
              L::max() / T(4),
              L::max() / T(2),
              L::max(),
              L::infinity(),
              L::quiet_NaN()}) {
    for (T w : {v, std::nextafter(v, T(0)), std::nextafter(v, L::infinity())}) {
      out.push_back(w);
      out.push_back(-w);
    }
  }
  return out;
}

// Points spaced evenly over [low, high], and evenly over the magnitudes in it.
template <typename T>
std::vector<T> points(double low, double high) {
  std::mt19937_64 random(20240607);
  std::vector<T> out = specials<T>();
  const int count = 60000;
  std::uniform_real_distribution<double> linear(low, high);
  for (int i = 0; i < count; ++i) out.push_back(static_cast<T>(linear(random)));
  const double least = sizeof(T) == 4 ? -149.0 : -1074.0, most = std::log2(std::max(std::fabs(low), std::fabs(high)));
  std::uniform_real_distribution<double> magnitude(least, most), near_one(-30.0, most);
  for (int i = 0; i < count; ++i) {
    const double m = std::exp2(i % 2 == 0 ? magnitude(random) : near_one(random));
    const double signed_m = low < 0 && (random() & 1) != 0 ? -m : m;
    if (signed_m >= low && signed_m <= high) out.push_back(static_cast<T>(signed_m));
    if (i % 4 == 0 && low <= 1.0 && high >= 1.0)
      out.push_back(static_cast<T>(1.0 + (signed_m < 0 ? -1 : 1) * std::exp2(near_one(random) - most)));
  }
  return out;
}

template <typename T>
void report(const char* name, double worst, T at, double limit) {
  const bool bad = !(worst <= limit);
  if (bad) ++failures;
  if (bad || verbose) {
    std::printf("%s %-12s %-6s worst %8.3f ulp (limit %.2f) at %.17g\n", bad ? "FAIL" : "ok  ", name, type_name<T>(),
                worst, limit, static_cast<double>(at));
  }
}

template <typename T, typename Apply, typename Reference>
void check_array(const char* name, const std::vector<T>& in, Apply apply, Reference reference, double limit) {
  std::vector<T> out(in.size());
  apply(in.data(), out.data(), in.size());
  double worst = 0.0;
  T at = T(0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double error = ulp_error(out[i], reference(static_cast<long double>(in[i])));
    if (!(error <= worst)) {
      worst = error;
      at = in[i];
    }
  }
  report(name, worst, at, limit);
}

// One loop per function and type, so that the vectorised code is tested.
#define CHECK(name, low, high, limit_float, limit_double, reference)  \
  check_array<float>(                                                 \
      #name, points<float>(low, high),                                \
      [](const float* in, float* out, std::size_t n) {                \
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::name(in[i]); \
      },                                                              \
      reference, limit_float);                                        \
  check_array<double>(                                                \
      #name, points<double>(low, high),                               \
      [](const double* in, double* out, std::size_t n) {              \
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::name(in[i]); \
      },                                                              \
      reference, limit_double)

using Wide = long double;

template <typename T>
std::vector<T> trig_points() {
  std::vector<T> in = points<T>(-100.0, 100.0);
  for (T v : points<T>(-2.0 * static_cast<double>(vm::kTrigBound<T>), 2.0 * static_cast<double>(vm::kTrigBound<T>)))
    in.push_back(v);
  for (int n = 1; n < 40000; ++n) {  // the hardest arguments: next to multiples of pi/2
    const T x = static_cast<T>(static_cast<Wide>(n) * 1.57079632679489661923132169163975144L);
    in.push_back(x);
    in.push_back(std::nextafter(-x, T(0)));
  }
  return in;
}

template <typename T>
void check_trig(double limit) {
  const std::vector<T> in = trig_points<T>();
  check_array<T>("apply_sin", in, vm::apply_sin<T>, [](Wide x) { return std::sin(x); }, limit);
  check_array<T>("apply_cos", in, vm::apply_cos<T>, [](Wide x) { return std::cos(x); }, limit);
  check_array<T>("apply_tan", in, vm::apply_tan<T>, [](Wide x) { return std::tan(x); }, limit + 1.0);
  std::vector<T> in_place = in;
  check_array<T>(
      "sin in place", in,
      [&](const T*, T* out, std::size_t n) {
        vm::apply_sin(in_place.data(), in_place.data(), n);
        std::memcpy(out, in_place.data(), n * sizeof(T));
      },
      [](Wide x) { return std::sin(x); }, limit);
}

template <typename T, typename Apply, typename Reference>
void check_pairs(const char* name, const std::vector<T>& a, const std::vector<T>& b, Apply apply, Reference reference,
                 double limit) {
  std::vector<T> out(a.size());
  apply(a.data(), b.data(), out.data(), a.size());
  double worst = 0.0;
  T at = T(0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = ulp_error(out[i], static_cast<Wide>(reference(a[i], b[i])));
    if (!(error <= worst)) {
      worst = error;
      at = a[i];
      if (verbose && !(error <= limit)) {
        std::printf("     %s(%a, %a) = %a, want %a\n", name, double(a[i]), double(b[i]), double(out[i]),
                    double(reference(a[i], b[i])));
      }
    }
  }
  report(name, worst, at, limit);
}

template <typename T>
void pair_points(std::vector<T>& a, std::vector<T>& b, double low, double high) {
  std::vector<T> special = specials<T>();
  for (T v : {T(-1), T(-2), T(-3), T(-0.5), T(16777217), T(8388607), T(33554434)}) special.push_back(v);
  for (T u : special) {
    for (T v : special) {
      a.push_back(u);
      b.push_back(v);
    }
  }
  const std::vector<T> first = points<T>(low, high);
  std::vector<T> second = first;
  std::shuffle(second.begin(), second.end(), std::mt19937(5));
  a.insert(a.end(), first.begin(), first.end());
  b.insert(b.end(), second.begin(), second.end());
}

template <typename T>
void check_atan2(double limit) {
  std::vector<T> a, b;
  pair_points(a, b, -50.0, 50.0);
  check_pairs<T>(
      "atan2", a, b,
      [](const T* y, const T* x, T* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::atan2(y[i], x[i]);
      },
      [](Wide y, Wide x) { return std::atan2(y, x); }, limit);
}

template <typename T>
void check_pow(double limit) {
  std::vector<T> a, b;
  pair_points(a, b, -50.0, 50.0);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> base(0.0, 4.0), exponent(-140.0, 140.0), whole(-40.0, 40.0);
  for (int i = 0; i < 100000; ++i) {
    const bool integral = i % 3 == 0;
    a.push_back(static_cast<T>(integral ? base(random) - 2.0 : base(random)));
    b.push_back(static_cast<T>(integral ? std::nearbyint(whole(random)) : exponent(random)));
  }
  check_pairs<T>(
      "pow", a, b,
      [](const T* x, const T* y, T* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::pow(x[i], y[i]);
      },
      [](Wide x, Wide y) { return std::pow(x, y); }, limit);
  // Blocks of positive bases are computed with fewer instructions, to the same bits.
  std::vector<T> x, y;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > T(0) && std::fabs(std::log2(Wide(a[i])) * Wide(b[i])) < 900.0L) x.push_back(a[i]), y.push_back(b[i]);
  std::vector<T> out(x.size()), single(x.size());
  vm::apply_pow(x.data(), y.data(), out.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) single[i] = vm::pow(x[i], y[i]);
  if (std::memcmp(out.data(), single.data(), x.size() * sizeof(T)) != 0) {
    std::printf("FAIL pow<%s>: a block differs from its elements\n", type_name<T>());
    ++failures;
  }
}

// By Newton's method on the logarithm of the tail, or on erf itself near zero.
Wide exact_erfc_inverse(Wide q) {
  Wide x = std::sqrt(std::max(-std::log(q), 0.2L));
  for (int i = 0; i < 60; ++i) {
    const Wide tail = std::erfc(x);
    x += (std::log(tail) - std::log(q)) * tail / (1.12837916709551257389615890312154517L * std::exp(-x * x));
  }
  return x;
}
Wide exact_erfinv(Wide y) {
  const Wide a = std::fabs(y);
  if (!(a < 1.0L)) return a == 1.0L ? y * INFINITY : NAN;
  if (a > 0.5L) return std::copysign(exact_erfc_inverse(1.0L - a), y);
  Wide x = y * 0.886226925452758013649083741670572591L;
  for (int i = 0; i < 30; ++i) x -= (std::erf(x) - y) / (1.12837916709551257389615890312154517L * std::exp(-x * x));
  return y == 0.0L ? y : x;
}
Wide exact_ndtri(Wide p) {
  constexpr Wide root = 1.41421356237309504880168872420969808L;
  if (!(p > 0.0L && p < 1.0L)) return p == 0.0L ? -INFINITY : p == 1.0L ? INFINITY : NAN;
  if (p >= 0.25L && p <= 0.75L) return root * exact_erfinv(2.0L * (p - 0.5L));
  return p < 0.5L ? -root * exact_erfc_inverse(2.0L * p) : root * exact_erfc_inverse(2.0L * (1.0L - p));
}

template <typename T>
void check_neighbours(double limit_hypot) {
  std::vector<T> a, b;
  pair_points(a, b, -50.0, 50.0);
  check_pairs<T>(
      "hypot", a, b,
      [](const T* x, const T* y, T* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::hypot(x[i], y[i]);
      },
      [](Wide x, Wide y) { return std::hypot(x, y); }, limit_hypot);
  check_pairs<T>(
      "nextafter", a, b,
      [](const T* x, const T* y, T* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::nextafter(x[i], y[i]);
      },
      [](Wide x, Wide y) { return static_cast<Wide>(std::nextafter(static_cast<T>(x), static_cast<T>(y))); }, 0.0);
}

// Equal to libm, bit by bit, also in blocks without large quotients, and in place.
template <typename T>
void check_fmod() {
  std::vector<T> a, b;
  pair_points(a, b, -50.0, 50.0);
  a.resize(a.size() / 256 * 256 + 256, T(1));
  b.resize(a.size(), T(1));
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-20.0, sizeof(T) == 4 ? 20.0 : 50.0), whole(1.0, 1e6);
  for (int i = 0; i < 100000; ++i) {  // also multiples of b and their neighbours
    const T y = static_cast<T>(std::exp2(exponent(random) / 4));
    const T x = i % 2 ? static_cast<T>(std::exp2(exponent(random))) : y * std::floor(static_cast<T>(whole(random)));
    a.push_back(i % 3 ? x : std::nextafter(x, T(0)));
    b.push_back(i % 5 ? y : -y);
  }
  check_pairs<T>(
      "fmod", a, b,
      [](const T* x, const T* y, T* out, std::size_t n) {
        std::copy(x, x + n, out);
        vm::apply_fmod(out, y, out, n);
      },
      [](Wide x, Wide y) { return static_cast<Wide>(std::fmod(static_cast<T>(x), static_cast<T>(y))); }, 0.0);
}

// Zero where e^-x is no longer a normal number, as torch's becomes soon after.
template <typename T>
void check_sigmoid(double limit) {
  check_array<T>(
      "sigmoid", points<T>(-800.0, 100.0),
      [](const T* in, T* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[i] = vm::sigmoid(in[i]);
      },
      [](Wide x) { return -x > static_cast<Wide>(vm::kOnePlusExpHigh<T>) ? 0.0L : 1.0L / (1.0L + std::exp(-x)); },
      limit);
}

// The GELUs guarantee absolute accuracy relative to |x|, like torch's formula.
template <typename T>
void check_gelu() {
  const double limit = 4.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
  double worst_erf = 0.0, worst_tanh = 0.0;
  for (int i = -4000; i <= 4000; ++i) {
    const T x = static_cast<T>(i) / T(300);
    const Wide w = x, scale = std::max<Wide>(std::fabs(w), 1e-30L);
    const Wide exact = 0.5L * w * std::erfc(-w * 0.707106781186547524400844362104849039L);
    const Wide inner = 0.797884560802865355879892119868763737L * (w + 0.044715L * w * w * w);
    const Wide by_tanh = 0.5L * w * (1.0L + std::tanh(inner));
    worst_erf = std::max(worst_erf, static_cast<double>(std::fabs(vm::gelu_erf(x) - exact) / scale));
    worst_tanh = std::max(worst_tanh, static_cast<double>(std::fabs(vm::gelu_tanh(x) - by_tanh) / scale));
  }
  report<T>("gelu_erf", worst_erf / limit, T(0), 1.0);
  report<T>("gelu_tanh", worst_tanh / limit, T(0), 1.0);
}

}  // namespace

int main(int argc, char**) {
  verbose = argc > 1;
  CHECK(exp, -760.0, 720.0, 1.0, 1.0, [](Wide x) { return std::exp(x); });
  CHECK(exp2, -1090.0, 1030.0, 1.25, 1.25, [](Wide x) { return std::exp2(x); });
  CHECK(expm1, -60.0, 720.0, 1.75, 1.75, [](Wide x) { return std::expm1(x); });
  CHECK(log, -1.0, 1e30, 1.0, 1.0, [](Wide x) { return std::log(x); });
  CHECK(log1p, -1.5, 1e30, 1.5, 1.5, [](Wide x) { return std::log1p(x); });
  CHECK(log2, -1.0, 1e30, 1.0, 1.0, [](Wide x) { return std::log2(x); });
  CHECK(log10, -1.0, 1e30, 1.0, 1.0, [](Wide x) { return std::log10(x); });
  check_trig<float>(1.0);
  check_trig<double>(1.0);
  CHECK(sinh, -720.0, 720.0, 2.0, 2.0, [](Wide x) { return std::sinh(x); });
  CHECK(cosh, -720.0, 720.0, 2.0, 2.0, [](Wide x) { return std::cosh(x); });
  CHECK(tanh, -20.0, 20.0, 2.0, 2.25, [](Wide x) { return std::tanh(x); });
  CHECK(asin, -1.1, 1.1, 2.0, 2.0, [](Wide x) { return std::asin(x); });
  CHECK(acos, -1.1, 1.1, 2.0, 2.0, [](Wide x) { return std::acos(x); });
  CHECK(atan, -100.0, 100.0, 2.0, 2.0, [](Wide x) { return std::atan(x); });
  check_atan2<float>(2.0);
  check_atan2<double>(2.0);
  CHECK(asinh, -1e10, 1e10, 1.0, 2.0, [](Wide x) { return std::asinh(x); });
  CHECK(acosh, 0.5, 1e10, 1.0, 2.5, [](Wide x) { return std::acosh(x); });
  CHECK(atanh, -1.1, 1.1, 1.0, 2.0, [](Wide x) { return std::atanh(x); });
  CHECK(erf, -7.0, 7.0, 2.0, 2.0, [](Wide x) { return std::erf(x); });
  CHECK(erfc, -7.0, 28.0, 1.0, 5.5, [](Wide x) { return std::erfc(x); });
  CHECK(ndtr, -39.0, 9.0, 1.0, 5.5,
        [](Wide x) { return 0.5L * std::erfc(x * -0.707106781186547524400844362104849039L); });
  CHECK(erfinv, -1.1, 1.1, 3.5, 3.5, exact_erfinv);
  CHECK(ndtri, 0.0, 1.0, 4.0, 4.5, exact_ndtri);
  check_fmod<float>();
  check_fmod<double>();
  check_neighbours<float>(1.0);
  check_neighbours<double>(1.5);
  check_sigmoid<float>(2.0);
  check_sigmoid<double>(2.0);
  CHECK(log_sigmoid, -100.0, 800.0, 2.0, 2.0,
        [](Wide x) { return std::min(x, 0.0L) - std::log1p(std::exp(-std::fabs(x))); });
  CHECK(softplus, -800.0, 100.0, 2.0, 2.5,
        [](Wide x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); });
  CHECK(rsqrt, -1.0, 1e30, 1.5, 1.5, [](Wide x) { return 1.0L / std::sqrt(x); });
  check_pow<float>(1.0);
  check_pow<double>(1.0);
  CHECK(sinc, -50.0, 50.0, 3.5, 4.0, [](Wide x) {
    const Wide turns = x - 2.0L * std::nearbyint(0.5L * x);
    const Wide half = std::nearbyint(turns);
    const Wide sine = std::sin(std::numbers::pi_v<Wide> * (turns - half));
    return x == 0.0L ? 1.0L : (half == 0.0L ? sine : -sine) / (std::numbers::pi_v<Wide> * x);
  });
  check_gelu<float>();
  check_gelu<double>();
  if (failures == 0) std::printf("test_vec_math: all passed\n");
  return failures == 0 ? 0 : 1;
}
