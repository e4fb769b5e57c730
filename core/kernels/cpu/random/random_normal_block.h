// random_normal_block.h: converts sixteen uniforms to sixteen float normals, bitwise equal to torch's SIMD path.
// Knows no generator; private to the random*.cpp files.
//
// Note [Float Normals Bit for Bit]
// torch computes float, half and bfloat16 normals (16 or more) with the single-precision logarithm and sine-cosine of
// the classic Cephes library, with multiply-add pairs fused by the compiler. Matching bits therefore requires these
// polynomials, this order and these fusions, not better ones: libm differs in one result of six. Everything is
// branch-free, so the loop over a block can be vectorised.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Always inlined, so that a caller compiled for an instruction set contains all of it.
#define UNDERTOW_BLOCK_INLINE inline __attribute__((always_inline))

namespace undertow::core::random {

inline constexpr std::size_t kNormalBlock = 16;

// These loops need -O3; no option here changes a bit of the result. Builtins are used instead of std:: functions,
// because gcc does not inline a function compiled with other options into these.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math")
#endif

// a * b + c, rounded once. Without the instruction the product is exact in double; the second rounding differs from a
// fused one with probability 2^-29. `hardware` is a constant after inlining; not a template parameter, because gcc
// instantiates templates with the options at the end of the file, not those in effect here.
UNDERTOW_BLOCK_INLINE float fused(bool hardware, float a, float b, float c) {
  if (hardware) return __builtin_fmaf(a, b, c);
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
}

// Natural logarithm for normal x in (0, 1].
UNDERTOW_BLOCK_INLINE float block_log(bool hardware, float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const float mantissa = __builtin_bit_cast(float, (bits & 0x007fffffu) | 0x3f000000u);  // [1/2, 1)
  const bool low = mantissa < 0.707106781186547524f;
  const int exponent = static_cast<int>(bits >> 23) - (low ? 127 : 126);
  const float e = static_cast<float>(exponent);
  const float f = (mantissa - 1.0f) + (low ? mantissa : 0.0f);
  const float z = f * f;
  float y = 7.0376836292E-2f;
  y = fused(hardware, y, f, -1.1514610310E-1f);
  y = fused(hardware, y, f, 1.1676998740E-1f);
  y = fused(hardware, y, f, -1.2420140846E-1f);
  y = fused(hardware, y, f, 1.4249322787E-1f);
  y = fused(hardware, y, f, -1.6668057665E-1f);
  y = fused(hardware, y, f, 2.0000714765E-1f);
  y = fused(hardware, y, f, -2.4999993993E-1f);
  y = fused(hardware, y, f, 3.3333331174E-1f);
  y = fused(hardware, y * f, z, e * -2.12194440e-4f);
  y = fused(hardware, -z, 0.5f, y);
  return fused(hardware, e, 0.693359375f, f + y);
}

struct SinCos {
  float sin;
  float cos;
};

// For 0 <= x < 2 pi.
UNDERTOW_BLOCK_INLINE SinCos block_sincos(bool hardware, float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516f) + 1) & ~1;
  const float n = static_cast<float>(octant);
  float r = fused(hardware, n, -0.78515625f, x);
  r = fused(hardware, n, -2.4187564849853515625e-4f, r);
  r = fused(hardware, n, -3.77489497744594108e-8f, r);
  const float z = r * r;
  float c = fused(hardware, 2.443315711809948E-005f, z, -1.388731625493765E-003f);
  c = fused(hardware, c, z, 4.166664568298827E-002f);
  c = fused(hardware, c * z, z, -(z * 0.5f)) + 1.0f;
  float s = fused(hardware, -1.9515295891E-4f, z, 8.3321608736E-3f);
  s = fused(hardware, s, z, -1.6666654611E-1f);
  s = fused(hardware, s * z, r, r);
  const bool swapped = (octant & 2) != 0;
  const float sine = swapped ? c : s, cosine = swapped ? s : c;
  return {(octant & 4) != 0 ? -sine : sine, ((octant - 2) & 4) == 0 ? -cosine : cosine};
}

// Box-Muller in place: elements j and j + 8 of each block of 16 are a pair. The halves are first made contiguous,
// because a loop of eight is unrolled before it can be vectorised.
UNDERTOW_BLOCK_INLINE void normal_blocks_by(bool hardware, float* data, std::size_t blocks, float mean, float std) {
  constexpr std::size_t kHalf = kNormalBlock / 2, kBatch = 32;
  float first[kBatch * kHalf], second[kBatch * kHalf];
  for (std::size_t start = 0; start < blocks; start += kBatch) {
    const std::size_t count = blocks - start < kBatch ? blocks - start : kBatch;
    float* batch = data + start * kNormalBlock;
    for (std::size_t b = 0; b < count; ++b) {
      std::memcpy(first + b * kHalf, batch + b * kNormalBlock, sizeof(float) * kHalf);
      std::memcpy(second + b * kHalf, batch + b * kNormalBlock + kHalf, sizeof(float) * kHalf);
    }
    // In (0, 1], so that the logarithm is finite.
    for (std::size_t i = 0; i < count * kHalf; ++i) first[i] = -2.0f * block_log(hardware, 1.0f - first[i]);
    // A separate loop: sqrt may set errno unless the command line says otherwise, so this one stays scalar.
    for (std::size_t i = 0; i < count * kHalf; ++i) first[i] = __builtin_sqrtf(first[i]);
    for (std::size_t i = 0; i < count * kHalf; ++i) {
      const float radius = first[i];
      const SinCos angle = block_sincos(hardware, 6.283185307179586f * second[i]);
      first[i] = fused(hardware, radius * angle.cos, std, mean);
      second[i] = fused(hardware, radius * angle.sin, std, mean);
    }
    for (std::size_t b = 0; b < count; ++b) {
      std::memcpy(batch + b * kNormalBlock, first + b * kHalf, sizeof(float) * kHalf);
      std::memcpy(batch + b * kNormalBlock + kHalf, second + b * kHalf, sizeof(float) * kHalf);
    }
  }
}

// The fast copy is built here rather than in a *.isa.cpp file, because its results must not depend on the selected
// instruction set.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("avx2,fma"))) inline void normal_blocks_avx2(float* data, std::size_t blocks, float mean,
                                                                   float std) {
  normal_blocks_by(/*hardware=*/true, data, blocks, mean, std);
}
inline void normal_in_blocks(float* data, std::size_t blocks, float mean, float std) {
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  fast ? normal_blocks_avx2(data, blocks, mean, std) : normal_blocks_by(/*hardware=*/false, data, blocks, mean, std);
}
#else
inline void normal_in_blocks(float* data, std::size_t blocks, float mean, float std) {
  normal_blocks_by(/*hardware=*/false, data, blocks, mean, std);
}
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

// double has no such path in torch: it uses libm, with only the last step fused.
inline void normal_in_blocks(double* data, std::size_t blocks, double mean, double std) {
  for (double* block = data; block < data + blocks * kNormalBlock; block += kNormalBlock) {
    for (std::size_t j = 0; j < kNormalBlock / 2; ++j) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
      const double theta = 2.0 * 3.14159265358979323846 * block[j + kNormalBlock / 2];
      block[j] = std::fma(radius * std::cos(theta), std, mean);
      block[j + kNormalBlock / 2] = std::fma(radius * std::sin(theta), std, mean);
    }
  }
}

}  // namespace undertow::core::random

#undef UNDERTOW_BLOCK_INLINE
