// autograd.h: what extensions use of torch::autograd beyond undertow/autograd.h.
#pragma once
#include <undertow/autograd.h>
#include <undertow/autograd/function.h>

#include <undertow_compat/names.h>

namespace undertow::autograd {

using tensor_list = variable_list;
inline bool any_variable_requires_grad(const variable_list& tensors) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.requires_grad()) return true;
  return false;
}

}  // namespace undertow::autograd
