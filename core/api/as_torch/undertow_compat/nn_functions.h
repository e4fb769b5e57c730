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

inline Tensor& dropout_(Tensor& self, double p, bool train) {
  nn::functional::dropout(self, nn::functional::DropoutFuncOptions().p(p).training(train).inplace(true));
  return self;
}
inline Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  return nn::functional::alpha_dropout(input, nn::functional::AlphaDropoutFuncOptions().p(p).training(train));
}
inline Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  return nn::functional::feature_alpha_dropout(input,
                                               nn::functional::FeatureAlphaDropoutFuncOptions().p(p).training(train));
}
inline Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  UT_CHECK(groups > 0 && self.size(1) % groups == 0, "channel_shuffle: the number of channels (", self.size(1),
           ") must be divisible by groups (", groups, ")");
  return self.unflatten(1, {groups, self.size(1) / groups}).transpose(1, 2).flatten(1, 2).contiguous();
}
inline Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0,
                           std::string_view padding_side = "right") {
  return nn::utils::rnn::pad_sequence(sequences, batch_first, padding_value, padding_side);
}
inline Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode = "constant",
                  optional<double> value = nullopt) {
  nn::functional::PadFuncOptions options(pad.vec());
  options.value(value.value_or(0));
  if (mode == "reflect") options.mode(kReflect);
  if (mode == "replicate") options.mode(kReplicate);
  if (mode == "circular") options.mode(kCircular);
  UT_CHECK_AS(NotImplemented, mode == "constant" || !std::holds_alternative<enumtype::kConstant>(options.mode()),
              "Unrecognised padding mode ", mode);
  return nn::functional::pad(self, options);
}
inline Tensor flatten_dense_tensors(TensorList tensors) {
  variable_list flat;
  for (const Tensor& t : tensors) flat.push_back(t.contiguous().view({-1}));
  return cat(flat);
}
inline variable_list unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  variable_list out;
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    out.push_back(flat.narrow(0, start, t.numel()).view(t.sizes()));
    start += t.numel();
  }
  return out;
}
namespace utils {
using undertow::flatten_dense_tensors;
using undertow::unflatten_dense_tensors;
}  // namespace utils

// Losses with a number as reduction.
namespace detail {
template <class Options>
Options reduced_by(Options options, int64_t reduction) {
  if (reduction == Reduction::None) options.reduction(kNone);
  if (reduction == Reduction::Sum) options.reduction(kSum);
  return options;
}
}  // namespace detail
inline Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin = 1,
                                   int64_t reduction = Reduction::Mean) {
  using Options = nn::functional::HingeEmbeddingLossFuncOptions;
  return nn::functional::hinge_embedding_loss(self, target, detail::reduced_by(Options().margin(margin), reduction));
}
inline Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                                    int64_t reduction = Reduction::Mean) {
  using Options = nn::functional::CosineEmbeddingLossFuncOptions;
  return nn::functional::cosine_embedding_loss(input1, input2, target,
                                               detail::reduced_by(Options().margin(margin), reduction));
}
inline Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                                  int64_t reduction = Reduction::Mean) {
  using Options = nn::functional::MarginRankingLossFuncOptions;
  return nn::functional::margin_ranking_loss(input1, input2, target,
                                             detail::reduced_by(Options().margin(margin), reduction));
}
inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                  double margin = 1, double p = 2, double eps = 1e-6, bool swap = false,
                                  int64_t reduction = Reduction::Mean) {
  using Options = nn::functional::TripletMarginLossFuncOptions;
  return nn::functional::triplet_margin_loss(
      anchor, positive, negative, detail::reduced_by(Options().margin(margin).p(p).eps(eps).swap(swap), reduction));
}
inline Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                               int64_t reduction) {
  using Options = nn::functional::PoissonNLLLossFuncOptions;
  return nn::functional::poisson_nll_loss(
      input, target, detail::reduced_by(Options().log_input(log_input).full(full).eps(eps), reduction));
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
  using Options = nn::functional::CTCLossFuncOptions;
  return nn::functional::ctc_loss(log_probs, targets, input_lengths, target_lengths,
                                  detail::reduced_by(Options().blank(blank).zero_infinity(zero_infinity), reduction));
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
inline std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntArrayRef output_size) {
  return nn::functional::adaptive_max_pool1d_with_indices(self, ExpandingArrayWithOptionalElem<1>(output_size[0]));
}
UT_POOLING(1)
UT_POOLING(2)
UT_POOLING(3)
#undef UT_POOLING

}  // namespace undertow
