// scan.h: a cumulative sum that starts at the last element, for autograd/formulas/scan.cpp: the derivative of cumsum in
// one pass.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::core::fwd {

Tensor cumsum_from_the_end(const Tensor& self, int64_t dim);

}  // namespace undertow::core::fwd
