// unique.cpp: distinct elements and slices, membership.
// build: small
#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/sort.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_sort.h"

namespace undertow::core::fwd {

namespace {

using Unique = std::tuple<Tensor, Tensor, Tensor>;

Tensor no_ints(const Tensor& beside) {
  const int64_t none = 0;
  return empty_on_device_of(beside, IntSpan(&none, 1), DType::Int64);
}

Unique flat(const Tensor& self, bool sort, bool inverse, bool counts) {
  if (is_wide_unsigned(self.dtype())) {
    Unique found = flat(to_ordered_carrier(self), sort, inverse, counts);
    std::get<0>(found) = from_ordered_carrier(std::get<0>(found), self.dtype());
    return found;
  }
  Tensor in = contiguous(self);
  if (in.is_complex()) throw_not_implemented("unique", in.dtype());
  UniqueElements found = backend_of(in).sort->unique(in, sort, inverse, counts);
  return {found.values, found.inverse, found.counts};
}

// Slices along d, compared lexicographically.
Unique slices(const Tensor& self, int64_t dim, bool sort, bool inverse, bool counts) {
  UT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  int64_t d = wrap_dim(dim, self.dim());
  Dims sizes(self.sizes());
  int64_t n = sizes[static_cast<size_t>(d)];
  int64_t zeros = 0;
  for (int64_t s : sizes) zeros += s == 0;
  if (n == 0) {
    UT_CHECK(zeros == 1, "Number of zero sized dimensions is more than one, so unique cannot be applied ");
    return {empty_on_device_of(self, self.sizes(), self.dtype()), no_ints(self), no_ints(self)};
  }
  UT_CHECK(zeros == 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  // Slices as rows of a matrix.
  Dims view_sizes{n}, view_strides{self.stride(d)};
  for (int64_t k = 0; k < self.dim(); k++)
    if (k != d) view_sizes.push_back(self.size(k)), view_strides.push_back(self.stride(k));
  Tensor rows = contiguous(alias(self, view_sizes, view_strides, self.storage_offset(), self.dtype()));
  if (rows.is_complex()) throw_not_implemented("unique_dim", rows.dtype());
  UniqueElements found = backend_of(rows).sort->unique_rows(rows, sort, inverse, counts);
  const Tensor& picked = found.values;
  // Restores self's order of dimensions.
  Dims out_sizes, out_strides;
  for (int64_t k = 0, other = 1; k < self.dim(); k++) {
    int64_t from = k == d ? 0 : other++;
    out_sizes.push_back(picked.size(from));
    out_strides.push_back(picked.stride(from));
  }
  return {alias(picked, out_sizes, out_strides, 0, picked.dtype()), found.inverse, found.counts};
}

}  // namespace

Unique _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return flat(self, true, return_inverse, return_counts);
}
Unique _unique_dim(const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  return slices(self, dim, true, return_inverse, return_counts);
}
Unique _unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  return dim ? slices(self, *dim, false, return_inverse, return_counts)
             : flat(self, false, return_inverse, return_counts);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  for (const Tensor* side : {&elements, &test_elements})
    UT_CHECK((!side->is_complex() || is_storage(side->dtype())) && side->dtype() != DType::Bool,
             "Unsupported input type encountered for isin(): ", long_name(side->dtype()));
  DType t = result_type(elements, test_elements);
  Tensor in = contiguous(to_dtype(elements, t)), among = contiguous(to_dtype(test_elements, t)),
         out = empty_on_device_of(in, elements.sizes(), DType::Bool);
  backend_of(in).sort->isin(out, in, among, invert);
  return out;
}
namespace {
// A number as a 0-dimensional tensor that is weak in type promotion.
Tensor number(const Scalar& s, const Tensor& beside) {
  Tensor t = full_on_device_of(beside, {}, s, scalar_dtype(s));
  t.impl()->set(kWrappedNumber);
  return t;
}
}  // namespace
Tensor isin(const Tensor& elements, const Scalar& test_element, bool unique, bool invert) {
  return isin(elements, number(test_element, elements), unique, invert);
}
Tensor isin(const Scalar& element, const Tensor& test_elements, bool unique, bool invert) {
  return isin(number(element, test_elements), test_elements, unique, invert);
}

}  // namespace undertow::core::fwd
