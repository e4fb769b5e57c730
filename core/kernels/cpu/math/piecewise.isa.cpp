// piecewise.isa.cpp: see piecewise_kernels.h. Four arguments at a time: pairs of coefficients are loaded from each
// one's cell and joined to vectors. Gathers take twice as long, and transposing whole cells does too with AVX2. See
// Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/math/piecewise_kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace undertow::core::cpu {
namespace {

#if defined(__AVX2__)
constexpr int kLanes = 4;
typedef double Doubles __attribute__((vector_size(32)));
typedef uint64_t Words __attribute__((vector_size(32)));

inline __m256d pairs(const double* low, const double* high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(low)), _mm_load_pd(high), 1);
}
// coefficients[k] of each lane's cell.
template <int kFirst, int kCount>
inline void load_coefficients(const special::PiecewiseCell* const (&cells)[kLanes], Doubles (&c)[kCount]) {
  const double* at[kLanes];
  for (int i = 0; i < kLanes; i++) at[i] = &cells[i]->centre + kFirst;
#pragma GCC unroll 8
  for (int k = 0; k < kCount; k += 2) {
    const __m256d even = pairs(at[0] + k, at[2] + k), odd = pairs(at[1] + k, at[3] + k);
    c[k] = (Doubles)_mm256_unpacklo_pd(even, odd);
    c[k + 1] = (Doubles)_mm256_unpackhi_pd(even, odd);
  }
}
// One vector of arguments. Returns a nonzero lane for each argument outside the table.
template <int kTerms>
inline Words evaluate(const special::PiecewiseTable& t, const double* from, double* to) {
  Doubles x;
  __builtin_memcpy(&x, from, sizeof(x));
  Words number = ((Words)(x + t.shift) >> t.drop) - t.first;
  const Words outside = (Words)(number >= t.count);
  number &= ~outside;
  const special::PiecewiseCell* cells[kLanes];
  for (int i = 0; i < kLanes; i++) cells[i] = t.cells + number[i];
  Doubles place[4], c[kTerms];
  load_coefficients<0>(cells, place);
  load_coefficients<4>(cells, c);
  const Doubles d = x - place[0], s = d * d;
  Doubles even = c[kTerms - 2], odd = c[kTerms - 1];
  for (int k = kTerms - 4; k >= 0; k -= 2) {
    even = c[k] + s * even;
    odd = c[k + 1] + s * odd;
  }
  const Doubles y = (even + d * odd) * ((place[1] * x - place[2]) - place[3]);
  __builtin_memcpy(to, &y, sizeof(y));
  return outside;
}

template <int kTerms>
bool evaluate_all(const special::PiecewiseTable& table, const double* x, double* values, int64_t n) {
  Words outside{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) outside |= evaluate<kTerms>(table, x + i, values + i);
  if (i < n) {
    double in[kLanes], out[kLanes];
    for (int64_t k = 0; k < kLanes; k++) in[k] = x[i + k < n ? i + k : i];
    outside |= evaluate<kTerms>(table, in, out);
    for (int64_t k = i; k < n; k++) values[k] = out[k - i];
  }
  uint64_t any = 0;
  for (int k = 0; k < kLanes; k++) any |= outside[k];
  return any != 0;
}
#endif

}  // namespace

namespace UNDERTOW_ISA_NS {
PiecewiseKernels evaluate_piecewise() {
#if defined(__AVX2__)
  return {evaluate_all<12>, evaluate_all<8>};
#else
  return {};  // one argument at a time is faster
#endif
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
