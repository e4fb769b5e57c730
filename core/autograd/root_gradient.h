// root_gradient.h: the gradient that a pass begins with at one of its outputs. The only place that checks it; Python's
// backward and grad and their C++ namesakes come here.
#pragma once
#include "core/graph/node.h"
#include "core/tensor/tensor.h"

namespace undertow::autograd {

// What a gradient must fit: a tensor, or the output of a node that a GradientEdge names.
struct RootOutput {
  IntSpan sizes;
  DType dtype;
  Device device;
};
inline RootOutput root_output(const Tensor& t) { return {t.sizes(), t.dtype(), t.device()}; }
inline RootOutput root_output(const InputMeta& m) { return {m.sizes(), m.dtype(), m.device()}; }

// grad itself, if it fits output number `index`, or 1 for a real scalar output that has none. With `batched` grad has
// one more dimension in front.
Tensor root_gradient(const RootOutput& output, const Tensor& grad, size_t index, bool batched = false);

}  // namespace undertow::autograd
