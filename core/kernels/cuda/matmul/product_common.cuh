// product_common.cuh: what the kernels for products share: the type of sums, factors, and writing a result.
#pragma once
#include "device/complex.cuh"
#include "device/convert.cuh"
// After prelude.cuh, which defines int64_t.
#include "matmul/product_params.h"

namespace undertow {

// The type of sums. Integers wrap around, so unsigned numbers serve signed ones too.
template <class T>
using ProductSum = Conditional<kIsIntegral<T>, Conditional<sizeof(T) == 8, uint64_t, uint32_t>, OpMath<T>>;

template <class Sum>
UT_DEVICE Sum factor_as(const ProductFactor& f) {
  if constexpr (kIsComplex<Sum>)
    return Sum(static_cast<RealOf<Sum>>(f.real), static_cast<RealOf<Sum>>(f.imag));
  else if constexpr (kIsIntegral<Sum>)
    return static_cast<Sum>(f.integer);
  else
    return static_cast<Sum>(f.real);
}

template <class T>
UT_DEVICE void write_product(const ProductParams& p, T* c, const T* d, int64_t batch, int64_t i, int64_t j,
                             ProductSum<T> sum) {
  using Sum = ProductSum<T>;
  sum = factor_as<Sum>(p.alpha) * sum;
  if (!p.beta_is_zero)
    sum += factor_as<Sum>(p.beta) * convert<Sum>(d[batch * p.d.batch + i * p.d.row + j * p.d.column]);
  c[batch * p.c.batch + i * p.c.row + j * p.c.column] = convert<T>(sum);
}

}  // namespace undertow
