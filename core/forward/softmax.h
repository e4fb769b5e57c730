// softmax.h: functions of softmax.cpp that moments.cpp uses.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::core::fwd {

// log(sum(exp(in))) over the dims in mask, in a tensor of the given sizes; in is float or double and not empty.
// Undefined if the dims are not adjacent.
Tensor logsumexp_of_neighbours(const Tensor& in, uint64_t mask, IntSpan sizes);

}  // namespace undertow::core::fwd
