// shape.h: derivatives and compositions of views and joins.
// Each function is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {

Tensor reshape_composite(const Tensor& self, IntSpan shape);
Tensor real_composite(const Tensor& self);
Tensor view_as_complex_of(const Tensor& grad);  // of a gradient in any layout
Tensor as_strided_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset);
Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index);
Tensor copy_tangent(const Tensor& self, const Tensor& src_t);

}  // namespace undertow::ops
