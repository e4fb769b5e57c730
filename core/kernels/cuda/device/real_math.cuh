// real_math.cuh: functions of float and double under one name.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

#define UT_REAL_FUNCTION(name)                                   \
  UT_DEVICE float real_##name(float x) { return name##f(x); } \
  UT_DEVICE double real_##name(double x) { return name(x); }
UT_REAL_FUNCTION(exp)
UT_REAL_FUNCTION(log)
UT_REAL_FUNCTION(log1p)
UT_REAL_FUNCTION(sqrt)
UT_REAL_FUNCTION(floor)
UT_REAL_FUNCTION(ceil)
UT_REAL_FUNCTION(fabs)
UT_REAL_FUNCTION(sin)
UT_REAL_FUNCTION(cos)
UT_REAL_FUNCTION(tan)
#undef UT_REAL_FUNCTION
// The larger number; a number where the other is NaN.
UT_DEVICE float real_max(float x, float y) { return fmaxf(x, y); }
UT_DEVICE double real_max(double x, double y) { return fmax(x, y); }
UT_DEVICE float real_pow(float x, float y) { return powf(x, y); }
UT_DEVICE double real_pow(double x, double y) { return pow(x, y); }

// exp(x) for a result of type T. If that has 16 bits, the instruction for powers of two is exact enough: its relative
// error is 2^-22, and results below 2^-126 become 0.
template <class T, class M>
UT_DEVICE M exp_for(M x) {
  if constexpr (kIsHalf<T>) {
    const float power = x * 1.44269504f;
#ifdef UNDERTOW_EMULATED
    return exp2f(power);
#else
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(power));
    return result;
#endif
  } else {
    return real_exp(x);
  }
}

}  // namespace undertow
