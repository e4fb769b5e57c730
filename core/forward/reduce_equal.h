// reduce_equal.h: which elements of a tensor equal a reduced value.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::fwd {

// bool; value broadcasts against self; NaN equals NaN. Same dtype.
Tensor equal_or_both_nan(const Tensor& self, const Tensor& value);

}  // namespace undertow::fwd
