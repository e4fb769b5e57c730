// copy_slices.h: the history of a base after a write to one of its views. See Note [Views And In-place] in inplace.h.
#pragma once
#include "core/graph/node.h"

namespace undertow::core {

// The base's new node: applies `fn` (the node of the write) to the view's part of the gradient and passes the rest
// through. `self_edge`: the index of the view's edge in fn; one past the last if the write did not read the view.
Ref<Node> make_copy_slices(const Tensor& base, const Tensor& view, const Ref<Node>& fn, uint32_t self_edge = 0);

}  // namespace undertow::core
