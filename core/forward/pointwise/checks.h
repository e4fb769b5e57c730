// checks.h: checks of pointwise operators before they compute (the table's `check`), with torch's messages.
#pragma once
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/tensor.h"

namespace undertow::core::fwd {

// add, sub, rsub: alpha must have the kind of the operands' dtype.
void check_alpha_slow(DType common, const Scalar& alpha);
template <class A, class B>
inline void check_alpha(const A& self, const B& other, const Scalar& alpha) {
  if (UT_UNLIKELY(alpha.kind() != Scalar::Kind::Int)) check_alpha_slow(result_type(self, other), alpha);
}

void check_sub_slow(DType self, DType other);
inline DType kind_dtype(const Tensor& t) { return t.dtype(); }
inline DType kind_dtype(const Scalar& s) { return scalar_dtype(s); }
template <class A, class B>
inline void check_sub(const A& self, const B& other, const Scalar& alpha) {
  DType a = kind_dtype(self), b = kind_dtype(other);
  if (UT_UNLIKELY(a == DType::Bool || b == DType::Bool)) check_sub_slow(a, b);
  check_alpha(self, other, alpha);
}

// lerp: no promotion.
void check_lerp(const Tensor& self, const Tensor& end, const Tensor& weight);
void check_lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
void check_addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2);
void check_heaviside(const Tensor& self, const Tensor& values);
void check_order(int64_t n);  // for polygamma
void check_not_complex(const char* op, const Tensor& self);
inline void check_not_complex(const char* op, const Tensor& self, const Tensor& other) {
  check_not_complex(op, self);
  check_not_complex(op, other);
}
void check_celu(const Scalar& alpha);
void check_hardtanh(const Tensor& self, const Scalar& min, const Scalar& max);
void check_softshrink(const Tensor& self, const Scalar& lambd);

}  // namespace undertow::core::fwd
