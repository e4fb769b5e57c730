// random_normal_block.h: sixteen uniforms to sixteen float normals, to the last bit of torch's SIMD path.
// Knows no generator; private to the random*.cpp files.
//
// Note [Float Normals Bit for Bit]
// torch computes float, half and bfloat16 normals (16 or more) with the single-precision logarithm and
// sine-cosine of the classic Cephes library, its multiply-add pairs fused by the compiler. Matching bits
// therefore means these polynomials, this order and these fusions, not better ones: libm differs in one
// result of six. Everything is a select, so the loop over a block vectorises where a compiler tries.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace undertow::random {

inline constexpr std::size_t kNormalBlock = 16;

// a * b + c, rounded once. Without hardware the product is exact in double; the second rounding differs
// from a fused one with probability 2^-29.
inline float fused(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
#endif
}

// Natural logarithm for normal x in (0, 1].
inline float block_log(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f000000u);  // [1/2, 1)
  const bool low = mantissa < 0.707106781186547524f;
  const int exponent = static_cast<int>(bits >> 23) - 126 - (low ? 1 : 0);
  const float e = static_cast<float>(exponent);
  const float f = (mantissa - 1.0f) + (low ? mantissa : 0.0f);
  const float z = f * f;
  float y = 7.0376836292E-2f;
  y = fused(y, f, -1.1514610310E-1f);
  y = fused(y, f, 1.1676998740E-1f);
  y = fused(y, f, -1.2420140846E-1f);
  y = fused(y, f, 1.4249322787E-1f);
  y = fused(y, f, -1.6668057665E-1f);
  y = fused(y, f, 2.0000714765E-1f);
  y = fused(y, f, -2.4999993993E-1f);
  y = fused(y, f, 3.3333331174E-1f);
  y = fused(y * f, z, e * -2.12194440e-4f);
  y = fused(-z, 0.5f, y);
  return fused(e, 0.693359375f, f + y);
}

struct SinCos {
  float sin;
  float cos;
};

// For 0 <= x < 2 pi.
inline SinCos block_sincos(float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516f) + 1) & ~1;
  const float n = static_cast<float>(octant);
  float r = fused(n, -0.78515625f, x);
  r = fused(n, -2.4187564849853515625e-4f, r);
  r = fused(n, -3.77489497744594108e-8f, r);
  const float z = r * r;
  float c = fused(2.443315711809948E-005f, z, -1.388731625493765E-003f);
  c = fused(c, z, 4.166664568298827E-002f);
  c = fused(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = fused(-1.9515295891E-4f, z, 8.3321608736E-3f);
  s = fused(s, z, -1.6666654611E-1f);
  s = fused(s * z, r, r);
  const bool swapped = (octant & 2) != 0;
  const float sine = swapped ? c : s, cosine = swapped ? s : c;
  return {(octant & 4) != 0 ? -sine : sine, ((octant - 2) & 4) == 0 ? -cosine : cosine};
}

// Box-Muller in place: elements j and j + 8 are a pair.
inline void normal_block(float* block, float mean, float std) {
  for (std::size_t j = 0; j < kNormalBlock / 2; ++j) {
    const float u1 = 1.0f - block[j];  // (0, 1], so that the logarithm is finite
    const float radius = std::sqrt(-2.0f * block_log(u1));
    const SinCos angle = block_sincos(6.283185307179586f * block[j + kNormalBlock / 2]);
    block[j] = fused(radius * angle.cos, std, mean);
    block[j + kNormalBlock / 2] = fused(radius * angle.sin, std, mean);
  }
}

// double has no such path in torch: libm, with only the last step fused.
inline void normal_block(double* block, double mean, double std) {
  for (std::size_t j = 0; j < kNormalBlock / 2; ++j) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
    const double theta = 2.0 * 3.14159265358979323846 * block[j + kNormalBlock / 2];
    block[j] = std::fma(radius * std::cos(theta), std, mean);
    block[j + kNormalBlock / 2] = std::fma(radius * std::sin(theta), std, mean);
  }
}

}  // namespace undertow::random
