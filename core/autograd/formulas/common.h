// common.h: pieces that formulas of every family share.
// Each function is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {

Tensor maybe_mul(const Tensor& t, const Scalar& s);  // t * s; t itself for s == 1, undefined for undefined
Tensor self_t_plus(const Tensor& a, const Tensor& b);  // a + b where either may be undefined
Scalar conj(const Scalar& s);
Tensor zeros_like_grad(const Tensor& grad);

}  // namespace undertow::ops
