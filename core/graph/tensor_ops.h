// tensor_ops.h: the few operators that the graph layer needs. Declared here, defined in a higher layer
// (autograd/engine_ops.cpp), because operators depend on the graph. All of them record if grad mode is on.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core::graph_ops {

Tensor add(const Tensor& a, const Tensor& b);
void add_in_place(const Tensor& a, const Tensor& b);
Tensor sum_to(const Tensor& t, IntSpan sizes);
Tensor cast(const Tensor& t, DType dtype);
Tensor real(const Tensor& t);
Tensor clone(const Tensor& t);
Tensor clone_into_layout_of(const Tensor& t, const TensorImpl* like);  // with the strides of `like` if those are dense
Tensor detach(const Tensor& t);                                        // shares the version counter with t
bool has_nan(const Tensor& t);
bool is_exclusive_sparse(const Tensor& t);  // of a sparse tensor: nobody else has it, its parts or their memory

// The worst kind of value among a tensor's elements.
enum class ValueKind : uint8_t { Undefined, Zero, Finite, Infinite, Nan };
ValueKind classify(const Tensor& t);

}  // namespace undertow::core::graph_ops
