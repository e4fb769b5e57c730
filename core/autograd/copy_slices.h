// copy_slices.h: the history of a base after a write through one of its views. See Note [Views And In-place] in inplace.h.
#pragma once
#include "core/graph/node.h"

namespace undertow {

// base's new node: applies `fn` (the write's own node) to view's part of the gradient and passes the rest through.
Ref<Node> make_copy_slices(const Tensor& base, const Tensor& view, const Ref<Node>& fn);

}  // namespace undertow
