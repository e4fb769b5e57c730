// moments.cpp: derivatives of variances and standard deviations.
// build: small
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
// n - correction, where n is the number of elements per output.
double freedom(const Tensor& self, const std::optional<IntSpan>& dim, const std::optional<Scalar>& correction) {
  uint64_t mask = dim_mask(dim.value_or(IntSpan()), self.dim());
  double n = 1;
  for (int64_t d = 0; d < self.dim(); d++)
    if (mask >> d & 1) n *= static_cast<double>(self.size(d));
  return n - (correction ? correction->to_double() : 1);
}
// t, with zeros where r is zero.
Tensor zero_where_zero(const Tensor& t, const Tensor& r) {
  if (is_dispatched_whole(t)) return masked_fill_(t, eq(r, Scalar(0)), Scalar(0));  // torch's operator; t is new
  return masked_fill(t, eq(r, Scalar(0)), Scalar(0));
}
// self - mean(self)
Tensor centred(const Tensor& self, const std::optional<IntSpan>& dim) {
  return self - mean(self, dim, true, std::nullopt);
}
}  // namespace

// var = sum(|x - m|^2) / f, so d var / dx = 2 (x - m) / f.
Tensor var_backward(const Tensor& grad, const Tensor& self, const std::optional<IntSpan>& dim,
                    const std::optional<Scalar>& correction, bool keepdim) {
  Tensor g = restore_dims(grad, self.dim(), dim, keepdim);
  return (g * Scalar(2.0 / freedom(self, dim, correction))) * centred(self, dim);
}
Tensor var_jvp(const Tensor& self_t, const Tensor& self, const std::optional<IntSpan>& dim,
               const std::optional<Scalar>& correction, bool keepdim) {
  Tensor parts = real(conj(self_t) * centred(self, dim));
  return sum(parts, dim, keepdim, std::nullopt) * Scalar(2.0 / freedom(self, dim, correction));
}

// std = sqrt(var), so the gradient is var's divided by 2 std; zero where std is zero (a constant input), as in torch.
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const std::optional<IntSpan>& dim,
                    const std::optional<Scalar>& correction, bool keepdim) {
  return var_backward(zero_where_zero(grad / (result * Scalar(2)), result), self, dim, correction, keepdim);
}
Tensor std_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, const std::optional<IntSpan>& dim,
               const std::optional<Scalar>& correction, bool keepdim) {
  return zero_where_zero(var_jvp(self_t, self, dim, correction, keepdim) / (result * Scalar(2)), result);
}

Tensor var_mean_backward(std::span<Tensor> grads, const Tensor& self, const std::optional<IntSpan>& dim,
                         const std::optional<Scalar>& correction, bool keepdim) {
  Tensor out = grads[0].defined() ? var_backward(grads[0], self, dim, correction, keepdim) : Tensor();
  return grads[1].defined() ? self_t_plus(out, mean_backward(grads[1], self.sizes(), self.numel(), dim, keepdim)) : out;
}
Tensor std_mean_backward(std::span<Tensor> grads, const Tensor& self, const Tensor& std,
                         const std::optional<IntSpan>& dim, const std::optional<Scalar>& correction, bool keepdim) {
  Tensor out = grads[0].defined() ? std_backward(grads[0], self, std, dim, correction, keepdim) : Tensor();
  return grads[1].defined() ? self_t_plus(out, mean_backward(grads[1], self.sizes(), self.numel(), dim, keepdim)) : out;
}

}  // namespace undertow::core::ops
