// vec_math_arc.h: asin, acos, atan, atan2.
// Knows no forward trigonometric function. See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"

namespace undertow::core::vm {

UNDERTOW_VM_INLINE double asin_tail(double z) {  // (asin(s)/s - 1) / z, z = s * s <= 1/4
  return poly(z, 0x1.5555555555578p-3, 0x1.333333332df13p-4, 0x1.6db6db722b054p-5, 0x1.f1c71a8bdcadbp-6,
              0x1.6e8bdfdd85985p-6, 0x1.1c49debd787acp-6, 0x1.ca2131092c22bp-7, 0x1.7578348bdd01cp-7,
              0x1.6186e7a3cc9cbp-7, 0x1.e196d1142384bp-9, 0x1.64ef7ce323dd3p-6, -0x1.59dbe26798822p-6,
              0x1.0bdbf9d78efb6p-5);
}
UNDERTOW_VM_INLINE float asin_tail(float z) {
  return poly(z, 0x1.55554cp-3f, 0x1.33388cp-4f, 0x1.6cacbap-5f, 0x1.04a1b8p-5f, 0x1.d83b56p-7f, 0x1.33a204p-5f);
}

UNDERTOW_VM_INLINE double atan_tail(double z) {  // (atan(t)/t - 1) / z, z = t * t, t <= tan(pi/8)
  return poly(z, -0x1.555555555553dp-2, 0x1.9999999995833p-3, -0x1.24924922ac8bfp-3, 0x1.c71c70e5d2073p-4,
              -0x1.745cf8d62e645p-4, 0x1.3b1118a91803fp-4, -0x1.10ebb293e4608p-4, 0x1.df0eec65088dep-5,
              -0x1.9cd0d2fbfef13p-5, 0x1.37d01ab4fdf90p-5, -0x1.255cac4adf204p-6);
}
UNDERTOW_VM_INLINE float atan_tail(float z) {
  return poly(z, -0x1.55554ap-2f, 0x1.9991a4p-3f, -0x1.23b5fep-3f, 0x1.b1f726p-4f, -0x1.f21d76p-5f);
}

// asin(|x|) = small + low for |x| <= 1/2, and pi/2 - 2 * (small + low) above.
// low is the round-off of the square root, or 0 if there is no root.
template <typename T>
struct Folded {  // no bool member: gcc 12 would keep the struct in memory, and the loop would stay scalar
  T small;
  T low;
};

template <typename T>
UNDERTOW_VM_INLINE Folded<T> fold_arc(T a) {
  const bool above = a > T(0.5);
  const T z = above ? T(0.5) - T(0.5) * a : a * a;  // 0.5 - 0.5 * a is exact
  const T root = sqrt(z);
  const T s = above ? root : a;
  const T square = s * s;
  const T lost = ((z - square) - product_error(s, s, square)) / (s == T(0) ? T(1) : s + s);
  return {s * z * asin_tail(z) + s, above ? lost : T(0)};
}

template <typename T>
UNDERTOW_VM_INLINE T asin(T x) {
  const auto [small, low] = fold_arc(abs(x));
  const bool above = abs(x) > T(0.5);
  const T base = above ? T(2) * Real<T>::kPiOver4 : T(0);
  const T base_low = above ? T(2) * Real<T>::kPiOver4Lo : T(0);
  const T sign = above ? T(-2) : T(1);
  return copysign((base + sign * small) + (base_low + sign * low), x);
}

template <typename T>
UNDERTOW_VM_INLINE T acos(T x) {
  const auto [small, low] = fold_arc(abs(x));
  const bool above = abs(x) > T(0.5);
  const T turns = above ? (x < T(0) ? T(4) : T(0)) : T(2);  // quarters of pi
  const T scale = above ? T(2) : T(-1);
  const T sign = x < T(0) ? -scale : scale;
  return (turns * Real<T>::kPiOver4 + sign * small) + (turns * Real<T>::kPiOver4Lo + sign * low);
}

// atan(num / den) for 0 <= num <= den, den > 0: above tan(pi/8) the angle is measured from pi/4.
template <typename T>
UNDERTOW_VM_INLINE T atan_octant(T num, T den) {
  const bool high = num > T(0x1.a827999fcef32p-2) * den;
  const T t = (high ? num - den : num) / (high ? num + den : den);
  const T z = t * t;
  const T angle = t + (t * z * atan_tail(z) + (high ? Real<T>::kPiOver4Lo : T(0)));
  return high ? Real<T>::kPiOver4 + angle : angle;
}

template <typename T>
UNDERTOW_VM_INLINE T atan(T x) {
  const T a = abs(x);
  const bool steep = a > T(1);
  const bool infinite = a == kInf<T>;
  const T b = infinite ? T(1) : a;
  const T angle = atan_octant(steep ? (infinite ? T(0) : T(1)) : a, steep ? b : T(1));
  const T complement = T(2) * Real<T>::kPiOver4 - (angle - T(2) * Real<T>::kPiOver4Lo);
  return copysign(steep ? complement : angle, x);
}

template <typename T>
UNDERTOW_VM_INLINE T atan2(T y, T x) {
  const T ay = abs(y), ax = abs(x);
  const bool steep = ay > ax;
  const T large = steep ? ay : ax, little = steep ? ax : ay;
  // Keeps num + den below overflow and the octant test above the denormals. Infinities become 1 (with 0 for the other
  // operand); 0/0 becomes 0/1.
  const bool infinite = large == kInf<T>;
  const T grown =
      large < T(4) * std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon() ? Real<T>::kDenormalScale : T(1);
  const T scale = large > T(0.25) * std::numeric_limits<T>::max() ? T(0.25) : grown;
  const T both = little == kInf<T> ? T(1) : T(0);
  const T num = infinite ? both : little * scale;
  const T den = infinite || large == T(0) ? T(1) : large * scale;
  const T angle = atan_octant(num, den);
  constexpr T half_pi = T(2) * Real<T>::kPiOver4, half_pi_low = T(2) * Real<T>::kPiOver4Lo;
  const T acute = steep ? half_pi - (angle - half_pi_low) : angle;
  const T whole = sign_bit(x) ? T(2) * half_pi - (acute - T(2) * half_pi_low) : acute;
  const T sum = x + y;
  return (x == x) && (y == y) ? copysign(whole, y) : sum;
}

}  // namespace undertow::core::vm
