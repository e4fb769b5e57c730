// common.cpp: helpers for formulas of every family.
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"

namespace undertow::core::ops {

Tensor maybe_mul(const Tensor& t, const Scalar& s) {
  if (!t.defined() || (!s.is_complex() && s.equals(1))) return t;
  return t * s;
}
Tensor self_t_plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }
Scalar conj(const Scalar& s) { return s.conj(); }
Tensor zeros_like_grad(const Tensor& grad) {
  if (grad.defined() && UT_UNLIKELY(is_dispatched(grad)))
    return zeros_like(grad, std::nullopt, std::nullopt, std::nullopt);
  return grad.defined() ? fwd::zeros_on_device_of(grad, grad.sizes(), grad.dtype()) : Tensor();
}
Tensor flat_in(const Tensor& grad, const Tensor& self) {
  if (!grad_enabled() || !self.requires_grad()) return grad;
  return where(fwd::full_on_device_of(grad, grad.sizes(), Scalar(true), DType::Bool), grad, self);
}
Tensor in_image_format(const Tensor& grad, IntSpan strides, int64_t dims) {
  if (grad.impl()->has(kDelegated) || grad.dim() != dims || grad.numel() == 0 ||
      static_cast<int64_t>(strides.size()) != dims)
    return grad;
  MemoryFormat format = fwd::suggested_format(grad.sizes(), strides);
  return format == MemoryFormat::Contiguous ? grad : contiguous(grad, format);
}
bool has_zero(const Tensor& t) { return !fwd::has_elements(t) || !item(all(alias(t))).to<bool>(); }

}  // namespace undertow::core::ops
