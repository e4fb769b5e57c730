// special.cpp: forward functions of the special functions of ops/special.toml that are selected by name.
// build: small
#include "core/forward/copy/copy.h"
#include "core/forward/forward_types.h"
#include "core/kernels/backend.h"
#include "core/kernels/pointwise.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_special.h"

namespace undertow::fwd {

namespace {

DType result_dtype(DType of, std::string_view name) {
  UT_CHECK_AS(NotImplemented, !is_complex(of) && !is_reduced_float(of), "\"", name, "_cpu\" not implemented for '",
              long_name(of), "'");
  return is_floating(of) ? of : default_dtype();
}

Tensor doubles(const Tensor& t) { return contiguous(to_dtype(t, DType::Float64)); }

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
  return to_dtype(out, result);
}

}  // namespace undertow::fwd
