// nn_functions.h: free functions of torch:: with positional arguments that are functions of torch::nn::functional here.
#pragma once
#include <undertow/functions.h>
#include <undertow/nn.h>

namespace undertow {

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

inline Tensor dropout(const Tensor& input, double p, bool train) {
  return nn::functional::dropout(input, nn::functional::DropoutFuncOptions().p(p).training(train));
}
inline Tensor feature_dropout(const Tensor& input, double p, bool train) {
  return nn::functional::dropout2d(input, nn::functional::Dropout2dFuncOptions().p(p).training(train));
}
inline Tensor nll_loss(const Tensor& self, const Tensor& target, const optional<Tensor>& weight = {},
                       int64_t reduction = Reduction::Mean, int64_t ignore_index = -100) {
  return nll_loss_nd(self, target, weight, reduction, ignore_index);
}
inline Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean,
                     bool log_target = false) {
  Tensor each =
      nn::functional::kl_div(self, target, nn::functional::KLDivFuncOptions().reduction(kNone).log_target(log_target));
  return reduction == Reduction::Mean ? each.mean() : reduction == Reduction::Sum ? each.sum() : each;
}
inline Tensor glu(const Tensor& self, int64_t dim = -1) { return nn::functional::glu(self, dim); }
inline Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  return nn::functional::pixel_shuffle(self, upscale_factor);
}
inline Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  return nn::functional::pixel_unshuffle(self, downscale_factor);
}

inline Tensor log_sigmoid(const Tensor& self) { return nn::functional::logsigmoid(self); }
inline Tensor& elu_(Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1) {
  core::ops::elu_(self, alpha, scale, input_scale);
  return self;
}
inline Tensor& silu_(Tensor& self) {
  core::ops::silu_(self);
  return self;
}
// The lengths of inputs and targets are lists or tensors.
template <class Lengths>
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Lengths& input_lengths,
                const Lengths& target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                bool zero_infinity = false) {
  nn::functional::CTCLossFuncOptions options;
  options.blank(blank).zero_infinity(zero_infinity);
  if (reduction == Reduction::None) options.reduction(kNone);
  if (reduction == Reduction::Sum) options.reduction(kSum);
  return nn::functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

// Images. The numbers of the modes are torch's: bilinear, nearest, bicubic; zeros, border, reflection.
inline Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                           bool align_corners) {
  using namespace nn::functional::detail;
  return sampled(input, grid,
                 {static_cast<Sampling>(interpolation_mode), static_cast<SamplePadding>(padding_mode), align_corners});
}
inline Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  return nn::functional::affine_grid(theta, size, align_corners);
}
#define UT_UPSAMPLE(name, Kernel)                                                                 \
  inline Tensor upsample_##name(const Tensor& self, IntArrayRef output_size, bool align_corners,  \
                                optional<double> scales_h = {}, optional<double> scales_w = {}) { \
    return _resample(self, output_size, Kernel, align_corners, {}, scales_h, scales_w);           \
  }
UT_UPSAMPLE(bilinear2d, "Bilinear2D")
UT_UPSAMPLE(bicubic2d, "Bicubic2D")
#undef UT_UPSAMPLE
inline Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                                optional<double> scales = {}) {
  return _resample(self, output_size, "Linear1D", align_corners, {}, {}, scales);
}
inline Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                                   optional<double> scales_d = {}, optional<double> scales_h = {},
                                   optional<double> scales_w = {}) {
  return _resample(self, output_size, "Trilinear3D", align_corners, scales_d, scales_h, scales_w);
}
inline Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, optional<double> scales = {}) {
  return _resample(self, output_size, "Nearest1D", false, {}, {}, scales);
}
inline Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, optional<double> scales_h = {},
                                 optional<double> scales_w = {}) {
  return _resample(self, output_size, "Nearest2D", false, {}, scales_h, scales_w);
}
inline Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, optional<double> scales_d = {},
                                 optional<double> scales_h = {}, optional<double> scales_w = {}) {
  return _resample(self, output_size, "Nearest3D", false, scales_d, scales_h, scales_w);
}

// Pooling. An empty stride is the kernel's size.
#define UT_POOLING(D)                                                                                             \
  inline Tensor max_pool##D##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},              \
                               IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false) {       \
    using Size = ExpandingArray<D>;                                                                               \
    return nn::functional::max_pool##D##d(self, nn::functional::MaxPool##D##dFuncOptions(Size(kernel_size.vec())) \
                                                    .stride(Size((stride.empty() ? kernel_size : stride).vec()))  \
                                                    .padding(Size(padding.vec()))                                 \
                                                    .dilation(Size(dilation.vec()))                               \
                                                    .ceil_mode(ceil_mode));                                       \
  }                                                                                                               \
  inline Tensor avg_pool##D##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},              \
                               IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true) {  \
    using Size = ExpandingArray<D>;                                                                               \
    return nn::functional::avg_pool##D##d(self, nn::functional::AvgPool##D##dFuncOptions(Size(kernel_size.vec())) \
                                                    .stride(Size((stride.empty() ? kernel_size : stride).vec()))  \
                                                    .padding(Size(padding.vec()))                                 \
                                                    .ceil_mode(ceil_mode)                                         \
                                                    .count_include_pad(count_include_pad));                       \
  }                                                                                                               \
  inline Tensor adaptive_avg_pool##D##d(const Tensor& self, IntArrayRef output_size) {                            \
    using Sizes = std::vector<optional<int64_t>>;                                                                 \
    return nn::functional::adaptive_avg_pool##D##d(                                                               \
        self, ExpandingArrayWithOptionalElem<D>(Sizes(output_size.begin(), output_size.end())));                  \
  }
UT_POOLING(1)
UT_POOLING(2)
UT_POOLING(3)
#undef UT_POOLING

}  // namespace undertow
