// utils.cpp: nn::utils. The reference is undertow/nn/utils/clip_grad.py.
// build: small
#include <undertow/nn/utils.h>

#include <cmath>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>

namespace undertow::nn::utils {

namespace ops = core::ops;

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  NoGradGuard no_grad;
  std::vector<core::Tensor> norms;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) norms.push_back(ops::linalg_vector_norm(p.grad(), Scalar(norm_type)));
  if (norms.empty()) return 0;
  core::Tensor total = ops::linalg_vector_norm(ops::stack(norms), Scalar(norm_type));
  double value = ops::item(total).to_double();
  UT_CHECK(!error_if_nonfinite || std::isfinite(value), "The total norm of order ", norm_type,
           " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale "
           "the gradients by the non-finite norm anyway, set `error_if_nonfinite=false`");
  core::Tensor factor = ops::mul(ops::reciprocal(ops::add(total, Scalar(1e-6))), Scalar(max_norm));
  factor = ops::clamp(factor, std::nullopt, core::Scalar(1.0));
  for (const Tensor& p : parameters)
    if (p.grad().defined()) ops::mul_(p.grad(), factor);
  return value;
}
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{std::move(parameter)}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  NoGradGuard no_grad;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) ops::clamp_(p.grad(), core::Scalar(-clip_value), core::Scalar(clip_value));
}
void clip_grad_value_(Tensor parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{std::move(parameter)}, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<core::Tensor> flat;
  for (const Tensor& p : parameters) flat.push_back(ops::view(p, core::Dims{-1}));
  return ops::cat(flat);
}
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  int64_t at = 0;
  for (const Tensor& p : parameters) {
    p.set_data(ops::view_as(ops::narrow(vector.detach(), 0, at, p.numel()), p));
    at += p.numel();
  }
}

}  // namespace undertow::nn::utils
