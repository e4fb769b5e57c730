// has_zero.h: a look at elements that decides between two formulas of one result.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::ops {

// Is any element zero? True for a tensor without memory (meta): the formula that is right for zeros is right for all.
bool has_zero(const Tensor& t);

}  // namespace undertow::ops
