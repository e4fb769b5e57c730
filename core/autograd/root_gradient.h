// root_gradient.h: the gradient with which a pass starts at one of its outputs. The only place that checks it, for
// backward and grad in Python and in C++.
#pragma once
#include "core/graph/node.h"
#include "core/tensor/tensor.h"

namespace undertow::core::autograd {

// What the gradient must match: a tensor, or the output of a node given by a GradientEdge.
struct RootOutput {
  IntSpan sizes;
  DType dtype;
  Device device;
};
inline RootOutput root_output(const Tensor& t) { return {t.sizes(), t.dtype(), t.device()}; }
inline RootOutput root_output(const InputMeta& m) { return {m.sizes(), m.dtype(), m.device()}; }

// Returns grad if it matches output number `index`, or 1 for a real scalar output without a gradient. With `batched`,
// grad has one additional dimension in front.
Tensor root_gradient(const RootOutput& output, const Tensor& grad, size_t index, bool batched = false);

}  // namespace undertow::core::autograd
