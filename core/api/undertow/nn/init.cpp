// init.cpp: nn::init. The reference is undertow/nn/init.py: the same formulas in the same order.
// build: small
#include <undertow/nn/init.h>

#include <algorithm>
#include <cmath>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>

namespace undertow::nn::init {

namespace ops = core::ops;

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity)) return std::sqrt(2.0 / (1 + std::pow(param, 2)));
  return 1;
}

std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  UT_CHECK_VALUE(tensor.dim() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); d++) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard no_grad;
  return ops::uniform_(tensor, low, high);
}
Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard no_grad;
  return ops::normal_(tensor, mean, std);
}
Tensor constant_(Tensor tensor, const Scalar& value) {
  NoGradGuard no_grad;
  return ops::fill_(tensor, value);
}
Tensor ones_(Tensor tensor) { return constant_(tensor, 1.0); }
Tensor zeros_(Tensor tensor) {
  NoGradGuard no_grad;
  return ops::zero_(tensor);
}
Tensor eye_(Tensor matrix) {
  UT_CHECK_VALUE(matrix.dim() == 2, "Only tensors with 2 dimensions are supported");
  NoGradGuard no_grad;
  return ops::copy_(matrix, ops::eye(matrix.size(0), matrix.size(1), matrix.dtype()));
}
Tensor dirac_(Tensor tensor, int64_t groups) {
  NoGradGuard no_grad;
  UT_CHECK_VALUE(tensor.dim() >= 3 && tensor.dim() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported");
  UT_CHECK_VALUE(tensor.size(0) % groups == 0, "dim 0 must be divisible by groups");
  int64_t per_group = tensor.size(0) / groups;
  ops::zero_(tensor);
  for (int64_t g = 0; g < groups; g++) {
    for (int64_t d = 0; d < std::min(per_group, tensor.size(1)); d++) {
      Tensor centre = tensor[g * per_group + d][d];
      while (centre.dim() > 0) centre = centre[centre.size(0) / 2];
      ops::fill_(centre, Scalar(1));
    }
  }
  return tensor;
}

Tensor orthogonal_(Tensor tensor, double gain) {
  UT_CHECK_VALUE(tensor.dim() >= 2, "Only tensors with 2 or more dimensions are supported");
  if (tensor.numel() == 0) return tensor;
  NoGradGuard no_grad;
  int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  core::Dims size{rows, columns};
  Tensor flat = ops::normal_(ops::new_empty(tensor, size), 0, 1);
  if (rows < columns) flat = ops::t(flat);
  auto [q, r] = ops::linalg_qr(flat);
  Tensor result = ops::mul(q, ops::sign(ops::diag(r, 0)));
  if (rows < columns) result = ops::t(result);
  ops::copy_(ops::view_as(tensor, result), result);
  return ops::mul_(tensor, Scalar(gain));
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  UT_CHECK_VALUE(tensor.dim() == 2, "Only tensors with 2 dimensions are supported");
  NoGradGuard no_grad;
  int64_t rows = tensor.size(0), zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  ops::normal_(tensor, 0, std);
  for (int64_t column = 0; column < tensor.size(1); column++) {
    Tensor chosen = randperm(rows).slice(0, 0, zeros).to(tensor.device());
    ops::index_fill_(ops::select(tensor, 1, column), 0, chosen, Scalar(0));
  }
  return tensor;
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b) {
  auto below = [](double x) { return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0; };
  if (mean < a - 2 * std || mean > b + 2 * std)
    core::warn(
        "mean is more than 2 std from [a, b] in nn::init::trunc_normal_. The distribution of values may be "
        "incorrect.");
  NoGradGuard no_grad;
  if (below((b - mean) / std) - below((a - mean) / std) >
      0.3) {  // most samples are inside: resample those that are not
    Tensor result = ops::normal_(tensor, mean, std);
    while (true) {
      Tensor outside = (result < a).logical_or(result > b);
      if (!ops::item(ops::any(outside)).to<bool>()) break;
      result = ops::where(outside, ops::normal_(ops::empty_like(result), mean, std), result);
    }
    return result.is_same(tensor) ? tensor : Tensor(ops::copy_(tensor, result));
  }
  // Few would be inside: sample uniformly, and accept with probability density / peak density.
  double peak = -0.5 * std::pow((std::max(a, std::min(mean, b)) - mean) / std, 2);
  Tensor result = ops::uniform_(tensor, a, b), candidates = result;
  Tensor pending = ops::ones_like(tensor, core::DType::Bool);
  while (true) {
    Tensor heights = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak);
    Tensor rejected = ops::gt(ops::log_(ops::uniform_(ops::empty_like(tensor))), heights);
    pending = ops::where(pending, rejected, pending);
    if (!ops::item(ops::any(pending)).to<bool>())
      return result.is_same(tensor) ? tensor : Tensor(ops::copy_(tensor, result));
    candidates = ops::uniform_(ops::empty_like(tensor), a, b);
    result = ops::where(pending, candidates, result);
  }
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  double bound = std::sqrt(3.0) * gain * std::sqrt(2.0 / static_cast<double>(fan_in + fan_out));
  return uniform_(tensor, -bound, bound);
}
Tensor xavier_normal_(Tensor tensor, double gain) {
  auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  return normal_(tensor, 0, gain * std::sqrt(2.0 / static_cast<double>(fan_in + fan_out)));
}

namespace {
double kaiming_std(const Tensor& tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  int64_t fan = std::holds_alternative<enumtype::kFanIn>(mode) ? fan_in : fan_out;
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan));
}
}  // namespace

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(tensor, -bound, bound);
}
Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  return normal_(tensor, 0, kaiming_std(tensor, a, mode, nonlinearity));
}

}  // namespace undertow::nn::init
