// pointwise.h: derivatives and compositions of pointwise operators.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

// Raises; called when a backward pass reaches an operator without a derivative.
[[noreturn]] Tensor not_differentiable(const char* name);
// For operators with a formula that lacks one derivative: `what` names it in a backward pass, `name` in forward mode.
[[noreturn]] Tensor not_implemented(const char* what, const char* name);

Tensor keep_where(const Tensor& condition, const Tensor& grad);  // zero elsewhere
Tensor drop_where(const Tensor& condition, const Tensor& grad);  // zero there
Tensor real_part(const Tensor& t);
Tensor imag_part(const Tensor& t);
Scalar one_minus(const Scalar& s);
Tensor one_minus(const Tensor& t);
Scalar plus_one(const Scalar& s);
Tensor plus_one(const Tensor& t);

Tensor as_number(const Scalar& s);  // zero-dimensional, and weak in promotion like the number
Tensor positive_composite(const Tensor& self);
Tensor sgn_backward(const Tensor& self, const Tensor& grad, const Tensor& sign);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor frexp_backward(const Tensor& grad, const Tensor& exponent);

Tensor div_mode_grad_self(const Tensor& grad, const Tensor& other, bool rounded);
Tensor div_mode_grad_self(const Tensor& grad, const Scalar& other, bool rounded);
Tensor div_mode_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other, bool rounded);
Tensor floor_of_quotient(const Scalar& self, const Tensor& other);

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result);
Tensor pow_backward_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result);
Tensor float_power_composite(const Tensor& self, const Tensor& exponent);
Tensor float_power_composite(const Tensor& self, const Scalar& exponent);
Tensor float_power_composite(const Scalar& self, const Tensor& exponent);
const Tensor& float_power_inplace(const Tensor& self, const Tensor& exponent);
const Tensor& float_power_inplace(const Tensor& self, const Scalar& exponent);

Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other);
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other);
const Tensor& xlogy_inplace(const Tensor& self, const Tensor& other);
const Tensor& xlogy_inplace(const Tensor& self, const Scalar& other);

Tensor sinc_backward(const Tensor& grad, const Tensor& self);
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p);
Tensor tanh_backward_jvp(const Tensor& grad_output, const Tensor& output, const Tensor& grad_t, const Tensor& output_t);
Tensor sigmoid_backward_jvp(const Tensor& grad_output, const Tensor& output, const Tensor& grad_t,
                            const Tensor& output_t);
Tensor polar_grad_abs(const Tensor& grad, const Tensor& result);
Tensor polar_grad_angle(const Tensor& grad, const Tensor& result);
Tensor polar_jvp(const Tensor& abs, const Tensor& angle, const Tensor& abs_t, const Tensor& angle_t);
Tensor complex_jvp(const Tensor& real, const Tensor& imag, const Tensor& real_t, const Tensor& imag_t);

// maximum and minimum: a tie gives each operand half of the gradient.
Tensor extreme_backward(const Tensor& grad, const Tensor& loses, const Tensor& ties);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max);
Tensor clamp_backward_min(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max);
Tensor clamp_backward_max(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max);
Tensor choice_jvp(const Tensor& condition, const Tensor& self_t, const Tensor& other_t);
Tensor extreme_jvp(const Tensor& wins, const Tensor& ties, const Tensor& self_t, const Tensor& other_t);
Tensor clamp_jvp(const Tensor& self, const Tensor& self_t, const Tensor& min, const Tensor& min_t, const Tensor& max,
                 const Tensor& max_t);

// Second derivatives of activations, times a factor.
Tensor gelu_double_backward(const Tensor& factor, const Tensor& self, std::string_view approximate);
Tensor softplus_double_backward(const Tensor& factor, const Tensor& self, const Scalar& beta, const Scalar& threshold);
Tensor silu_double_backward(const Tensor& factor, const Tensor& self);
Tensor mish_double_backward(const Tensor& factor, const Tensor& self);
Tensor elu_double_backward(const Tensor& factor, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                           const Tensor& self);
Tensor hardswish_double_backward(const Tensor& factor, const Tensor& self);
Tensor prelu_composite(const Tensor& self, const Tensor& weight);
Tensor dropout_backward(const Tensor& grad, const Tensor& kept, double p, std::optional<bool> train);

}  // namespace undertow::core::ops
