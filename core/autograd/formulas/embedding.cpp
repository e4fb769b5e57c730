// embedding.cpp: derivatives of embedding_bag, and its public form.
// build: small
#include "core/autograd/formulas/embedding.h"

#include "core/autograd/formulas/formulas.h"
#include "core/autograd/sparse_grad.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

Tensor column(const Tensor& t) { return unsqueeze(t, 1); }
// Sets rows of the padding index to zero.
Tensor without_padding(const Tensor& rows, const Tensor& indices, int64_t padding_idx) {
  return padding_idx < 0
             ? rows
             : masked_fill(rows,
                           rows.dim() > 1 ? column(eq(indices, Scalar(padding_idx))) : eq(indices, Scalar(padding_idx)),
                           Scalar(0));
}
// At every index, one over the number of indices in the same bag.
Tensor inverse_counts(const Tensor& counts, const Tensor& bags, DType dtype) {
  return reciprocal(to_dtype(index_select(clamp_min(counts, Scalar(1)), 0, bags), dtype));
}
Tensor zero_in_empty_bags(const Tensor& t, const Tensor& counts) {
  return masked_fill(t, column(eq(counts, Scalar(0))), Scalar(0));
}
}  // namespace

Tensor bag_grad(const Tensor& grad, IntSpan sizes, const Tensor& indices, const Tensor& bags, const Tensor& counts,
                const Tensor& maxima, bool by_freq, int64_t mode, const Tensor& scales, int64_t padding_idx,
                bool sparse) {
  if (mode == kMax) return scatter_add(zeros_of(sizes, grad), 0, maxima, zero_in_empty_bags(grad, counts));
  Tensor rows = index_select(grad, 0, bags);
  if (mode == kMean) rows = rows * column(inverse_counts(counts, bags, grad.dtype()));
  if (scales.defined()) rows = rows * column(scales);
  UT_CHECK(!sparse || !by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
  if (sparse) return sparse::rows_gradient(rows, to_dtype(indices, DType::Int64), sizes, padding_idx);
  if (by_freq) {
    Tensor uses = index_add(zeros_of(sizes.first(1), grad), 0, indices,
                            fwd::full_on_device_of(grad, indices.sizes(), Scalar(1), grad.dtype()), Scalar(1));
    rows = rows / column(index_select(uses, 0, indices));
  }
  return index_select_backward(without_padding(rows, indices, padding_idx), sizes, 0, indices);
}
Tensor bag_scales_grad(const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& bags,
                       int64_t padding_idx) {
  const int64_t last[1] = {1};
  return without_padding(
      sum(index_select(grad, 0, bags) * index_select(weight, 0, indices), IntSpan(last, 1), false, std::nullopt),
      indices, padding_idx);
}
Tensor bag_jvp(const Tensor& weight_t, const Tensor& scales_t, const Tensor& weight, const Tensor& indices,
               const Tensor& bags, const Tensor& counts, const Tensor& maxima, int64_t mode, const Tensor& scales,
               int64_t padding_idx) {
  if (mode == kMax) return zero_in_empty_bags(gather(weight_t, 0, maxima), counts);
  Tensor rows;
  if (weight_t.defined()) {
    rows = index_select(weight_t, 0, indices);
    if (scales.defined()) rows = rows * column(scales);
  }
  if (scales_t.defined()) rows = self_t_plus(index_select(weight, 0, indices) * column(scales_t), rows);
  if (mode == kMean) rows = rows * column(inverse_counts(counts, bags, rows.dtype()));
  Dims sizes{counts.size(0), weight.size(1)};
  return index_select_backward(without_padding(rows, indices, padding_idx), sizes, 0, bags);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_composite(const Tensor& weight, const Tensor& indices,
                                                                   const Tensor& offsets, bool by_freq, int64_t mode,
                                                                   bool sparse, const Tensor& scales, bool last,
                                                                   std::optional<int64_t> padding_idx) {
  int64_t padding = -1, rows = weight.dim() ? weight.size(0) : 0;
  if (padding_idx) {
    UT_CHECK(*padding_idx >= -rows && *padding_idx < rows, "padding_idx must be within the number of embeddings, ",
             -rows, " through ", rows - 1, ", but got ", *padding_idx);
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  return _embedding_bag(weight, indices, offsets, by_freq, mode, scales, last, padding, sparse);
}

}  // namespace undertow::core::ops
