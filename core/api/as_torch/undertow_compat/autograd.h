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

namespace undertow::cuda {
inline bool is_available() { return false; }
inline size_t device_count() { return 0; }
inline bool cudnn_is_available() { return false; }
inline void synchronize(int64_t = -1) {}
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
}  // namespace undertow::cuda
namespace undertow {
inline bool hasCUDA() { return false; }
}  // namespace undertow
