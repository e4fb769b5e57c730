// special.cpp: forward functions of the rarer special functions of ops/special.toml, each chosen by name.
// Computed in double for every dtype: they are far from any hot path, and one loop serves them all.
// build: small
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/forward_types.h"
#include "core/kernels/cpu/math/special_double.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_special.h"

namespace undertow::fwd {

namespace {

constexpr int64_t kGrain = 1 << 12;

DType result_dtype(DType of, std::string_view name) {
  UT_CHECK_AS(NotImplemented, !is_complex(of) && !is_reduced_float(of), "\"", name, "_cpu\" not implemented for '",
              long_name(of), "'");
  return is_floating(of) ? of : default_dtype();
}

Tensor doubles(const Tensor& t) { return contiguous(to_dtype(t, DType::Float64)); }

int64_t whole(double n) {  // as torch: towards zero, and no degree of what is not a number
  return std::isnan(n) ? -1 : static_cast<int64_t>(std::fmax(-1, std::fmin(n, 9e18)));
}

}  // namespace

Tensor special_one(const Tensor& self, std::string_view name) {
  special::OneFunction f = special::one_function(name);
  UT_CHECK(f, "special_one: there is no function ", name);
  DType result = result_dtype(self.dtype(), name);
  Tensor x = doubles(self), out = undertow::empty(self.sizes(), DType::Float64);
  const double* from = x.data_as<double>();
  double* to = out.data_as<double>();
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = f(from[i]);
  });
  return to_dtype(out, result);
}

Tensor special_polynomial(const Tensor& self, const Tensor& n, std::string_view name) {
  special::Polynomial f = special::polynomial(name);
  UT_CHECK(f, "special_polynomial: there is no polynomial ", name);
  UT_CHECK(same(self.sizes(), n.sizes()), "special_polynomial: x and n must have one shape, got ",
           ShapeText{self.sizes()}, " and ", ShapeText{n.sizes()});
  DType result = result_dtype(self.dtype(), name);
  Tensor x = doubles(self), degrees = doubles(n), out = undertow::empty(self.sizes(), DType::Float64);
  const double *from = x.data_as<double>(), *degree = degrees.data_as<double>();
  double* to = out.data_as<double>();
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = f(from[i], whole(degree[i]));
  });
  return to_dtype(out, result);
}

}  // namespace undertow::fwd
