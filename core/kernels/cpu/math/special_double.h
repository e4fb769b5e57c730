// special_double.h: Bessel functions, the Airy function and orthogonal polynomials, one element at a time, in double
// only. Knows no tensor. Edge cases (poles, infinities, negative orders) follow torch, except that NaN stays NaN.
#pragma once
#include <cstdint>
#include <string_view>

namespace undertow::core::special {

using OneFunction = double (*)(double x);
using Polynomial = double (*)(double x, int64_t degree);

OneFunction one_function(std::string_view name);  // by torch's name, e.g. "bessel_j0"; nullptr if there is none
Polynomial polynomial(std::string_view name);     // e.g. "chebyshev_polynomial_t"

}  // namespace undertow::core::special
