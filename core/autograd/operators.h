// operators.h: arithmetic operators for tensors, so that formulas and C++ programs read like mathematics. All record.
#pragma once
#include "core/autograd/op_types.h"
#include "generated/ops.h"  // which includes this file at its end

namespace undertow::core {

inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b, Scalar(1)); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return ops::add(a, b, Scalar(1)); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return ops::add(b, a, Scalar(1)); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return ops::sub(a, b, Scalar(1)); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return ops::rsub(b, a, Scalar(1)); }
inline Tensor operator-(const Tensor& a) { return ops::neg(a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return ops::mul(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return ops::mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return ops::div(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return ops::mul(ops::reciprocal(b), a); }

}  // namespace undertow::core
