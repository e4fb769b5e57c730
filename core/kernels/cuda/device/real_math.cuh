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
UT_DEVICE float real_pow(float x, float y) { return powf(x, y); }
UT_DEVICE double real_pow(double x, double y) { return pow(x, y); }

}  // namespace undertow
