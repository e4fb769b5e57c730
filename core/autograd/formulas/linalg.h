// linalg.h: derivatives and compositions of matrix products.
// Each function is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {


}  // namespace undertow::ops
