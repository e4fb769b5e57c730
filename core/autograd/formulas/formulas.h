// formulas.h: derivative formulas and compositions too long for a table cell. One header; bodies by family beside it.
// Each is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"
#include "generated/ops.h"

namespace undertow::ops {

// common.cpp
Tensor maybe_mul(const Tensor& t, const Scalar& s);  // t * s; t itself for s == 1, undefined for undefined
Tensor self_t_plus(const Tensor& a, const Tensor& b);  // a + b where either may be undefined
Scalar conj(const Scalar& s);
Tensor zeros_like_grad(const Tensor& grad);

// shape.cpp
Tensor reshape_composite(const Tensor& self, IntSpan shape);
Tensor real_composite(const Tensor& self);
Tensor view_as_complex_of(const Tensor& grad);  // of a gradient in any layout
Tensor as_strided_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset);
Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index);
Tensor copy_tangent(const Tensor& self, const Tensor& src_t);

// reduce.cpp
Tensor sum_to_composite(const Tensor& self, IntSpan size);
Tensor expand_reduced(const Tensor& grad, IntSpan sizes, const std::optional<IntSpan>& dim, bool keepdim);

}  // namespace undertow::ops
