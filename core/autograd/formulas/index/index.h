// index.h: derivatives and compositions of indexing, gathers and scatters.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor zeros_of(IntSpan sizes, const Tensor& like);
// True if nothing observes the intermediate steps. Then a gradient is written directly into the zeros, not into a copy
// of them.
bool is_unobserved(const Tensor& grad, const Tensor& index);

Tensor index_backward(const Tensor& grad, IntSpan sizes, TensorSpan indices);
Tensor index_put_zero(const Tensor& grad, TensorSpan indices);
Tensor index_select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index);
Tensor index_select_as(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan sizes);
Tensor index_fill_value_grad(const Tensor& grad, int64_t dim, const Tensor& index);
Tensor gather_backward(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index, bool sparse);
// The gradient of a scatter's source: the elements of grad at index; zero where the source is larger than index.
Tensor gather_as(const Tensor& grad, int64_t dim, const Tensor& index, IntSpan sizes);
Tensor scatter_with_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                           std::string_view reduce);
Tensor scatter_with_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                           std::string_view reduce);
Tensor masked_select_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, const Tensor& mask);
Tensor masked_scatter_source_grad(const Tensor& grad, const Tensor& mask, IntSpan sizes);
Tensor take_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, const Tensor& index);
Tensor put_zero(const Tensor& grad, const Tensor& index);
Tensor take_along_dim_composite(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, IntSpan sizes, int64_t padding_idx,
                          bool scale_grad_by_freq, bool sparse);

// See Note [Derivatives Of Scattered Reductions] in index_reduce.cpp.
Tensor scatter_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& src, std::string_view reduce, bool include_self, const Tensor& result);
Tensor scatter_reduce_src_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                               const Tensor& src, std::string_view reduce, bool include_self, const Tensor& result);
Tensor scatter_reduce_tangent(const Tensor& self, const Tensor& self_t, int64_t dim, const Tensor& index,
                              const Tensor& src, const Tensor& src_t, std::string_view reduce, bool include_self,
                              const Tensor& result);
Tensor index_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& source, std::string_view reduce, bool include_self, const Tensor& result);
Tensor index_reduce_source_grad(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& source, std::string_view reduce, bool include_self, const Tensor& result);
Tensor index_reduce_tangent(const Tensor& self, const Tensor& self_t, int64_t dim, const Tensor& index,
                            const Tensor& source, const Tensor& source_t, std::string_view reduce, bool include_self,
                            const Tensor& result);

Tensor nonzero_static_composite(const Tensor& self, int64_t size, int64_t fill_value);

}  // namespace undertow::core::ops
