// special.cpp: forward functions of the special functions of ops/special.toml that are selected by name, and
// mvlgamma.
// build: small
#include <cmath>

#include "core/base/signals.h"
#include "core/forward/copy/copy.h"
#include "core/forward/forward_types.h"
#include "core/kernels/backend.h"
#include "core/kernels/pointwise.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_special.h"

namespace undertow::core::fwd {

namespace {

DType result_dtype(DType of, std::string_view name) {
  UT_CHECK_AS(NotImplemented, !is_complex(of) && !is_reduced_float(of), "\"", name, "_cpu\" not implemented for '",
              long_name(of), "'");
  return is_floating(of) ? of : default_dtype();
}

Tensor doubles(const Tensor& t) { return contiguous(to_dtype(t, DType::Float64)); }

// A row-major result in the layout of an elementwise operator of x and y.
Tensor in_layout_of(const Tensor& result, const Tensor& x, const Tensor& y) {
  ElementwiseIter iter;
  iter.add_output({}, result.dtype());
  iter.add_input(x);
  iter.add_input(y);
  iter.build();
  if (same(iter.output().strides(), result.strides())) return result;
  copy_into(iter.output(), result);
  return iter.output();
}

}  // namespace

Tensor special_one(const Tensor& self, std::string_view name) {
  UT_CHECK(has_special_function(name), "special_one: there is no function ", name);
  DType result = result_dtype(self.dtype(), name);
  Tensor x = doubles(self), out = empty_on_device_of(self, self.sizes(), DType::Float64);
  backend_of(self).pointwise->special_function(out, x, name);
  return to_dtype(out, result);
}

Tensor special_polynomial(const Tensor& self, const Tensor& n, std::string_view name) {
  UT_CHECK(has_special_polynomial(name), "special_polynomial: there is no polynomial ", name);
  UT_CHECK(same(self.sizes(), n.sizes()), "special_polynomial: x and n must have the same shape, got ",
           ShapeText{self.sizes()}, " and ", ShapeText{n.sizes()});
  DType result = result_dtype(self.dtype(), name);
  Tensor x = doubles(self), degrees = doubles(n), out = empty_on_device_of(self, self.sizes(), DType::Float64);
  backend_of(self).pointwise->special_polynomial(out, x, degrees, name);
  return in_layout_of(to_dtype(out, result), self, n);
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  UT_CHECK(p >= 1, "p has to be greater than or equal to 1, got ", p);
  // The sum has p terms for each element. torch makes all of them at once, and runs out of memory.
  constexpr int64_t kMostTerms = int64_t{1} << 24;
  UT_CHECK(p <= kMostTerms, "mvlgamma: p is too large: got ", p, "; at most ", kMostTerms, " terms are summed");
  Tensor sum = lgamma(contiguous(self));  // the result is row-major, as in torch
  for (int64_t j = 1; j < p; j++) {
    if (j % 1024 == 0) poll_signals();
    sum = add(sum, lgamma(sub(contiguous(self), Scalar(0.5 * static_cast<double>(j)), Scalar(1))), Scalar(1));
  }
  return add(sum, Scalar(static_cast<double>(p * (p - 1)) / 4 * std::log(M_PI)), Scalar(1));
}

}  // namespace undertow::core::fwd
