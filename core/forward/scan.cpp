// scan.cpp: see scan.h; cumulative sums, products, extrema and logsumexp along one dimension: forward functions of
// ops/scan.toml.
#include "core/forward/scan.h"

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/dims.h"
#include "core/kernels/backend.h"
#include "core/kernels/scan.h"
#include "generated/fwd_scan.h"

namespace undertow::core::fwd {

namespace {

DType scan_dtype(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self.dtype()) ? DType::Int64 : self.dtype();
}

Tensor scanned(Scan op, const Tensor& self, int64_t dim, std::optional<DType> dtype, const char* name,
               bool from_the_end = false) {
  int64_t d = wrap_dim(dim, self.dim());
  DType t = scan_dtype(self, dtype);
  UT_CHECK_AS(NotImplemented, t != DType::Bool, "\"", name, "\" not implemented for 'Bool'");
  Tensor in = contiguous(to_dtype(self, t)), out = empty_on_device_of(in, in.sizes(), t);
  if (in.numel()) backend_of(in).scan->scan(out, in, d, op, from_the_end);
  return out;
}

using Picked = std::tuple<Tensor, Tensor>;

Picked running_extremum(const Tensor& self, int64_t dim, bool max, const char* name) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(self);
  Tensor values = empty_on_device_of(in, in.sizes(), in.dtype()),
         indices = empty_on_device_of(in, in.sizes(), DType::Int64);
  if (in.numel()) {
    if (in.is_complex()) throw_not_implemented(name, in.dtype());
    backend_of(in).scan->extremum(values, indices, in, d, max);
  }
  if (self.dim()) return {values, indices};
  return {drop_dim(values, 0, false, 0), drop_dim(indices, 0, false, 0)};
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scanned(Scan::Sum, self, dim, dtype, "cumsum_out_cpu");
}
Tensor cumsum_from_the_end(const Tensor& self, int64_t dim) {
  return scanned(Scan::Sum, self, dim, std::nullopt, "cumsum_out_cpu", true);
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scanned(Scan::Prod, self, dim, dtype, "cumprod_out_cpu");
}
Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  if (!is_differentiable(self.dtype())) throw_not_implemented("logcumsumexp_out_cpu", self.dtype());
  return scanned(Scan::LogSumExp, self, dim, std::nullopt, "logcumsumexp_out_cpu");
}
Picked cummax(const Tensor& self, int64_t dim) { return running_extremum(self, dim, true, "cummax_cpu"); }
Picked cummin(const Tensor& self, int64_t dim) { return running_extremum(self, dim, false, "cummin_cpu"); }

}  // namespace undertow::core::fwd
