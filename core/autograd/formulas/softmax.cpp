// softmax.cpp: derivatives of softmax and log_softmax, first and second.
#include "core/autograd/formulas/formulas.h"

namespace undertow::core::ops {

namespace {
Tensor along(const Tensor& t, int64_t dim) { return sum(t, IntSpan(&dim, 1), true, std::nullopt); }
}  // namespace

// ds = s * (dx - sum(s * dx))
Tensor softmax_jvp(const Tensor& self_t, const Tensor& result, int64_t dim) {
  Tensor t = to_dtype(self_t, result.dtype()), weighted = t * result;
  return weighted - result * along(weighted, dim);
}
// dl = dx - sum(exp(l) * dx)
Tensor log_softmax_jvp(const Tensor& self_t, const Tensor& result, int64_t dim) {
  return minus_weighted_sum(to_dtype(self_t, result.dtype()), result, dim);
}
Tensor minus_weighted_sum(const Tensor& grad, const Tensor& output, int64_t dim) {
  return grad - along(grad * exp(output), dim);
}

// f(g, s) = s * (g - sum(g * s)). Its derivative with respect to s, applied to v: v * (g - sum(g * s)) - g * sum(v *
// s).
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return grad * (grad_output - along(output * grad_output, dim)) - grad_output * along(output * grad, dim);
}
// f(g, l) = g - exp(l) * sum(g)
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return -(grad * exp(output)) * along(grad_output, dim);
}

Tensor softmax_backward_jvp(const Tensor& grad_t, const Tensor& output_t, const Tensor& grad, const Tensor& output,
                            int64_t dim, DType dtype) {
  Tensor from_grad = grad_t.defined() ? _softmax_backward_data(grad_t, output, dim, dtype) : Tensor();
  if (!output_t.defined()) return from_grad;
  Tensor moved = output_t * (grad - along(grad * output, dim)) - output * along(grad * output_t, dim);
  return self_t_plus(from_grad, moved);
}
Tensor log_softmax_backward_jvp(const Tensor& grad_t, const Tensor& output_t, const Tensor& grad, const Tensor& output,
                                int64_t dim, DType dtype) {
  Tensor from_grad = grad_t.defined() ? _log_softmax_backward_data(grad_t, output, dim, dtype) : Tensor();
  if (!output_t.defined()) return from_grad;
  return self_t_plus(from_grad, -(exp(output) * output_t * along(grad, dim)));
}

}  // namespace undertow::core::ops
