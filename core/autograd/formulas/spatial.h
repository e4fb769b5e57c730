// spatial.h: derivatives and compositions of operators on images: padding, pooling, interpolation.
// Each function is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {

Dims negated(IntSpan values);

}  // namespace undertow::ops
