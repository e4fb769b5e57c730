// mixed.cuh: the elementwise operators that the tables do not express: operands of several dtypes, several results.
#pragma once
#include "pointwise/loop.cuh"

namespace undertow {

// T: any type of the elements' width.
template <class T>
struct Where {
  static constexpr int kInputs = 3;
  using In0 = uint8_t;
  using In1 = T;
  using In2 = T;
  using Out = T;
  UT_DEVICE explicit Where(const PointwiseOperands&) {}
  UT_DEVICE T operator()(uint8_t condition, T yes, T no) const { return condition ? yes : no; }
};

template <class T>
struct MakeComplex {
  static constexpr int kInputs = 2;
  using In0 = T;
  using In1 = T;
  using In2 = T;
  using Out = Complex<T>;
  UT_DEVICE explicit MakeComplex(const PointwiseOperands&) {}
  UT_DEVICE Complex<T> operator()(T re, T im) const { return {re, im}; }
};
template <class T>
struct Polar : MakeComplex<T> {
  UT_DEVICE explicit Polar(const PointwiseOperands& o) : MakeComplex<T>(o) {}
  UT_DEVICE Complex<T> operator()(T radius, T angle) const {
    return {radius * scalar_math::cos(angle), radius * scalar_math::sin(angle)};
  }
};

// A half dtype as its bits, which arithmetic in float cannot step through.
template <class T>
struct NextAfterHalf {
  static constexpr int kInputs = 2;
  using In0 = uint16_t;
  using In1 = uint16_t;
  using In2 = uint16_t;
  using Out = uint16_t;
  UT_DEVICE explicit NextAfterHalf(const PointwiseOperands&) {}
  UT_DEVICE uint16_t operator()(uint16_t a, uint16_t b) const {
    T from, to;
    from.bits = a;
    to.bits = b;
    float x = from, y = to;
    if (x != x || y != y) return T(Limits<float>::nan()).bits;
    if (x == y) return b;
    if (x == 0) return static_cast<uint16_t>(1 | (y < 0 ? 0x8000 : 0));
    return static_cast<uint16_t>((x < y) == (x > 0) ? a + 1 : a - 1);
  }
};

// nest: mantissa, exponent, input.
template <class T>
__global__ void frexp_strided(char* mantissa, char* exponent, const char* in, uint32_t n, LoopNest<3> nest) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t at[3];
  offsets_in(nest, i, at);
  OpMath<T> x = static_cast<OpMath<T>>(*reinterpret_cast<const T*>(in + at[2]));
  int power = 0;
  OpMath<T> part = static_cast<OpMath<T>>(::frexp(static_cast<double>(x), &power));
  *reinterpret_cast<T*>(mantissa + at[0]) = T(part);
  *reinterpret_cast<int32_t*>(exponent + at[1]) = scalar_math::is_finite(x) ? power : 0;
}

}  // namespace undertow
