// reduce.h: derivatives and compositions of reductions and softmax.
// Each function is differentiable: it calls only operators. If more than one argument has a tangent, either may be
// undefined.
#pragma once
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor sum_to_composite(const Tensor& self, IntSpan size);
// Expands a reduced tensor to the shape it was reduced from: reinserts the reduced dims with size one first.
Tensor restore_dims(const Tensor& t, int64_t ndim, const std::optional<IntSpan>& dim, bool keepdim);
Tensor expand_reduced(const Tensor& grad, IntSpan sizes, const std::optional<IntSpan>& dim, bool keepdim);
Tensor mean_backward(const Tensor& grad, IntSpan sizes, int64_t numel, const std::optional<IntSpan>& dim, bool keepdim);
Tensor nansum_backward(const Tensor& grad, const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim);
Tensor nansum_jvp(const Tensor& self_t, const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim,
                  std::optional<DType> dtype);
// Products: by division if nothing is zero, otherwise by products of all other elements.
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
Tensor prod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result);
Tensor prod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
Tensor nanmean_composite(const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim,
                         std::optional<DType> dtype);
// Divides grad evenly among the elements of self that equal the reduced value.
Tensor split_among_equals(const Tensor& grad, const Tensor& self, const Tensor& value, IntSpan dim, bool keepdim);
Tensor split_among_all_equals(const Tensor& grad, const Tensor& self, const Tensor& value);
Tensor mean_of_equals(const Tensor& self_t, const Tensor& self, const Tensor& value, IntSpan dim, bool keepdim);
Tensor mean_of_equals(const Tensor& self_t, const Tensor& self, const Tensor& value, std::optional<int64_t> dim,
                      bool keepdim);
Tensor aminmax_backward(std::span<Tensor> grads, const Tensor& self, const Tensor& min, const Tensor& max,
                        std::optional<int64_t> dim, bool keepdim);
// Sends grad to the element that each index selects.
Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntSpan sizes,
                                          bool keepdim);
Tensor gather_reduced(const Tensor& self_t, int64_t dim, const Tensor& indices, bool keepdim);
Tensor quantile_composite(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation, bool ignore_nan);
Tensor quantile_composite(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation, bool ignore_nan);
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntSpan dim, bool keepdim);
Tensor logsumexp_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, IntSpan dim, bool keepdim);

Tensor softmax_jvp(const Tensor& self_t, const Tensor& result, int64_t dim);
Tensor log_softmax_jvp(const Tensor& self_t, const Tensor& result, int64_t dim);
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim);
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim);
Tensor minus_weighted_sum(const Tensor& grad, const Tensor& output, int64_t dim);  // grad - sum(grad * exp(output))
Tensor softmax_backward_jvp(const Tensor& grad_t, const Tensor& output_t, const Tensor& grad, const Tensor& output,
                            int64_t dim, DType dtype);
Tensor log_softmax_backward_jvp(const Tensor& grad_t, const Tensor& output_t, const Tensor& grad, const Tensor& output,
                                int64_t dim, DType dtype);

}  // namespace undertow::core::ops
