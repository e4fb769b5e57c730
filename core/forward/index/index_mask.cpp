// index_mask.cpp: elements selected by a mask: masked_fill, masked_select, masked_scatter; and nonzero, which lists
// them.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::fwd {

namespace {

// out = self, or value where the mask is true; self may be out itself.
void fill_where(const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  ElementwiseIter iter;
  iter.add_output(out, self.dtype());
  iter.add_input(self);
  iter.add_input(mask);
  iter.allow_internal_overlap();
  iter.build();
  backend_of(out).index->masked_fill(iter, value);
}

void check_fill_mask(const Tensor& mask) {
  UT_CHECK(mask.dtype() == DType::Bool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
           meta_name(mask.dtype()));
}
void check_fill_value(const Tensor& value) {
  UT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
}
void check_in_place_shape(const Tensor& out, const Tensor& mask) {
  Dims shape = broadcast_sizes(mask.sizes(), out.sizes());
  UT_CHECK(same(out.sizes(), shape), "output with shape ", ShapeText{out.sizes()},
           " doesn't match the broadcast shape ", ShapeText{shape});
}

}  // namespace

namespace {
Tensor filled(const Tensor& self, const Tensor& mask, const Tensor& element) {
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  Tensor out = empty_on_device_of(self, shape, self.dtype());  // row-major for every layout of self, as in torch
  fill_where(out, broadcast(self, shape), broadcast(mask, shape), element);
  return out;
}
void fill_in_place(const Tensor& out, const Tensor& mask, const Tensor& element) {
  check_in_place_shape(out, mask);
  check_no_partial_overlap(out, mask);
  warn_if_expanded(out, "masked_fill_", "tensor[mask] = scalar");
  Tensor m = partial_overlap(out, mask) ? clone_preserve(mask) : mask;
  fill_where(out, out, broadcast(m, out.sizes()), element);
}
}  // namespace

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_fill_mask(mask);
  return filled(self, mask, element_of(value, self));
}
void masked_fill_out(const Tensor& out, const Tensor&, const Tensor& mask, const Scalar& value) {
  check_fill_mask(mask);
  fill_in_place(out, mask, element_of(value, out));
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_fill_value(value);
  check_fill_mask(mask);
  return filled(self, mask, element_of(value, self));
}
void masked_fill_out(const Tensor& out, const Tensor&, const Tensor& mask, const Tensor& value) {
  check_fill_value(value);
  check_fill_mask(mask);
  fill_in_place(out, mask, element_of(value, out));
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  if (is_wide_unsigned(self.dtype())) throw_not_implemented("masked_select", self.dtype());
  UT_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask; got ", mask.dtype());
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  return backend_of(self).index->masked_select(contiguous(broadcast(self, shape)), contiguous(broadcast(mask, shape)));
}

void masked_scatter_out(const Tensor& out, const Tensor&, const Tensor& mask, const Tensor& source) {
  UT_CHECK(out.dtype() == source.dtype(), "masked_scatter: expected self and source to have same dtypes but got ",
           long_name(out.dtype()), " and ", long_name(source.dtype()));
  UT_CHECK(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           long_name(mask.dtype()));
  check_in_place_shape(out, mask);
  check_no_internal_overlap(out);
  Tensor m = contiguous(broadcast(mask, out.sizes())), from = copy_if_overlapping(out, contiguous(source));
  Tensor to = out.is_contiguous() ? out : contiguous(out);
  backend_of(out).index->masked_scatter(to, m, from);
  if (!to.is_same(out)) copy_into(out, to);
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  Tensor out = empty_on_device_of(self, shape, self.dtype());
  copy_into(out, self);
  masked_scatter_out(out, self, mask, source);
  return out;
}

Tensor nonzero(const Tensor& self, std::false_type) {
  if (is_storage(self.dtype()) && !self.is_complex()) throw_not_implemented("nonzero_count_cpu", self.dtype());
  // Only whether an element is zero matters.
  return backend_of(self).index->nonzero(contiguous(self.dtype() == DType::Bool ? self : to_dtype(self, DType::Bool)));
}

std::vector<Tensor> nonzero(const Tensor& self, std::true_type) {
  Tensor line = self.dim() ? self : alias(self, Dims{1}, Dims{1}, self.storage_offset(), self.dtype());
  Tensor rows = nonzero(line, std::false_type());
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(rows.size(1)));
  for (int64_t d = 0; d < rows.size(1); d++)
    out.push_back(alias(rows, Dims{rows.size(0)}, Dims{1}, d * rows.stride(1), DType::Int64));
  return out;
}

}  // namespace undertow::core::fwd
