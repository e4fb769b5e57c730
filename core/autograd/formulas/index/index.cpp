// index.cpp: derivatives and compositions of indexing, gathers and scatters: reads and writes are each other's
// transposes.
// build: small
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/recording.h"
#include "core/autograd/sparse_grad.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/forward/index/index_common.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::ops {

Tensor zeros_of(IntSpan sizes, const Tensor& like) {
  if (UT_UNLIKELY(is_dispatched(like))) return new_zeros(like, sizes, std::nullopt, std::nullopt);
  return fwd::zeros_on_device_of(like, sizes, like.dtype());
}

namespace {
// Zeros with the order of dimensions in memory that a tensor of these sizes and strides has.
Tensor zeros_in_layout(IntSpan sizes, IntSpan strides, const Tensor& like) {
  Tensor out = zeros_of(sizes, like);
  if (!same(out.strides(), strides) && sizes.size() == strides.size())
    out.impl()->set_layout(sizes, fwd::dense_strides_like(sizes, strides));
  return out;
}
// True if nothing observes the intermediate steps. Then a gradient is written directly into the zeros, not into a copy
// of them.
bool is_unobserved(const Tensor& grad, TensorSpan indices) {
  uint32_t flags = flags_of(grad);
  for (const Tensor& t : indices)
    if (t.defined()) flags |= flags_of(t);
  return !wants_record(flags) && !(flags & (kConj | kNeg | kHasTangent | kDelegated | kDispatched)) &&
         !(thread_mode.bits & (kModeObserved | kTransform | kDispatchMode));
}
}  // namespace
bool is_unobserved(const Tensor& grad, const Tensor& index) { return is_unobserved(grad, TensorSpan(&index, 1)); }

Tensor index_backward(const Tensor& grad, IntSpan sizes, TensorSpan indices) {
  Tensor out = zeros_of(sizes, grad);
  if (!is_unobserved(grad, indices)) return index_put(out, indices, grad, true);
  fwd::index_put_out(out, out, indices, grad, true);
  return out;
}
Tensor index_put_zero(const Tensor& grad, TensorSpan indices) {
  return index_put(grad, indices, zeros_of({}, grad), false);
}

Tensor index_select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index) {
  Tensor out = zeros_of(sizes, grad);
  if (!is_unobserved(grad, index)) return index_add(out, dim, index, grad, Scalar(1));
  fwd::index_add_out(out, out, dim, index, grad, Scalar(1));
  return out;
}
Tensor index_select_as(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan sizes) {
  Tensor read = index_select(grad, dim, index);
  return same(read.sizes(), sizes) ? read : reshape(read, sizes);  // a scalar in place of a vector of one element
}
Tensor index_fill_value_grad(const Tensor& grad, int64_t dim, const Tensor& index) {
  Tensor others =
      index_fill(fwd::full_on_device_of(grad, grad.sizes(), Scalar(true), DType::Bool), dim, index, Scalar(false));
  return sum(masked_fill(grad, others, Scalar(0)));
}

Tensor gather_backward(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index, bool sparse) {
  if (UT_UNLIKELY(sparse)) return sparse::gather_gradient(grad, sizes, dim, index);
  Tensor out = zeros_of(sizes, grad);
  if (!is_unobserved(grad, index)) return scatter_add(out, dim, index, grad);
  fwd::scatter_add_out(out, out, dim, index, grad);
  return out;
}
Tensor gather_as(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan sizes) {
  if (index.numel() == 0 && index.sizes().size() != sizes.size()) return zeros_of(sizes, grad);
  Tensor read = gather(grad, dim, index, false);
  if (same(read.sizes(), sizes)) return read;
  if (read.dim() != static_cast<int64_t>(sizes.size())) return reshape(read, sizes);
  // The part of the source beyond index was not used.
  for (int64_t d = 0; d < read.dim(); d++) {
    if (read.size(d) == sizes[static_cast<size_t>(d)]) continue;
    Dims wide(read.sizes());
    wide[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
    read = slice_scatter(zeros_of(wide, grad), read, d, 0, read.size(d), 1);
  }
  return read;
}

Tensor scatter_with_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                           std::string_view reduce) {
  UT_CHECK(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply. Got ", reduce);
  if (reduce == "add") return scatter_add(self, dim, index, src);
  return scatter_reduce(self, dim, index, src, "prod", true);
}
Tensor scatter_with_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                           std::string_view reduce) {
  return scatter_with_reduce(self, dim, index, fwd::full_on_device_of(self, index.sizes(), value, self.dtype()),
                             reduce);
}

Tensor masked_select_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, const Tensor& mask) {
  Dims all = broadcast_sizes(mask.sizes(), sizes);
  Tensor out = same(all, sizes) ? zeros_in_layout(sizes, strides, grad) : zeros_of(all, grad);
  if (!is_unobserved(grad, mask)) return masked_scatter(out, mask, grad);
  fwd::masked_scatter_out(out, out, mask, grad);
  return out;
}
Tensor masked_scatter_source_grad(const Tensor& grad, const Tensor& mask, IntSpan sizes) {
  if (!fwd::has_elements(grad)) return zeros_of(sizes, grad);  // how many were used is not known, nor does it matter
  Tensor used = masked_select(grad, mask);
  int64_t n = product(sizes);
  if (used.numel() < n) used = slice_scatter(zeros_of(IntSpan(&n, 1), grad), used, 0, 0, used.numel(), 1);
  return reshape(used, sizes);
}

Tensor take_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, const Tensor& index) {
  Tensor out = zeros_in_layout(sizes, strides, grad);
  if (!is_unobserved(grad, index)) return put(out, index, grad, true);
  fwd::put_out(out, out, index, grad, true);
  return out;
}
Tensor put_zero(const Tensor& grad, const Tensor& index) {
  return put(grad, index, zeros_of(index.sizes(), grad), false);
}

namespace {
// Indices beyond the end wrap around, as negative ones do.
Tensor wrap_positions(const Tensor& indices, int64_t n, bool recorded) {
  // A copy where gather saves them: as in torch, the caller may write to the indices afterwards.
  if (n == 0 || fwd::all_within(indices, 0, n)) return recorded ? clone(indices, std::nullopt) : indices;
  return remainder(indices, Scalar(static_cast<long>(n)));
}
}  // namespace

Tensor take_along_dim_composite(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  UT_CHECK(indices.dtype() == DType::Int64, "undertow.take_along_dim(): dtype of indices should be Long but got ",
           long_name(indices.dtype()));
  if (!dim) return gather(reshape(self, Dims{-1}), 0, reshape(indices, Dims{-1}), false);
  UT_CHECK(self.dim() == indices.dim(),
           "undertow.take_along_dim(): input and indices should have the same number of dimensions, but got ",
           self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  int64_t d = wrap_dim(*dim, self.dim());
  bool recorded = grad_enabled() && self.requires_grad();
  if (self.dim() == 0) return gather(self, 0, wrap_positions(indices, 1, recorded), false);
  // Both broadcast to each other, except along d.
  Dims a(self.sizes()), b(indices.sizes());
  size_t at = static_cast<size_t>(d);
  a[at] = b[at];
  Dims both = broadcast_sizes(a, b), from = both;
  from[at] = self.size(d);
  return gather(expand(self, from), d, expand(wrap_positions(indices, self.size(d), recorded), both), false);
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, IntSpan sizes, int64_t padding_idx,
                          bool scale_grad_by_freq, bool sparse) {
  UT_CHECK(!sparse || !scale_grad_by_freq,
           "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  if (!sparse && is_dispatched_whole(grad, indices))
    return delegated::call<Tensor>("aten::embedding_dense_backward",
                                   {grad, indices, sizes[0], padding_idx, scale_grad_by_freq});
  Tensor at = fwd::contiguous(fwd::to_dtype(indices, DType::Int64));
  int64_t n = at.numel();
  Tensor rows = reshape(grad, Dims{n, sizes[1]});
  at = reshape(at, Dims{n});
  if (UT_UNLIKELY(sparse)) return sparse::rows_gradient(rows, at, sizes, padding_idx);
  if (padding_idx >= 0)
    rows = masked_fill(rows, unsqueeze(eq(at, Scalar(static_cast<long>(padding_idx))), 1), Scalar(0));
  if (scale_grad_by_freq) {
    Tensor uses = index_add(fwd::zeros_on_device_of(grad, sizes.first(1), DType::Float64), 0, at,
                            fwd::full_on_device_of(grad, at.sizes(), Scalar(1), DType::Float64), Scalar(1));
    rows = rows * fwd::to_dtype(unsqueeze(reciprocal(index_select(uses, 0, at)), 1), grad.dtype());
  }
  return index_select_backward(rows, sizes, 0, at);
}

Tensor nonzero_static_composite(const Tensor& self, int64_t size, int64_t fill_value) {
  UT_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer, got ", size);
  if (!fwd::has_elements(self)) return empty_on_device_of(self, Dims{size, self.dim()}, DType::Int64);
  Tensor found = nonzero(self, std::false_type());
  int64_t have = found.size(0);
  if (have >= size) return clone(narrow(found, 0, 0, size), MemoryFormat::Contiguous);
  Tensor parts[] = {found, fwd::full_on_device_of(found, Dims{size - have, found.size(1)},
                                                  Scalar(static_cast<long>(fill_value)), DType::Int64)};
  return cat(TensorSpan(parts, 2), 0);
}

}  // namespace undertow::core::ops
