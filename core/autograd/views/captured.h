// captured.h: raises if a function writes to a tensor that it captured while a transform differentiates the function.
//
// Note [Captured Tensors]
// grad, vjp and jvp differentiate the results of a function with respect to its arguments. If the function could write
// to a tensor from outside, that tensor would keep a value that depends on the arguments after the transform has ended.
// As in torch such a write raises. A tensor comes from outside if its storage is older than the transform and is not
// that of an argument. Storages are compared, not tensors, so a view counts as what it is a view of. Each storage keeps
// the number of the newest transform that was running when it was created (ThreadMode::transform). While no transform
// runs, a write costs one comparison more and a new storage one number more. As in torch, out= arguments and the
// forward of a custom Function are not checked.
#pragma once
#include <vector>

#include "core/tensor/tensor.h"

namespace undertow::core::captured {

// A running transform that differentiates: its number and the storages of the arguments of its function. They are only
// compared, never read.
struct Transform {
  uint32_t number;
  std::vector<const Storage*> arguments;
};

// The transforms that run on this thread, outermost first; kept by undertow/_vmap/_levels.py.
void set_running(std::vector<Transform> transforms);

// Raises if a running transform may not write to t. Only called while one runs.
[[gnu::cold]] void check_not_captured(const Tensor& t, const char* name);

}  // namespace undertow::core::captured
