// activation.cpp: second derivatives of activation functions, and prelu's composition. Declared in pointwise.h.
// build: small
#include "core/autograd/formulas/formulas.h"

namespace undertow::core::ops {

Tensor gelu_double_backward(const Tensor& factor, const Tensor& self, std::string_view approximate) {
  if (approximate == "none") {
    // (x Phi)'' = (2 - x^2) phi
    return factor * ((2 - self * self) * exp(-0.5 * self * self) * 0.3989422804014327);
  }
  constexpr double kBeta = 0.7978845608028654, kKappa = 0.044715;
  Tensor square = self * self;
  Tensor t = tanh(kBeta * (self + kKappa * square * self)), slope = kBeta * (1 + 3 * kKappa * square);
  // x/2 (1 + t) with t' = (1 - t^2) u', t'' = (1 - t^2)(u'' - 2 t u'^2)
  Tensor sech = 1 - t * t;
  return factor * (sech * (slope + 0.5 * self * (6 * kBeta * kKappa * self - 2 * t * slope * slope)));
}
Tensor softplus_double_backward(const Tensor& factor, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  Tensor s = sigmoid(self * beta);
  return drop_where(gt(self * beta, threshold), factor * (s * (1 - s) * beta));
}
Tensor silu_double_backward(const Tensor& factor, const Tensor& self) {
  Tensor s = sigmoid(self);
  return factor * (s * (1 - s) * (2 + self * (1 - 2 * s)));
}
Tensor mish_double_backward(const Tensor& factor, const Tensor& self) {
  Tensor s = sigmoid(self), t = tanh(softplus(self)), slope = s * (1 - t * t);  // slope = t'
  return factor * (2 * slope + self * (slope * (1 - s) - 2 * t * s * slope));
}
Tensor elu_double_backward(const Tensor& factor, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                           const Tensor& self) {
  double inner = input_scale.to_double();
  return keep_where(lt(self, 0),
                    factor * (exp(self * inner) * (inner * inner * alpha.to_double() * scale.to_double())));
}
Tensor hardswish_double_backward(const Tensor& factor, const Tensor& self) {
  return keep_where(logical_and(gt(self, -3), lt(self, 3)), factor / 3);
}

Tensor prelu_composite(const Tensor& self, const Tensor& weight) {
  UT_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ", long_name(self.dtype()),
           " and ", long_name(weight.dtype()));
  if (weight.numel() != 1) {
    UT_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
    int64_t channels = self.dim() > 1 ? self.size(1) : 1;
    UT_CHECK(channels == weight.numel(),
             "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
             " and channel size = ", channels, ".");
  }
  UT_CHECK(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (self.dim() < 2)
    return prelu_kernel(
        self, weight.dim() == self.dim() ? weight : reshape(weight, self.dim() ? IntSpan(weight.sizes()) : IntSpan()));
  Dims shape(static_cast<size_t>(self.dim()), 1);
  shape[1] = weight.numel();
  return prelu_kernel(self, reshape(weight, shape));
}

// The elements that were kept were divided by 1 - p.
Tensor dropout_backward(const Tensor& grad, const Tensor& kept, double p, std::optional<bool> train) {
  return grad * kept * Scalar(train.value_or(true) && p < 1 ? 1 / (1 - p) : 1.0);
}

}  // namespace undertow::core::ops
