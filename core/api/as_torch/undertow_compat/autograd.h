// autograd.h: what extensions use of torch::autograd beyond undertow/autograd.h.
#pragma once
#include <undertow/autograd.h>
#include <undertow/autograd/function.h>

#include <undertow_compat/names.h>

namespace undertow::autograd {

using tensor_list = variable_list;
using IndexRange = std::pair<size_t, size_t>;
using undertow::AutoGradMode;
using undertow::GradMode;
using undertow::InferenceMode;
using undertow::NoGradGuard;
// A tensor on the memory of `data`, without its history.
inline Variable make_variable(const Tensor& data, bool requires_grad = false) {
  if (!data.defined()) return {};
  Tensor made = data.variable_data();
  return made.set_requires_grad(requires_grad);
}
inline bool any_variable_requires_grad(const variable_list& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.requires_grad()) return true;
  return false;
}

}  // namespace undertow::autograd
