// reduce.cpp: sums, products, means, extrema and logical reductions over any dimensions.
#include "core/forward/copy/copy.h"
#include "core/forward/reduce/dims.h"
#include "core/forward/reduce/fold.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_reduce.h"

namespace undertow::core::fwd {

namespace {

DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self.dtype()) ? DType::Int64 : self.dtype();
}
// The tensor to reduce for a result of dtype t: integers are summed in int64 without a copy.
Tensor summand(const Tensor& self, DType t) {
  return t == DType::Int64 && is_integral(self.dtype()) && !is_storage(self.dtype()) ? self : to_dtype(self, t);
}

Tensor sum_in(Fold op, const Tensor& self, uint64_t mask, bool keepdim, std::optional<DType> dtype, const char* name) {
  DType t = sum_dtype(self, dtype);
  return to_dtype(fold(op, summand(self, t), mask, keepdim, name), t);
}

}  // namespace

namespace {
// Nothing to promote, no neutral element to write: by far the most common sum.
inline Tensor sum_floats(const Tensor& self) {
  Tensor out = empty_on_device_of(self, {}, DType::Float32);
  backend_of(self).reduce->fold(out, self, all_dims(self), Fold::Sum);
  return out;
}
}  // namespace

Tensor sum(const Tensor& self, std::optional<DType> dtype) {
  if (UT_LIKELY(!dtype && self.dtype() == DType::Float32 && self.numel() > 0)) return sum_floats(self);
  return sum_in(Fold::Sum, self, all_dims(self), false, dtype, "sum_cpu");
}
Tensor sum(const Tensor& self, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  return sum_in(Fold::Sum, self, mask_of(dim, self), keepdim, dtype, "sum_cpu");
}

Tensor nansum(const Tensor& self, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  UT_CHECK(!self.is_complex(), "nansum on CPU does not support complex inputs");
  DType t = sum_dtype(self, dtype);
  return sum_in(is_integral(t) ? Fold::Sum : Fold::NanSum, self, mask_of(dim, self), keepdim, dtype, "nansum_cpu");
}

Tensor mean(const Tensor& self, std::optional<DType> dtype) { return mean(self, std::nullopt, false, dtype); }
Tensor mean(const Tensor& self, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  DType t = dtype.value_or(self.dtype());
  UT_CHECK(is_differentiable(t), "mean(): could not infer output dtype. ", dtype ? "Optional" : "Input",
           " dtype must be either a floating point or complex dtype. Got: ", long_name(t));
  uint64_t mask = mask_of(dim, self);
  double n = static_cast<double>(reduced_count(self.sizes(), mask));
  if (backend_of(self).fuses_reductions && self.numel() > 0 && !is_storage(t)) {
    Tensor out = empty_on_device_of(self, reduced_sizes(self.sizes(), mask, keepdim), t);
    backend_of(self).reduce->mean(out, to_dtype(self, t), mask, n);
    return out;
  }
  Tensor sum = fold_wide(Fold::Sum, to_dtype(self, t), mask, keepdim, "mean_cpu");
  backend_of(sum).reduce->finish(sum, Finish::Divide, n);
  return to_dtype(sum, t);
}

Tensor prod(const Tensor& self, std::optional<DType> dtype) {
  return sum_in(Fold::Prod, self, all_dims(self), false, dtype, "prod_cpu");
}
Tensor prod(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return sum_in(Fold::Prod, self, one_dim(dim, self), keepdim, dtype, "prod_cpu");
}

namespace {
void check_extremum(const Tensor& self, IntSpan dim, const char* name) {
  if (self.numel() != 0) return;
  UT_CHECK(!dim.empty(), name,
           "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
           "'dim' argument.");
  for (int64_t d : dim) check_nonempty_dim(self, wrap_dim(d, self.dim()), name);
}
}  // namespace

Tensor amax(const Tensor& self, IntSpan dim, bool keepdim) {
  check_extremum(self, dim, "amax");
  return fold(Fold::Max, self, mask_of(dim, self), keepdim, "max_values_cpu");
}
Tensor amin(const Tensor& self, IntSpan dim, bool keepdim) {
  check_extremum(self, dim, "amin");
  return fold(Fold::Min, self, mask_of(dim, self), keepdim, "min_values_cpu");
}
Tensor max(const Tensor& self) {
  check_extremum(self, {}, "max");
  return fold(Fold::Max, self, all_dims(self), false, "max_all");
}
Tensor min(const Tensor& self) {
  check_extremum(self, {}, "min");
  return fold(Fold::Min, self, all_dims(self), false, "min_all");
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (dim)
    check_nonempty_dim(self, wrap_dim(*dim, self.dim()), "aminmax");
  else
    UT_CHECK(self.numel() > 0,
             "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  uint64_t mask = dim ? one_dim(*dim, self) : all_dims(self);
  return {fold(Fold::Min, self, mask, keepdim, "aminmax_cpu"), fold(Fold::Max, self, mask, keepdim, "aminmax_cpu")};
}

namespace {
Tensor test(Fold op, const Tensor& self, uint64_t mask, bool keepdim, const char* name) {
  Tensor out = fold(op, is_storage(self.dtype()) ? to_dtype(self, DType::Bool) : self, mask, keepdim, name);
  // As in torch, where bytes once served as bools.
  return self.dtype() == DType::UInt8 ? to_dtype(out, DType::UInt8) : out;
}
// An empty list of dims reduces no dimension: every element is tested by itself.
uint64_t test_mask(const std::optional<IntSpan>& dim, const Tensor& self) {
  return dim ? dim_mask(*dim, self.dim(), false) & all_dims(self) : all_dims(self);
}
}  // namespace

Tensor any(const Tensor& self) { return test(Fold::Any, self, all_dims(self), false, "any_cpu"); }
Tensor all(const Tensor& self) { return test(Fold::All, self, all_dims(self), false, "all_cpu"); }
Tensor any(const Tensor& self, int64_t dim, bool keepdim) {
  return test(Fold::Any, self, one_dim(dim, self), keepdim, "any_cpu");
}
Tensor all(const Tensor& self, int64_t dim, bool keepdim) {
  return test(Fold::All, self, one_dim(dim, self), keepdim, "all_cpu");
}
Tensor any(const Tensor& self, std::optional<IntSpan> dim, bool keepdim) {
  return test(Fold::Any, self, test_mask(dim, self), keepdim, "any_cpu");
}
Tensor all(const Tensor& self, std::optional<IntSpan> dim, bool keepdim) {
  return test(Fold::All, self, test_mask(dim, self), keepdim, "all_cpu");
}

namespace {
Tensor countable(const Tensor& self) { return self.dtype() == DType::Complex32 ? to_dtype(self, DType::Bool) : self; }
}  // namespace
Tensor count_nonzero(const Tensor& self, IntSpan dim) {
  return fold(Fold::CountNonzero, countable(self), mask_of(dim, self), false, "count_nonzero_cpu");
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return fold(Fold::CountNonzero, countable(self), dim ? one_dim(*dim, self) : all_dims(self), false,
              "count_nonzero_cpu");
}

}  // namespace undertow::core::fwd
