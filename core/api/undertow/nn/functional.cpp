// functional.cpp: nn::functional, except losses and attention. The reference is undertow/nn/functional.py: the same
// operators in the same order, so that results are equal bit for bit, random numbers included.
// build: small
#include <undertow/nn/functional.h>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>

#include <cmath>

namespace undertow::nn::functional {

namespace ops = core::ops;

// -- activations

Tensor relu(const Tensor& input, const ReLUFuncOptions& o) {
  return o.inplace() ? ops::relu_(input) : ops::relu(input);
}
Tensor relu6(const Tensor& input, const ReLU6FuncOptions& o) {
  return o.inplace() ? ops::relu6_(input) : ops::relu6(input);
}
Tensor selu(const Tensor& input, const SELUFuncOptions& o) {
  return o.inplace() ? ops::selu_(input) : ops::selu(input);
}
Tensor elu(const Tensor& input, const ELUFuncOptions& o) {
  return o.inplace() ? ops::elu_functional_(input, o.alpha()) : ops::elu_functional(input, o.alpha());
}
Tensor celu(const Tensor& input, const CELUFuncOptions& o) {
  return o.inplace() ? ops::celu_(input, o.alpha()) : ops::celu(input, o.alpha());
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& o) { return ops::gelu(input, o.approximate()); }
Tensor glu(const Tensor& input, const GLUFuncOptions& o) {
  UT_CHECK(input.dim() > 0, "glu does not support 0-dimensional tensors");
  int64_t size = input.size(o.dim());
  UT_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", o.dim(), " is size ", size);
  std::vector<core::Tensor> halves = ops::chunk(input, 2, o.dim());
  return ops::mul(halves[0], ops::sigmoid(halves[1]));
}
Tensor silu(const Tensor& input) { return ops::silu(input); }
Tensor mish(const Tensor& input) { return ops::mish(input); }
Tensor sigmoid(const Tensor& input) { return ops::sigmoid(input); }
Tensor tanh(const Tensor& input) { return ops::tanh(input); }
Tensor hardsigmoid(const Tensor& input) { return ops::hardsigmoid(input); }
Tensor hardswish(const Tensor& input) { return ops::hardswish(input); }
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& o) { return ops::hardshrink(input, o.lambda()); }
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& o) {
  return o.inplace() ? ops::hardtanh_(input, o.min_val(), o.max_val()) : ops::hardtanh(input, o.min_val(), o.max_val());
}
Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& o) {
  return o.inplace() ? ops::leaky_relu_(input, o.negative_slope()) : ops::leaky_relu(input, o.negative_slope());
}
Tensor rrelu(const Tensor& input, const RReLUFuncOptions& o) {
  UT_CHECK(o.lower() <= o.upper(), "Lower bound should be less than or equal to the upper bound, but got ", o.lower(),
           " and ", o.upper());
  if (!o.training())
    return leaky_relu(input, LeakyReLUFuncOptions().negative_slope((o.lower() + o.upper()) / 2).inplace(o.inplace()));
  Tensor noise;
  {
    NoGradGuard no_grad;
    Tensor below = ops::le(input.detach(), Scalar(0));
    core::Dims count{ops::item(ops::sum(below)).to_int()};
    Tensor slopes = ops::new_empty(input, count, core::DType::Float64);
    ops::uniform_(slopes, o.lower(), o.upper());
    noise = ops::masked_scatter(ops::ones_like(input), below, ops::to(slopes, input.dtype()));
  }
  return o.inplace() ? ops::mul_(input, noise) : ops::mul(input, noise);
}
Tensor logsigmoid(const Tensor& input) { return ops::logsigmoid(input); }
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& o) {
  return ops::softplus(input, o.beta(), o.threshold());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& o) { return ops::softshrink(input, o.lambda()); }
Tensor softsign(const Tensor& input) { return ops::softsign(input); }
Tensor tanhshrink(const Tensor& input) { return ops::tanhshrink(input); }
Tensor threshold(const Tensor& input, const ThresholdFuncOptions& o) {
  return o.inplace() ? ops::threshold_(input, o.threshold(), o.value())
                     : ops::threshold(input, o.threshold(), o.value());
}
Tensor prelu(const Tensor& input, const Tensor& weight) { return ops::prelu(input, weight); }
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& o) { return ops::softmax(input, o.dim(), o.dtype()); }
Tensor softmin(const Tensor& input, const SoftminFuncOptions& o) {
  return ops::softmax(ops::neg(input), o.dim(), o.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& o) {
  return ops::log_softmax(input, o.dim(), o.dtype());
}

// -- linear maps, convolutions, embeddings

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return ops::linear(input, weight, bias);
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return ops::bilinear(input1, input2, weight, bias);
}

#define UT_CONV(D)                                                                                                  \
  Tensor conv##D##d(const Tensor& input, const Tensor& weight, const Conv##D##dFuncOptions& o) {                    \
    if (const auto* numbers = std::get_if<ExpandingArray<D>>(&o.padding()))                                         \
      return ops::conv##D##d(input, weight, o.bias(), *o.stride(), core::IntSpan(**numbers), *o.dilation(),         \
                             o.groups());                                                                           \
    std::string_view word = std::holds_alternative<enumtype::kSame>(o.padding()) ? "same" : "valid";                \
    return ops::conv##D##d(input, weight, o.bias(), *o.stride(), word, *o.dilation(), o.groups());                  \
  }                                                                                                                 \
  Tensor conv_transpose##D##d(const Tensor& input, const Tensor& weight, const ConvTranspose##D##dFuncOptions& o) { \
    return ops::conv_transpose##D##d(input, weight, o.bias(), *o.stride(), *o.padding(), *o.output_padding(),       \
                                     o.groups(), *o.dilation());                                                    \
  }
UT_CONV(1)
UT_CONV(2)
UT_CONV(3)
#undef UT_CONV

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& o) {
  int64_t padding_idx = -1;
  if (o.padding_idx()) {
    int64_t rows = weight.size(0);
    padding_idx = *o.padding_idx();
    UT_CHECK(-rows <= padding_idx && padding_idx < rows, "Padding_idx must be within num_embeddings: ", padding_idx,
             " of ", rows);
    if (padding_idx < 0) padding_idx += rows;
  }
  if (!o.max_norm()) return ops::embedding(weight, input, padding_idx, o.scale_grad_by_freq(), o.sparse());
  Tensor rows = ops::contiguous(input);
  {
    NoGradGuard no_grad;
    ops::embedding_renorm_(weight, rows, *o.max_norm(), o.norm_type());
  }
  return ops::embedding(weight, rows, padding_idx, o.scale_grad_by_freq(), o.sparse());
}
Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return ops::one_hot(tensor, num_classes); }

// -- dropout

namespace {

struct Drop {
  bool feature = false, alpha = false;
};
constexpr double kAlpha = 1.7580993408473766;  // minus the limit of selu for inputs far below zero

Tensor dropped(const Tensor& input, double p, bool training, bool inplace, Drop kind) {
  UT_CHECK_VALUE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  if (p == 0 || !training || input.numel() == 0) return input;
  auto times = [&](const core::Tensor& by) { return Tensor(inplace ? ops::mul_(input, by) : ops::mul(input, by)); };
  if (p == 1) return times(ops::zeros(core::Dims{}, input.dtype()));
  Tensor noise;
  if (kind.feature) {
    UT_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
    std::vector<int64_t> size(static_cast<size_t>(input.dim()), 1);
    size[0] = input.size(0);
    size[1] = input.size(1);
    noise = ops::new_empty(input, size);
  } else {
    noise = ops::empty_like(input);
  }
  ops::bernoulli_(noise, 1 - p);
  if (!kind.alpha) return times(ops::div_(noise, Scalar(1 - p)));
  double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Tensor b = ops::add(noise, Scalar(-1));
  ops::add_(ops::mul_(b, Scalar(kAlpha * a)), Scalar(kAlpha * a * p));
  ops::mul_(noise, Scalar(a));
  return ops::add_(times(noise), b);
}

// Whole channels; `lone`: the input has no batch dimension.
Tensor dropped_channels(const Tensor& input, const DropoutFuncOptions& o, bool lone) {
  if (!lone) return dropped(input, o.p(), o.training(), o.inplace(), {.feature = true});
  Tensor batch = o.inplace() ? ops::unsqueeze_(input, 0) : ops::unsqueeze(input, 0);
  Tensor result = dropped(batch, o.p(), o.training(), o.inplace(), {.feature = true});
  return o.inplace() ? ops::squeeze_(result, 0) : ops::squeeze(result, 0);
}

}  // namespace

Tensor dropout(const Tensor& input, const DropoutFuncOptions& o) {
  return dropped(input, o.p(), o.training(), o.inplace(), {});
}
Tensor dropout1d(const Tensor& input, const Dropout1dFuncOptions& o) {
  UT_CHECK(input.dim() == 2 || input.dim() == 3, "dropout1d: Expected 2D or 3D input, but received a ", input.dim(),
           "D input");
  return dropped_channels(input, o, input.dim() == 2);
}
Tensor dropout2d(const Tensor& input, const Dropout2dFuncOptions& o) { return dropped_channels(input, o, false); }
Tensor dropout3d(const Tensor& input, const Dropout3dFuncOptions& o) {
  return dropped_channels(input, o, input.dim() != 5);
}
Tensor alpha_dropout(const Tensor& input, const AlphaDropoutFuncOptions& o) {
  return dropped(input, o.p(), o.training(), o.inplace(), {.alpha = true});
}
Tensor feature_alpha_dropout(const Tensor& input, const FeatureAlphaDropoutFuncOptions& o) {
  return dropped(input, o.p(), o.training(), o.inplace(), {.feature = true, .alpha = true});
}

// -- normalization

namespace {
void check_several_values(int64_t count, const Tensor& input) {
  UT_CHECK_VALUE(count != 1, "Expected more than 1 value per channel when training, got input size ",
                 core::ShapeText{input.sizes()});
}
}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& o) {
  if (o.training())
    check_several_values(input.dim() > 1 ? input.numel() / std::max<int64_t>(input.size(1), 1) : 0, input);
  UT_CHECK_VALUE(o.training() ? o.eps() > 0 : o.eps() >= 0, "batch_norm eps must be positive, but got ", o.eps());
  return ops::batch_norm(input, o.weight(), o.bias(), running_mean, running_var, o.training(),
                         o.momentum().value_or(0.0), o.eps(), false);
}
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& o) {
  if (o.use_input_stats()) {
    int64_t points = 1;
    for (int64_t d = 2; d < input.dim(); d++) points *= input.size(d);
    UT_CHECK_VALUE(points != 1, "Expected more than 1 spatial element when training, got input size ",
                   core::ShapeText{input.sizes()});
  }
  return ops::instance_norm(input, o.weight(), o.bias(), o.running_mean(), o.running_var(), o.use_input_stats(),
                            o.momentum(), o.eps(), false);
}
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return ops::layer_norm(input, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& o) {
  UT_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim());
  check_several_values(o.num_groups() > 0 ? input.numel() / o.num_groups() : 0, input);
  return ops::group_norm(input, o.num_groups(), o.weight(), o.bias(), o.eps());
}
Tensor rms_norm(const Tensor& input, std::vector<int64_t> normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  return ops::rms_norm(input, normalized_shape, weight, eps);
}
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& o) {
  UT_CHECK_VALUE(input.dim() >= 3, "Expected 3D or higher dimensionality input (got ", input.dim(), " dimensions)");
  UT_CHECK(o.size() > 0, "kernel size should be greater than zero, but got ", o.size());
  if (input.numel() == 0) return input;
  auto zeros = [&](int64_t channels) {
    std::vector<int64_t> size = input.sizes().vec();
    size[1] = channels;
    return ops::new_zeros(input, size);
  };
  core::Tensor parts[] = {zeros(o.size() / 2), ops::mul(input, input), zeros((o.size() - 1) / 2)};
  Tensor total = ops::sum(ops::unfold(ops::cat(parts, 1), 1, o.size(), 1), core::IntSpan(core::Dims{-1}));
  total = ops::slice(total, 1, 0, input.size(1));
  Tensor mean = ops::div(total, Scalar(o.size()));
  return ops::div(input, ops::pow(ops::add(ops::mul(mean, Scalar(o.alpha())), Scalar(o.k())), Scalar(o.beta())));
}
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& o) {
  core::Dims dim{o.dim()};
  Tensor length = ops::norm(input, Scalar(o.p()), core::IntSpan(dim), true);
  Tensor denominator = ops::expand_as(ops::clamp_min(length, Scalar(o.eps())), input);
  if (!o.out()) return ops::div(input, denominator);
  Tensor out = *o.out();
  ops::div_out(out, input, denominator);
  return out;
}

// -- pooling: one-dimensional pooling is two-dimensional pooling over images of one row

namespace {

using Pair = std::tuple<core::Tensor, core::Tensor>;
using Ints = std::vector<int64_t>;

template <class Array>
Ints plane(const Array& one, int64_t other) {
  return {other, one[0]};
}
Pair without_row(Pair found) { return {ops::squeeze(std::get<0>(found), -2), ops::squeeze(std::get<1>(found), -2)}; }
Pair max1(const Tensor& input, const MaxPool1dFuncOptions& o) {
  return without_row(ops::max_pool2d_with_indices(ops::unsqueeze(input, -2), plane(o.kernel_size(), 1),
                                                  plane(o.stride(), 1), plane(o.padding(), 0), plane(o.dilation(), 1),
                                                  o.ceil_mode()));
}
Pair max2(const Tensor& input, const MaxPool2dFuncOptions& o) {
  return ops::max_pool2d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
Pair max3(const Tensor& input, const MaxPool3dFuncOptions& o) {
  return ops::max_pool3d_with_indices(input, *o.kernel_size(), *o.stride(), *o.padding(), *o.dilation(), o.ceil_mode());
}
template <size_t D>
Ints output_size(const Tensor& input, const AdaptivePoolOptions<D>& o) {
  Ints out(D);
  UT_CHECK(input.dim() > static_cast<int64_t>(D), "adaptive pooling: Expected ", D + 1, "D or ", D + 2,
           "D tensor, but got ", input.dim(), "D");
  for (size_t k = 0; k < D; k++) out[k] = o.output_size()[k].value_or(input.size(static_cast<int64_t>(k) - int64_t(D)));
  return out;
}
Tensor adaptive_mean(const Tensor& input, const Ints& size) {
  bool whole = true;
  for (int64_t s : size) whole = whole && s == 1;
  int64_t n = static_cast<int64_t>(size.size());
  if (whole && (input.dim() == n + 1 || input.dim() == n + 2) && input.is_floating_point() && input.numel()) {
    core::Dims dims = n == 2 ? core::Dims{-1, -2} : core::Dims{-1, -2, -3};
    return ops::mean(input, core::IntSpan(dims), true);
  }
  return n == 2 ? ops::_adaptive_avg_pool2d(input, size) : ops::_adaptive_avg_pool3d(input, size);
}

}  // namespace

#define UT_MAX_POOL(D)                                                                                         \
  Tensor max_pool##D##d(const Tensor& input, const MaxPool##D##dFuncOptions& o) {                              \
    return std::get<0>(max##D(input, o));                                                                      \
  }                                                                                                            \
  std::tuple<Tensor, Tensor> max_pool##D##d_with_indices(const Tensor& i, const MaxPool##D##dFuncOptions& o) { \
    return max##D(i, o);                                                                                       \
  }
UT_MAX_POOL(1)
UT_MAX_POOL(2)
UT_MAX_POOL(3)
#undef UT_MAX_POOL

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o) {
  return ops::squeeze(ops::avg_pool2d(ops::unsqueeze(input, -2), plane(o.kernel_size(), 1), plane(o.stride(), 1),
                                      plane(o.padding(), 0), o.ceil_mode(), o.count_include_pad(), std::nullopt),
                      -2);
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o) {
  return ops::avg_pool2d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                         o.divisor_override());
}
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& o) {
  return ops::avg_pool3d(input, *o.kernel_size(), *o.stride(), *o.padding(), o.ceil_mode(), o.count_include_pad(),
                         o.divisor_override());
}
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& o) {
  return ops::squeeze(adaptive_mean(ops::unsqueeze(input, -2), {1, output_size(input, o)[0]}), -2);
}
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& o) {
  return adaptive_mean(input, output_size(input, o));
}
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& o) {
  return adaptive_mean(input, output_size(input, o));
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& o) {
  Ints size{1, output_size(input, o)[0]};
  auto [values, indices] = ops::adaptive_max_pool2d(ops::unsqueeze(input, -2), size);
  return {ops::squeeze(values, -2), ops::squeeze(indices, -2)};
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& o) {
  return ops::adaptive_max_pool2d(input, output_size(input, o));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& o) {
  return ops::adaptive_max_pool3d(input, output_size(input, o));
}
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, o));
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, o));
}
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& o) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, o));
}

// -- shapes and distances

Tensor pad(const Tensor& input, const PadFuncOptions& o) {
  const Ints& by = o.pad();
  int64_t rank = static_cast<int64_t>(by.size() / 2);
  UT_CHECK(by.size() % 2 == 0, "Padding length must be divisible by 2: got ", by.size(), " numbers");
  UT_CHECK(rank <= input.dim(), "Padding length should be less than or equal to two times the input dimension but got ",
           by.size(), " numbers for ", input.dim(), " dimensions");
  size_t mode = o.mode().index();
  if (mode == 0) return ops::constant_pad_nd(input, by, Scalar(o.value()));
  UT_CHECK_AS(NotImplemented, rank >= 1 && rank <= 3 && (input.dim() == rank + 1 || input.dim() == rank + 2),
              "Padding size ", by.size(), " is not supported for ", input.dim(), "D input tensor");
  using Pad = core::Tensor (*)(const core::Tensor&, core::IntSpan);
  static constexpr Pad by_rank[2][3] = {{ops::reflection_pad1d, ops::reflection_pad2d, ops::reflection_pad3d},
                                        {ops::replication_pad1d, ops::replication_pad2d, ops::replication_pad3d}};
  return mode == 3 ? ops::_pad_indexed(input, by, 2) : by_rank[mode - 1][rank - 1](input, by);
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& o) {
  int64_t r = o.upscale_factor(), n = input.dim() - 3;
  UT_CHECK(n >= 0, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", input.dim());
  UT_CHECK(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1);
  UT_CHECK(
      c % (r * r) == 0,
      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but ",
      "input.size(-3)=", c, " is not divisible by ", r * r);
  Ints lead(input.sizes().begin(), input.sizes().begin() + n), split = lead, order, whole = lead;
  split.insert(split.end(), {c / (r * r), r, r, h, w});
  for (int64_t d = 0; d < n; d++) order.push_back(d);
  order.insert(order.end(), {n, n + 3, n + 1, n + 4, n + 2});
  whole.insert(whole.end(), {c / (r * r), h * r, w * r});
  return ops::reshape(ops::permute(ops::reshape(input, split), order), whole);
}
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& o) {
  int64_t r = o.downscale_factor(), n = input.dim() - 3;
  UT_CHECK(n >= 0, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", input.dim());
  UT_CHECK(r > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  int64_t c = input.size(-3), h = input.size(-2), w = input.size(-1);
  UT_CHECK(h % r == 0 && w % r == 0,
           "pixel_unshuffle expects height and width to be divisible by downscale_factor, but ", h, " x ", w,
           " is not divisible by ", r);
  Ints lead(input.sizes().begin(), input.sizes().begin() + n), split = lead, order, whole = lead;
  split.insert(split.end(), {c, h / r, r, w / r, r});
  for (int64_t d = 0; d < n; d++) order.push_back(d);
  order.insert(order.end(), {n, n + 2, n + 4, n + 1, n + 3});
  whole.insert(whole.end(), {c * r * r, h / r, w / r});
  return ops::reshape(ops::permute(ops::reshape(input, split), order), whole);
}
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& o) {
  return ops::cosine_similarity(x1, x2, o.dim(), o.eps());
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& o) {
  return ops::pairwise_distance(x1, x2, o.p(), o.eps(), o.keepdim());
}

}  // namespace undertow::nn::functional
