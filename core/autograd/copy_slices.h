// copy_slices.h: the history of a base after a write through one of its views. See Note [Views And In-place] in
// inplace.h.
#pragma once
#include "core/graph/node.h"

namespace undertow {

// base's new node: applies `fn` (the write's own node) to view's part of the gradient and passes the rest through.
// `self_edge`: which of fn's edges is the view's own; one past the last if the write did not read it.
Ref<Node> make_copy_slices(const Tensor& base, const Tensor& view, const Ref<Node>& fn, uint32_t self_edge = 0);

}  // namespace undertow
