// half_vectors.h: converts vectors of bfloat16 and float16 to float and back, if the instruction set being compiled for
// supports it. Works on bits in uint16_t; knows neither strides nor remainders.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

// kHalfRun halves at a time: one or two vectors. Widening is exact; narrowing rounds to nearest, ties to even, and NaN
// stays NaN. In an unnamed namespace: see Note [One Namespace Per Instruction Set].
namespace undertow::core::cpu {
namespace {

#if defined(__AVX512BW__)
constexpr int kHalfRun = 32;
constexpr __mmask16 kAll = static_cast<__mmask16>(-1);  // gcc 12 warns about undefined lanes in the unmasked forms

struct Bf16Vectors {
  static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kHalfRun; i += 16)
      _mm512_storeu_si512(
          to + i,
          _mm512_maskz_slli_epi32(
              kAll, _mm512_maskz_cvtepu16_epi32(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))),
              16));
  }
  // The compiler's code for a plain loop takes half as long again.
  static __m512i rounded(__m512 value) {
    __m512i bits = _mm512_castps_si512(value), up = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    up = _mm512_mask_add_epi32(up, _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000)), up, _mm512_set1_epi32(1));
    return _mm512_mask_or_epi32(up, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x400000));
  }
  static void narrow(const float* from, uint16_t* to) {
    alignas(64) static constexpr uint16_t kUpperHalves[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                              23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                              45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_load_si512(kUpperHalves);
    _mm512_storeu_si512(
        to, _mm512_permutex2var_epi16(rounded(_mm512_loadu_ps(from)), upper, rounded(_mm512_loadu_ps(from + 16))));
  }
};

struct F16Vectors {
  static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kHalfRun; i += 16)
      _mm512_storeu_ps(to + i,
                       _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
  }
  static void narrow(const float* from, uint16_t* to) {
    for (int i = 0; i < kHalfRun; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
};
#elif defined(__AVX2__) && defined(__F16C__)
constexpr int kHalfRun = 16;

struct Bf16Vectors {
  static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kHalfRun; i += 8)
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(to + i),
          _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))), 16));
  }
  static __m256i rounded(__m256 value) {  // in the lower halves
    __m256i bits = _mm256_castps_si256(value),
            odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_srli_epi32(
        _mm256_blendv_epi8(up, quiet, _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q))), 16);
  }
  static void narrow(const float* from, uint16_t* to) {
    __m256i packed = _mm256_packus_epi32(rounded(_mm256_loadu_ps(from)), rounded(_mm256_loadu_ps(from + 8)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
  }
};

struct F16Vectors {
  static void widen(const uint16_t* from, float* to) {
    for (int i = 0; i < kHalfRun; i += 8)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  static void narrow(const float* from, uint16_t* to) {
    for (int i = 0; i < kHalfRun; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif

}  // namespace
}  // namespace undertow::core::cpu
