// batched.h: the tensors of vmap: each looks like one sample but holds all of them.
//
// Note [Batched Tensors]
// A batched tensor has the shape, dtype and strides of its first sample, so that its size is that of one sample. Its
// metadata holds the value: all samples, along dimension 0, and the number of the vmap that created it (later ones have
// higher numbers; a value may itself be batched, at an earlier level). It has no history of its own: requires_grad,
// grad_fn and tangent are those of the value. When a recorder sees the flag kBatched on an argument, it passes the
// whole call to `delegated::handler`, which computes on the values. So batched tensors also work in the formulas of
// nodes during a backward pass, and with tangents. No function below the recorders may see one: alias() raises.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::batched {

Tensor wrap(const Tensor& value, int64_t level);  // dimension 0 of value is the batch
bool is_batched(const Tensor& t);
bool is_batched(TensorSpan list);
const Tensor& value_of(const Tensor& t);
const Tensor& physical(const Tensor& t);  // the value below all levels; t itself if it is not batched
int64_t level_of(const Tensor& t);        // -1 if t is not batched
void refresh(const Tensor& t);            // after the sizes or strides of its value have changed

}  // namespace undertow::core::batched
