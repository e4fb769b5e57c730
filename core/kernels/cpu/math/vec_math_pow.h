// vec_math_pow.h: pow, rsqrt, hypot and nextafter.
// See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include <cstddef>
#include <cstring>

#include "vec_math_base.h"
#include "vec_math_log.h"

namespace undertow::core::vm {

template <typename T>
UNDERTOW_VM_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

// sqrt(x * x + y * y) without overflow or underflow on the way: infinite if one side is, even beside a NaN.
UNDERTOW_VM_INLINE float hypot(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y);
  const float root = static_cast<float>(sqrt(a * a + b * b));
  return abs(x) == kInf<float> ? abs(x) : abs(y) == kInf<float> ? abs(y) : root;
}
UNDERTOW_VM_INLINE double hypot(double x, double y) {
  const double a = abs(x), b = abs(y), larger = a > b ? a : b;
  const double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.0;
  const double back = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-400 ? 0x1p-600 : 1.0;
  const double u = a * scale, v = b * scale;
  const double root = sqrt(u * u + v * v) * back;
  return a == kInf<double> ? a : b == kInf<double> ? b : root;
}

// The representable number after x in the direction of y. Numbers of one sign are ordered like their bits.
template <typename T>
UNDERTOW_VM_INLINE T nextafter(T x, T y) {
  using Bits = typename Real<T>::Bits;
  const bool away = (x < y) == (x > T(0));  // from zero
  const T neighbour = std::bit_cast<T>(to_bits(x) + (away ? Bits{1} : ~Bits{0}));
  const T from_zero = copysign(std::numeric_limits<T>::denorm_min(), y);
  const T moved = x == T(0) ? from_zero : neighbour;
  const T numbers = x == y ? y : moved;
  return x == x ? (y == y ? numbers : y) : x;
}

// Logarithm and power of two in double, accurate to the 2^-30 that y * log2(x) <= 150 needs for a float result.
UNDERTOW_VM_INLINE double pow_log2_short(double x) {
  const auto [k, m] = log_parts(x);
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s;
  const double series =
      z * poly(z, 0x1.555554fca516dp-1, 0x1.999a7c2f039f4p-2, 0x1.24386f34bf7ebp-2, 0x1.e3062b157f7d9p-3);
  return k + Real<double>::kLog2E * (s * (2.0 + series));
}
UNDERTOW_VM_INLINE double pow_exp2_short(double y) {
  const double n = round_small(y), r = y - n;
  const double p = poly(r, 1.0, 0x1.62e430d2000adp-1, 0x1.ebfbe07ef5f22p-3, 0x1.c6aec987be3c3p-5, 0x1.3b29ed7ffb5d9p-7,
                        0x1.5f4a49bce5aa5p-10, 0x1.44610cf69d409p-13);
  return p * pow2_of(n);
}

// The result from magnitude = |x|^y, in all cases of C's pow. fraction: 0 if y is an integer or infinite; parity: 1 or
// -1 if it is an odd one. Selections of numbers instead of joined conditions, which gcc 12 does not vectorise.
UNDERTOW_VM_INLINE double pow_edges(double x, double y, double magnitude, double fraction, double parity) {
  const double a = abs(x);
  const double one_cases = y == 0.0 || a == 1.0 ? 1.0 : magnitude;
  const double defined = a == 1.0 && y != y && x != 1.0 ? y : one_cases;
  const double sign = copysign(abs(parity) == 1.0 ? 1.0 : 0.0, x);
  const double signed_result = sign == -1.0 ? -defined : defined;
  const double base = a < kInf<double> ? x : 0.0;
  const double missing = fraction == 0.0 ? 0.0 : base;
  return missing < 0.0 ? kNan<double> : signed_result;
}

// Overflow and denormals are handled by the conversion to float.
UNDERTOW_VM_INLINE float pow(float base, float exponent) {
  const double x = base, y = exponent, a = abs(x);
  const double edge = a == 0.0 ? -kInf<double> : a;  // log2 at 0, inf and NaN
  const double logarithm = a > 0.0 && a < kInf<double> ? pow_log2_short(a) : edge;
  const double product = at_most(at_least(y * logarithm, -300.0), 300.0);
  const double whole = abs(y) < 0x1p25 ? y : 0.0;  // floats from 2^24 on are even integers
  const double fraction = whole - round_small(whole), parity = whole - 2.0 * round_small(0.5 * whole);
  return static_cast<float>(pow_edges(x, y, pow_exp2_short(product), fraction, parity));
}

// x^y for finite x > 0 unless the result is far outside T's range; others is 1 where that does not hold.
template <typename T>
struct OrdinaryPow {
  T value;
  typename Real<T>::Bits others;
};
UNDERTOW_VM_INLINE OrdinaryPow<float> pow_ordinary(float base, float exponent) {
  const double product = exponent * pow_log2_short(base);
  const bool ordinary = (base > 0.0f) & (base < kInf<float>)&(abs(product) < 1000.0);
  return {static_cast<float>(pow_exp2_short(product)), ordinary ? 0u : 1u};
}

#ifdef __FP_FAST_FMA
// log2(x) as an unevaluated sum, accurate to 2^-64 of itself, for finite x > 0. With x = 2^k m, near one of three
// centres c, and s = (m - c) / (m + c): log2(m / c) = s (t + t/3 s^2 + t/5 s^4 + ...), t = 2 / log(2). s and the first
// two terms are in two parts, the others in one.
struct Log2Parts {
  double high, low;
};
UNDERTOW_VM_INLINE Log2Parts pow_log2(double x) {
  const auto [k, m] = log_parts(x);
  const bool above = m > 1.1175, below = m < 0.8945;
  const double c = above ? 1.25 : below ? 0.796875 : 1.0;
  // log2(c): k + its first part is exact.
  const double c_log = above ? 0x1.49a784bcd0000p-2 : below ? -0x1.4f6fbb2cec000p-2 : 0.0;
  const double c_log_low = above ? 0x1.b8afe492bf6ffp-42 : below ? -0x1.661e393a16b95p-44 : 0.0;
  const double f = m - c, sum = m + c, sum_low = m - (sum - c);
  const double inverse = 1.0 / sum;
  const double s = f * inverse;
  const double s_low = (__builtin_fma(-s, sum, f) - s * sum_low) * inverse;
  const double z = s * s;
  const double z_low = __builtin_fma(s, s, -z) + 2.0 * s * s_low;
  constexpr double first = 0x1.71547652b82fep+1, first_low = 0x1.777d0ffda0d24p-55;
  constexpr double third = 0x1.ec709dc3a03fdp-1, third_low = 0x1.d27f05548af0cp-55;
  const double z2 = z * z;
  // Fused explicitly where a product is added twice: the compiler might do so in one caller only.
  const double rest = poly(z, 0x1.2776c50ef9c01p-1, 0x1.a61762a79c911p-2) +
                      z2 * poly(z, 0x1.484b14667e7b4p-2, 0x1.0c98ea012bdeap-2, 0x1.ca528a037679ap-3);
  const double second = z * third;
  const double second_low = __builtin_fma(z, third, -second) + (z * third_low + z_low * third);
  const double tail = __builtin_fma(z2, rest, second);
  const double tail_low = __builtin_fma(z2, rest, second - tail) + second_low;
  const double factor = first + tail;
  const double factor_low = ((first - factor) + tail) + (first_low + tail_low);
  const double main = s * factor;
  const double main_low = __builtin_fma(s, factor, -main) + (s * factor_low + s_low * factor);
  const double base = k + c_log;  // larger than main, or 0
  const double head = base + main, head_low = ((base - head) + main) + (main_low + c_log_low);
  const double high = head + head_low;
  return {high, (head - high) + head_low};
}

// 2^(n + r + lost) = 2^n (sum + small) for |r| <= 1/2 and a tiny lost, nearly rounded once.
struct PowFactor {
  double sum, small;
};
UNDERTOW_VM_INLINE PowFactor pow_exp2(double r, double lost) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  const double linear = r * ln2, sum = 1.0 + linear;
  const double r2 = r * r, r4 = r2 * r2;
  // (2^r - 1 - linear) / r^2: all powers as pairs of pairs, whose steps wait for each other less.
  const double rest = (poly(r, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c2p-5) +
                       r2 * poly(r, 0x1.3b2ab6fba4e78p-7, 0x1.5d87fe78a5276p-10)) +
                      r4 * ((poly(r, 0x1.430912f86bf52p-13, 0x1.ffcbfc670dcd4p-17) +
                             r2 * poly(r, 0x1.62c022401b97dp-20, 0x1.b524fae627834p-24)) +
                            r4 * poly(r, 0x1.e4cf1cd08d4b8p-28, 0x1.e9d3fe3952179p-32, 0x1.c48f769ad2c46p-36));
  const double round_off = ((1.0 - sum) + linear) + (__builtin_fma(r, ln2, -linear) + r * ln2_low);
  return {sum, __builtin_fma(r2, rest, round_off + lost * ln2 * __builtin_fma(r2, rest, sum))};
}

UNDERTOW_VM_INLINE double pow(double x, double y) {
  const double a = abs(x);
  const auto [high, low] = pow_log2(a);
  const double logarithm = a > 0.0 && a < kInf<double> ? high : a == 0.0 ? -kInf<double> : a;
  const double product = y * logarithm;
  const double limited = at_most(at_least(product, -1100.0), 1100.0);
  const double n = round_small(limited);
  // Where the product was limited or infinite, its round-off is not used: it may be NaN.
  const double lost = limited == product ? __builtin_fma(y, logarithm, -product) + y * low : 0.0;
  const auto [sum, small] = pow_exp2(limited - n, lost);
  const double whole = abs(y) < 0x1p53 ? y : 0.0;  // larger ones are even integers
  const double fraction = whole - __builtin_trunc(whole), parity = whole - 2.0 * __builtin_trunc(0.5 * whole);
  return pow_edges(x, y, scale_by_pow2(sum + small, n), fraction, parity);
}

UNDERTOW_VM_INLINE OrdinaryPow<double> pow_ordinary(double x, double y) {
  const auto [high, low] = pow_log2(x);
  const double product = y * high;
  const double n = round_small(product);
  const auto [sum, small] = pow_exp2(product - n, __builtin_fma(y, high, -product) + y * low);
  const bool ordinary = (x > 0.0) & (x < kInf<double>)&(abs(product) < 1000.0);
  return {(sum + small) * pow2_of(n), ordinary ? std::uint64_t{0} : std::uint64_t{1}};
}
#else
// Without fused multiply-adds, exact products take longer than the C library's tables.
UNDERTOW_VM_INLINE double pow(double base, double exponent) { return std::pow(base, exponent); }
UNDERTOW_VM_INLINE OrdinaryPow<double> pow_ordinary(double x, double y) { return {std::pow(x, y), 0}; }
#endif

// Ordinary operands need fewer instructions. In blocks of one length, the last one filled up: the code for remainders
// would be longer than that for blocks. May run in place.
template <typename T>
static inline void apply_pow(const T* x, const T* y, T* out, std::size_t n) {
  constexpr std::size_t kBlock = 32;
  bool ordinary = true;
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t count = n - start < kBlock ? n - start : kBlock;
    const T *a = x + start, *b = y + start;
    T bases[kBlock], exponents[kBlock], values[kBlock];
    if (count < kBlock) {
      for (std::size_t i = 0; i < kBlock; ++i) bases[i] = exponents[i] = T(1);
      std::memcpy(bases, a, count * sizeof(T));
      std::memcpy(exponents, b, count * sizeof(T));
      a = bases, b = exponents;
    }
    if (ordinary) {
      typename Real<T>::Bits others = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const auto [value, other] = pow_ordinary(a[i], b[i]);
        values[i] = value;
        others |= other;
      }
      ordinary = others == 0;  // otherwise no later block is expected to be
    }
    if (!ordinary)
      for (std::size_t i = 0; i < kBlock; ++i) values[i] = vm::pow(a[i], b[i]);
    std::memcpy(out + start, values, count * sizeof(T));
  }
}

}  // namespace undertow::core::vm
