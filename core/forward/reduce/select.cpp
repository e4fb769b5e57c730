// select.cpp: reductions that select an element and return its index: max, min, argmax, median, kthvalue, mode.
// build: small
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/dims.h"
#include "core/forward/reduce/fold.h"
#include "core/kernels/backend.h"
#include "generated/fwd_reduce.h"

namespace undertow::core::fwd {

Tensor drop_dim(const Tensor& t, int64_t d, bool keepdim, int64_t ndim) {
  if (keepdim && ndim) return t;
  Dims sizes(t.sizes()), strides(t.strides());
  sizes.erase(static_cast<size_t>(d));
  strides.erase(static_cast<size_t>(d));
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset(), t.dtype());
}

namespace {

using Picked = std::tuple<Tensor, Tensor>;

Tensor first_index(const Tensor& in, const Tensor& values, int64_t d) {
  Tensor at = empty_on_device_of(in, values.sizes(), DType::Int64);
  backend_of(in).reduce->first_index(at, in, values, d);
  return at;
}

Picked extremum(Fold op, const Tensor& self, int64_t dim, bool keepdim, const char* name) {
  UT_CHECK(!self.is_complex(), name, "(): does not support complex input");
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, name);
  Tensor in = at_least_1d(self);
  Tensor values, at;
  if (!backend_of(in).fuses_reductions) {
    values = fold(op, in, uint64_t{1} << d, true, name);
    at = first_index(in, values, d);
  } else {
    if (is_storage(in.dtype())) throw_not_implemented(name, in.dtype());
    Dims sizes = reduced_sizes(in.sizes(), uint64_t{1} << d, true);
    values = empty_on_device_of(in, sizes, in.dtype());
    at = empty_on_device_of(in, sizes, DType::Int64);
    backend_of(in).reduce->extremum(values, at, in, d, op == Fold::Max);
  }
  return {drop_dim(values, d, keepdim, self.dim()), drop_dim(at, d, keepdim, self.dim())};
}

Tensor arg_extremum(Fold op, const Tensor& self, std::optional<int64_t> dim, bool keepdim, const char* name) {
  UT_CHECK(!self.is_complex(), name, "(): does not support complex input");
  UT_CHECK(self.dtype() != DType::Bool, name, "(): does not support bool input");
  if (dim) {
    check_nonempty_dim(self, wrap_dim(*dim, self.dim()), name);
    return std::get<1>(extremum(op, self, *dim, keepdim, name));
  }
  UT_CHECK_INDEX(self.numel() != 0, name, "(): Expected reduction dim to be specified for input.numel() == 0.");
  Tensor plain = contiguous(self);
  int64_t n = self.numel(), one = 1;
  Tensor flat = alias(plain, IntSpan(&n, 1), IntSpan(&one, 1), plain.storage_offset(), plain.dtype());
  Tensor at = std::get<1>(extremum(op, flat, 0, false, name));
  if (!keepdim) return at;
  Dims ones(static_cast<size_t>(self.dim()), 1);
  return alias(at, ones, ones, 0, DType::Int64);
}

void check_ordered(const Tensor& self, const char* kernel) {
  if (self.is_complex() || self.dtype() == DType::Bool) throw_not_implemented(kernel, self.dtype());
}

// One value and index per 1-D slice along dim: pick(values, indices, in, d).
template <class Pick>
Picked per_line(const Tensor& self, int64_t dim, bool keepdim, const char* name, Pick&& pick) {
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, name);
  Tensor in = at_least_1d(self);
  Dims sizes(in.sizes());
  sizes[static_cast<size_t>(d)] = 1;
  Tensor values = empty_on_device_of(in, sizes, in.dtype()), indices = empty_on_device_of(in, sizes, DType::Int64);
  if (values.numel()) pick(values, indices, in, d);
  return {drop_dim(values, d, keepdim, self.dim()), drop_dim(indices, d, keepdim, self.dim())};
}

Picked median_along(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan, const char* name) {
  check_ordered(self, "median_out");
  return per_line(self, dim, keepdim, name,
                  [&](const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
                    backend_of(in).reduce->median(values, indices, in, d, ignore_nan);
                  });
}

Tensor median_of_all(const Tensor& self, bool ignore_nan, const char* name) {
  check_ordered(self, "median_cpu");
  if (self.numel() == 0) {
    Scalar none(std::numeric_limits<double>::quiet_NaN());
    if (is_integral(self.dtype())) none = Scalar(static_cast<long>(0));
    if (self.dtype() == DType::Int64) none = Scalar(std::numeric_limits<long>::min());
    if (self.dtype() == DType::Int32) none = Scalar(static_cast<long>(std::numeric_limits<int32_t>::min()));
    return full_on_device_of(self, {}, none, self.dtype());
  }
  Tensor plain = contiguous(self);
  int64_t n = self.numel(), one = 1;
  return std::get<0>(median_along(alias(plain, IntSpan(&n, 1), IntSpan(&one, 1), plain.storage_offset(), plain.dtype()),
                                  0, false, ignore_nan, name));
}

}  // namespace

std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum(Fold::Max, self, dim, keepdim, "max");
}
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum(Fold::Min, self, dim, keepdim, "min");
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(Fold::Max, self, dim, keepdim, "argmax");
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(Fold::Min, self, dim, keepdim, "argmin");
}

Tensor median(const Tensor& self) { return median_of_all(self, false, "median"); }
Tensor nanmedian(const Tensor& self) { return median_of_all(self, true, "nanmedian"); }
Picked median(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along(self, dim, keepdim, false, "median");
}
Picked nanmedian(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along(self, dim, keepdim, true, "nanmedian");
}

Picked kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, "kthvalue");
  int64_t n = self.dim() ? self.size(d) : 1;
  UT_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, "; k is ", k,
           ", the dimension has ", n, " elements");
  check_ordered(self, "kthvalue_cpu");
  return per_line(self, dim, keepdim, "kthvalue",
                  [&](const Tensor& values, const Tensor& indices, const Tensor& in, int64_t along) {
                    backend_of(in).reduce->kthvalue(values, indices, in, along, k);
                  });
}

Picked mode(const Tensor& self, int64_t dim, bool keepdim) {
  return per_line(self, dim, keepdim, "mode",
                  [&](const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
                    if (in.is_complex()) throw_not_implemented("mode_cpu", in.dtype());
                    backend_of(in).reduce->mode(values, indices, in, d);
                  });
}

}  // namespace undertow::core::fwd
