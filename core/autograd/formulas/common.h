// common.h: helpers for formulas of every family.
// Each function but has_zero is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"
#include "generated/ops_shape.h"  // conj

namespace undertow::core::ops {

Tensor maybe_mul(const Tensor& t, const Scalar& s);    // t * s; t itself for s == 1, undefined if t is
Tensor self_t_plus(const Tensor& a, const Tensor& b);  // a + b, either of which may be undefined
Scalar conj(const Scalar& s);

// conj(t) for use inside an expression: refers to t itself if t is real, and so costs nothing.
class Conjugate {
 public:
  explicit Conjugate(const Tensor& t) : ref_(&t) {
    if (UT_UNLIKELY(t.is_complex())) {
      held_ = conj(t);
      ref_ = &held_;
    }
  }
  Conjugate(const Conjugate&) = delete;
  Conjugate& operator=(const Conjugate&) = delete;
  operator const Tensor&() const { return *ref_; }

 private:
  const Tensor* ref_;
  Tensor held_;
};
inline Conjugate conj_of(const Tensor& t) { return Conjugate(t); }
inline Scalar conj_of(const Scalar& s) { return s.conj(); }
Tensor zeros_like_grad(const Tensor& grad);
// `grad` of an operator that is linear in pieces. As a function of `self` it is constant; when a graph is made it is
// one with a zero derivative, as in torch, so that a second derivative is zero and does not raise.
Tensor flat_in(const Tensor& grad, const Tensor& self);

// The gradient of an image in the memory format that the image has, if it is a batch of `dims` dimensions.
Tensor in_image_format(const Tensor& grad, IntSpan strides, int64_t dims);

// True if any element is zero, and for a tensor without memory (meta): the formula for zeros is correct for all values.
bool has_zero(const Tensor& t);

}  // namespace undertow::core::ops
