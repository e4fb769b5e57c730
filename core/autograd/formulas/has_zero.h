// has_zero.h: a test of the elements, to choose between two formulas for the same result.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::ops {

// True if any element is zero, and for a tensor without memory (meta): the formula for zeros is correct for all values.
bool has_zero(const Tensor& t);

}  // namespace undertow::ops
