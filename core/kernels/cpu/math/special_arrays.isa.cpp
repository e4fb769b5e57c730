// special_arrays.isa.cpp: the loops of special_arrays.h. See Note [One Namespace Per Instruction Set] in simd.h.
// build: scalar_tails
#include "core/kernels/cpu/math/special_arrays.h"

#include "core/kernels/cpu/math/vec_math.h"

namespace undertow::core::cpu {
namespace {

// n, which the compiler then knows to be a multiple of the step: no code for remainders.
inline int64_t whole(int64_t n) { return n & -special::kSpecialStep; }

constexpr double kPi = 0x1.921fb54442d18p+1, kInfinity = __builtin_inf();

void magnitudes(const double* __restrict x, double* __restrict a, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) a[i] = vm::abs(x[i]);
}

// sin(pi r) for |r| <= 1/2, by its power series: accurate to 1e-15 of itself.
inline double sin_of_part(double r) {
  const double z = r * r;
  return r * vm::poly(z, 0x1.921fb54442d18p+1, -0x1.4abbce625be53p+2, 0x1.466bc6775aae2p+1, -0x1.32d2cce62bd86p-1,
                      0x1.50783487ee782p-4, -0x1.e3074fde8871fp-8, 0x1.e8f434d018d63p-12, -0x1.6fadb9f155744p-16,
                      0x1.aaec32af93359p-21, -0x1.8a404211f9547p-26, 0x1.2877020d52cf0p-31);
}

// Reflected below 0: log(pi / |x sin(pi x)|) - log|Gamma(-x)|. x minus the nearest integer is exact.
void lgamma(const double* __restrict x, const double* __restrict values, double* __restrict y, int64_t n) {
  bool negative = false;
  for (int64_t i = 0; i < whole(n); i++) {
    const double a = vm::abs(x[i]);  // adding 0 makes the zero at 1 positive
    y[i] = a < kInfinity ? values[i] * ((a - 1.0) * (a - 2.0)) + 0.0 : a;
    negative |= x[i] < 0.0;
  }
  if (!negative) return;
  for (int64_t i = 0; i < whole(n); i++) {
    const double sine = sin_of_part(x[i] - vm::nearest_integer(x[i]));
    const double reflected = vm::log(kPi / vm::abs(x[i] * sine)) - y[i];
    const double finite = x[i] > -kInfinity ? x[i] : 0.0;
    y[i] = finite < 0.0 ? reflected : y[i];
  }
}

// Below 0, digamma(x) = digamma(1 - x) - pi / tan(pi x), and below 1/4, digamma(b) = digamma(b + 1) - 1 / b.
bool digamma_arguments(const double* __restrict x, double* __restrict b, int64_t n) {
  uint64_t poles = 0;
  for (int64_t i = 0; i < whole(n); i++) {
    const double above = x[i] < 0.0 ? 1.0 - x[i] : x[i];
    b[i] = above < 0.25 ? above + 1.0 : above;
    poles |= ((x[i] <= 0.0) & (vm::nearest_integer(x[i]) == x[i])) ? uint64_t{1} : uint64_t{0};
  }
  return poles != 0;
}
void digamma(const double* __restrict x, const double* __restrict values, double* __restrict y, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) {
    const double tangent = vm::tan(kPi * (x[i] - vm::nearest_integer(x[i])));
    const double step = x[i] < 0.25 ? (x[i] < 0.0 ? kPi / tangent : 1.0 / x[i]) : 0.0;
    y[i] = values[i] - step;
  }
}

void times(const double* __restrict x, const double* __restrict values, double* __restrict y, int64_t n) {
  // Values are 0 at infinity only.
  for (int64_t i = 0; i < whole(n); i++) y[i] = values[i] == 0.0 ? vm::copysign(0.0, x[i]) : x[i] * values[i];
}
void times_exp(const double* __restrict x, const double* __restrict values, double* __restrict y, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) y[i] = vm::exp(vm::abs(x[i])) * values[i];
}
void times_x_and_exp(const double* __restrict x, const double* __restrict values, double* __restrict y, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) y[i] = vm::exp(vm::abs(x[i])) * (x[i] * values[i]);
}

void widen(const float* __restrict x, double* __restrict y, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) y[i] = x[i];
}
void narrow(const double* __restrict x, float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < whole(n); i++) y[i] = static_cast<float>(x[i]);
}

constexpr SpecialLoops kLoops = {magnitudes, lgamma, digamma_arguments, digamma, times, times_exp, times_x_and_exp,
                                 widen,      narrow};

}  // namespace

namespace UNDERTOW_ISA_NS {
const SpecialLoops& special_loops() { return kLoops; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
