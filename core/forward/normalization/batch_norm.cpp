// batch_norm.cpp: batch and group normalisation: statistics over images, one weight per channel.
// build: small
#include "core/forward/normalization/normalization.h"
#include "core/forward/reduce/fold.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_normalization.h"

namespace undertow::core::fwd {

namespace {

constexpr int64_t kGrain = 16384;  // elements in a chunk

struct Images : NormImages {
  bool reordered;       // channels are innermost although there are inner dimensions
  MemoryFormat format;  // then: that of pictures or of volumes
};

Images images_of(const Tensor& input) {
  Images s{
      {input.dim() ? input.size(0) : 0, input.dim() > 1 ? input.size(1) : 0, 1, false}, false, suggested_format(input)};
  for (int64_t d = 2; d < input.dim(); d++) s.inner *= input.size(d);
  s.reordered = s.inner > 1 && s.format != MemoryFormat::Contiguous && is_in_format(input, s.format);
  s.rows = s.inner == 1 || s.reordered;
  return s;
}
Tensor laid_out(const Tensor& t, DType wide, const Images& s) {
  if (!s.reordered) return widened(t, wide);
  Tensor w = to_dtype(t, wide);
  if (is_in_format(w, s.format)) return w;
  Tensor copy = empty_in_format(w, wide, s.format);
  copy_into(copy, w);
  return copy;
}
Tensor like_images(const Tensor& t, DType wide, const Images& s) {
  return s.reordered ? empty_in_format(t, wide, s.format) : empty_on_device_of(t, t.sizes(), wide);
}

DType elements_dtype(const Tensor& input, DType wide) { return takes_half(input) ? input.dtype() : wide; }

void check_length(const Tensor& t, const char* name, int64_t channels) {
  UT_CHECK(!t.defined() || t.numel() == channels, name, " should contain ", channels, " elements not ", t.numel());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     bool training, double momentum, double eps) {
  Images s = images_of(input);
  check_length(running_mean, "running_mean", s.channels);
  UT_CHECK(training || running_mean.defined(), "running_mean must be defined in evaluation mode");
  check_length(running_var, "running_var", s.channels);
  UT_CHECK(training || running_var.defined(), "running_var must be defined in evaluation mode");
  check_length(weight, "weight", s.channels);
  check_length(bias, "bias", s.channels);
  NormalizationTypes t =
      normalization_types(input, {&weight, &bias, &running_mean, &running_var}, "batch_norm", takes_half(input));
  const int64_t length = training ? s.channels : 0;
  const DType elements = elements_dtype(input, t.wide);
  Tensor x = laid_out(input, elements, s), w = parameter_for(input, weight, t.wide),
         b = parameter_for(input, bias, t.wide), out = like_images(input, elements, s);
  Tensor mean = empty_on_device_of(input, Dims{length}, t.wide), rstd = empty_on_device_of(input, Dims{length}, t.wide);
  const NormalizationKernels& kernels = *backend_of(input).normalization;
  if (training)
    kernels.batch_norm(out, mean, rstd, x, w, b, running_mean, running_var, s, t.stats, momentum, eps);
  else
    kernels.batch_norm_evaluate(out, x, w, b, parameter_for(input, running_mean, t.wide),
                                parameter_for(input, running_var, t.wide), s, eps);
  return {to_dtype(out, input.dtype()), to_dtype(mean, t.stats), to_dtype(rstd, t.stats)};
}

std::tuple<Tensor, Tensor, Tensor> _batch_norm_backward(const Tensor& dy, const Tensor& input, const Tensor& weight,
                                                        const Tensor& running_mean, const Tensor& running_var,
                                                        const Tensor& save_mean, const Tensor& save_rstd, bool training,
                                                        double eps, int64_t mask) {
  Images s = images_of(input);
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  const DType elements = elements_dtype(input, wide),
              own = weight.defined() ? weight.dtype()
                    : training       ? save_mean.dtype()
                                     : running_mean.dtype(),
              sums = takes_half(input) ? own : wide;
  Tensor to = mask & 1 ? like_images(input, elements, s) : Tensor();
  Tensor weight_grad = empty_on_device_of(input, Dims{s.channels}, sums),
         bias_grad = empty_on_device_of(input, Dims{s.channels}, sums);
  backend_of(input).normalization->batch_norm_backward(
      to, weight_grad, bias_grad, laid_out(dy, elements, s), laid_out(input, elements, s),
      parameter_for(input, weight, wide), parameter_for(input, training ? save_mean : running_mean, wide),
      parameter_for(input, training ? save_rstd : running_var, wide), s, training, training || mask & 6, eps);
  auto finished = [&](const Tensor& t, int bit, DType dtype) {
    return mask & bit ? to_dtype(t, dtype) : empty_unwanted(input);
  };
  return {finished(to, 1, input.dtype()), finished(weight_grad, 2, own), finished(bias_grad, 4, own)};
}

namespace {
NormGroups groups_of(const Tensor& input, int64_t batch, int64_t channels, int64_t inner, int64_t groups) {
  UT_CHECK(groups > 0 && channels % groups == 0,
           "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           ShapeText{input.sizes()}, " and num_groups=", groups);
  UT_CHECK(batch * channels * inner == input.numel(), "native_group_norm: ", batch, " x ", channels, " x ", inner,
           " does not match the ", input.numel(), " elements of the input");
  return {batch, channels, inner, groups, channels / groups};
}
}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  NormGroups s = groups_of(input, N, C, HxW, group);
  UT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == C),
           "Expected weight to be a vector of size equal to the number of channels in input, but got weight of shape ",
           ShapeText{weight.sizes()}, " and input of shape ", ShapeText{input.sizes()});
  UT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.numel() == C),
           "Expected bias to be a vector of size equal to the number of channels in input, but got bias of shape ",
           ShapeText{bias.sizes()}, " and input of shape ", ShapeText{input.sizes()});
  NormalizationTypes t = normalization_types(input, {&weight, &bias}, "GroupNormKernelImpl");
  Tensor out = empty_on_device_of(input, input.sizes(), t.wide),
         mean = empty_on_device_of(input, Dims{N, group}, t.wide),
         rstd = empty_on_device_of(input, Dims{N, group}, t.wide);
  backend_of(input).normalization->group_norm(out, mean, rstd, widened(input, t.wide), widened(weight, t.wide),
                                              widened(bias, t.wide), s, eps);
  Tensor result = to_dtype(out, input.dtype());
  if (input.dim() == 4 && suggested_format(input) == MemoryFormat::ChannelsLast && !input.is_contiguous()) {
    Tensor reordered = empty_in_format(result, result.dtype(), MemoryFormat::ChannelsLast);
    copy_into(reordered, result);
    result = reordered;
  }
  return {result, to_dtype(mean, t.stats), to_dtype(rstd, t.stats)};
}

std::tuple<Tensor, Tensor, Tensor> _group_norm_backward(const Tensor& dy, const Tensor& input, const Tensor& mean,
                                                        const Tensor& rstd, const Tensor& weight, int64_t N, int64_t C,
                                                        int64_t HxW, int64_t group, double, int64_t mask) {
  NormGroups s = groups_of(input, N, C, HxW, group);
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  Tensor g = widened(dy, wide), x = widened(input, wide), w = widened(weight, wide), m = widened(mean, wide),
         r = widened(rstd, wide);
  Tensor to = mask & 1 ? empty_on_device_of(input, input.sizes(), wide) : Tensor(), weight_grad, bias_grad;
  const NormalizationKernels& kernels = *backend_of(input).normalization;
  if (s.inner == 1) {
    // Each group is a row of layer normalisation with its own weights. Chunks of the batch accumulate their
    // contributions to weight and bias, which are added in order.
    int64_t step = std::max<int64_t>(std::max<int64_t>(1, kGrain / std::max<int64_t>(1, C)), (N + 31) / 32);
    Dims table{(N + step - 1) / step, C};
    Tensor dw = empty_on_device_of(input, table, wide), db = empty_on_device_of(input, table, wide);
    kernels.group_norm_lines_backward(to, dw, db, g, x, m, r, w, s, step);
    weight_grad = fold(Fold::Sum, dw, 1, false, "group_norm_backward");
    bias_grad = fold(Fold::Sum, db, 1, false, "group_norm_backward");
  } else {
    weight_grad = empty_on_device_of(input, Dims{C}, wide);
    bias_grad = empty_on_device_of(input, Dims{C}, wide);
    kernels.group_norm_backward(to, weight_grad, bias_grad, g, x, m, r, w, s);
  }
  auto finished = [&](const Tensor& t, int bit, DType dtype) {
    return mask & bit ? to_dtype(t, dtype) : empty_unwanted(input);
  };
  DType own = weight.defined() ? weight.dtype() : mean.dtype();
  return {finished(to, 1, input.dtype()), finished(weight_grad, 2, own), finished(bias_grad, 4, own)};
}

}  // namespace undertow::core::fwd
