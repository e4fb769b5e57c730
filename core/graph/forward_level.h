// forward_level.h: the open dual level of forward mode, and the tensors that have a tangent in it.
//
// Note [Dual Levels]
// A tangent is stored in its tensor's metadata while its level is open. Leaving the level removes the tangents from all
// tensors that are still alive, so the level keeps a set of them; a tensor that is destroyed removes itself from the
// set. As in torch, at most one level is open in the process.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core {
struct AutogradMeta;
}
namespace undertow::core::forward_level {

int64_t enter();            // returns the number of the new level
void leave(int64_t level);  // removes all tangents
int64_t current();          // -1 if no level is open

void set_tangent(const Tensor& t, Tensor tangent);  // an undefined tangent removes the old one
void forget(AutogradMeta* meta);                    // the tensor is being destroyed

}  // namespace undertow::core::forward_level
