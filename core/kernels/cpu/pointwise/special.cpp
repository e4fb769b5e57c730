// special.cpp: special functions selected by name, in double for every dtype: they are not performance-critical, and
// one loop serves them all.
// build: small
#include "core/kernels/cpu/pointwise/special.h"

#include <cmath>

#include "core/base/parallel.h"
#include "core/kernels/cpu/math/special_double.h"
#include "core/kernels/pointwise.h"

namespace undertow::core {

bool has_special_function(std::string_view name) { return special::one_function(name) != nullptr; }
bool has_special_polynomial(std::string_view name) { return special::polynomial(name) != nullptr; }

namespace cpu {

namespace {
constexpr int64_t kGrain = 1 << 12;

int64_t whole(double n) {  // as in torch: rounds towards zero; NaN is not a valid degree
  if (!(n > -1)) return -1;
  return static_cast<int64_t>(n < 9e18 ? n : 9e18);
}
}  // namespace

void special_function(const Tensor& out, const Tensor& x, std::string_view name) {
  special::OneFunction f = special::one_function(name);
  const double* from = x.data_as<double>();
  double* to = out.data_as<double>();
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = f(from[i]);
  });
}

void special_polynomial(const Tensor& out, const Tensor& x, const Tensor& degrees, std::string_view name) {
  special::Polynomial f = special::polynomial(name);
  const double *from = x.data_as<double>(), *degree = degrees.data_as<double>();
  double* to = out.data_as<double>();
  parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = f(from[i], whole(degree[i]));
  });
}

}  // namespace cpu
}  // namespace undertow::core
