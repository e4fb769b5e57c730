// softmax.h: what moments.cpp borrows from softmax.cpp.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::fwd {

// log(sum(exp(in))) over the dims of mask, in a tensor of the given sizes; in is of float or double and has elements.
// Undefined where the dims are not neighbours.
Tensor logsumexp_of_neighbours(const Tensor& in, uint64_t mask, IntSpan sizes);

}  // namespace undertow::fwd
