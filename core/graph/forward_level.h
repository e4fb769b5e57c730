// forward_level.h: the open dual level of forward mode, and which tensors carry a tangent in it.
//
// Note [Dual Levels]
// A tangent lives in its tensor's metadata while the level in which it was made is open. Leaving the level takes the
// tangents off every tensor that still lives, so the level keeps a set of them; a tensor that dies takes itself out.
// As in torch there is at most one level open in the process.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow {
struct AutogradMeta;
}
namespace undertow::forward_level {

int64_t enter();            // the new level's number
void leave(int64_t level);  // takes off all tangents
int64_t current();          // -1 when none is open

void set_tangent(const Tensor& t, Tensor tangent);  // undefined: takes it off
void forget(AutogradMeta* meta);                    // the tensor dies

}  // namespace undertow::forward_level
