// layers.cpp: linear layers, embeddings, convolutions and normalizations. Parameters are created and initialized in the
// order of the Python classes, so that the same seed gives the same parameters.
// build: small
#include <undertow/nn/layers.h>

#include <algorithm>
#include <cmath>

#include <undertow/functions.h>
#include <undertow/grad_mode.h>
#include <undertow/nn/activation.h>
#include <undertow/nn/conv.h>
#include <undertow/nn/init.h>
#include <undertow/nn/normalization.h>

namespace undertow::nn {

namespace ops = core::ops;

namespace {

Tensor fresh(core::IntSpan size) { return ops::empty(size); }
Tensor fresh(std::initializer_list<int64_t> size) { return fresh(core::IntSpan(size.begin(), size.size())); }
Tensor fresh_if(bool wanted, core::IntSpan size) { return wanted ? fresh(size) : Tensor(); }
Tensor fresh_if(bool wanted, int64_t size) { return fresh_if(wanted, core::IntSpan(&size, 1)); }
const char* word(bool value) { return value ? "true" : "false"; }

// Weight and bias uniformly in +-1/sqrt(fan_in).
void initialize_linear(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  auto [fan_in, fan_out] = init::_calculate_fan_in_and_fan_out(weight);
  double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

void initialize_scale(const Tensor& weight, const Tensor& bias) {
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

}  // namespace

// -- linear

LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) { reset(); }
void LinearImpl::reset() {
  weight = register_parameter("weight", fresh({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", fresh_if(options.bias(), options.out_features()));
  reset_parameters();
}
void LinearImpl::reset_parameters() { initialize_linear(weight, bias); }
Tensor LinearImpl::forward(const Tensor& input) { return ops::linear(input, weight, bias); }
std::string LinearImpl::describe() const {
  return core::str("undertow::nn::Linear(in_features=", options.in_features(),
                   ", out_features=", options.out_features(), ", bias=", word(options.bias()), ")");
}

BilinearImpl::BilinearImpl(const BilinearOptions& options_) : options(options_) { reset(); }
void BilinearImpl::reset() {
  const auto& o = options;
  UT_CHECK_VALUE(o.in1_features() > 0, "in1_features must be > 0, but got ", o.in1_features());
  weight = register_parameter("weight", fresh({o.out_features(), o.in1_features(), o.in2_features()}));
  bias = register_parameter("bias", fresh_if(o.bias(), o.out_features()));
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return ops::bilinear(input1, input2, weight, bias);
}

PReLUImpl::PReLUImpl(const PReLUOptions& options_) : options(options_) { reset(); }
void PReLUImpl::reset() {
  weight = register_parameter("weight", ops::full(core::Dims{options.num_parameters()}, Scalar(options.init())));
}

// -- embedding

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options_) : options(std::move(options_)) { reset(); }
void EmbeddingImpl::reset() {
  auto& o = options;
  if (o.padding_idx()) {
    int64_t rows = o.num_embeddings(), index = *o.padding_idx();
    UT_CHECK(-rows <= index && index < rows, "Padding_idx must be within num_embeddings");
    o.padding_idx(index < 0 ? index + rows : index);
  }
  if (!o._weight().defined()) {
    weight = register_parameter("weight", fresh({o.num_embeddings(), o.embedding_dim()}));
    reset_parameters();
    return;
  }
  const Tensor& given = o._weight();
  UT_CHECK(given.dim() == 2 && given.size(0) == o.num_embeddings() && given.size(1) == o.embedding_dim(),
           "Shape of _weight does not match num_embeddings and embedding_dim");
  weight = register_parameter("weight", given);
}
void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  ops::fill_(ops::select(weight, 0, *options.padding_idx()), Scalar(0));
}
Tensor EmbeddingImpl::forward(const Tensor& input) {
  const auto& o = options;
  return functional::embedding(input, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(o.padding_idx())
                                   .max_norm(o.max_norm())
                                   .norm_type(o.norm_type())
                                   .scale_grad_by_freq(o.scale_grad_by_freq())
                                   .sparse(o.sparse()));
}
std::string EmbeddingImpl::describe() const {
  std::string out = core::str("undertow::nn::Embedding(num_embeddings=", options.num_embeddings(),
                              ", embedding_dim=", options.embedding_dim());
  if (options.padding_idx()) out += core::str(", padding_idx=", *options.padding_idx());
  return out + ")";
}
Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& o) {
  UT_CHECK(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
  Embedding made(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                     ._weight(embeddings)
                     .padding_idx(o.padding_idx())
                     .max_norm(o.max_norm())
                     .norm_type(o.norm_type())
                     .scale_grad_by_freq(o.scale_grad_by_freq())
                     .sparse(o.sparse()));
  made->weight.set_requires_grad(!o.freeze());
  return made;
}

// -- convolutions

namespace detail {

template <typename Options>
inline constexpr bool is_transposed = requires(Options o) { o.output_padding(); };

template <typename Options>
void ConvNd<Options>::register_weights() {
  const auto& o = options;
  UT_CHECK_VALUE(o.groups() > 0, "groups must be a positive integer");
  UT_CHECK_VALUE(o.in_channels() % o.groups() == 0, "in_channels must be divisible by groups");
  UT_CHECK_VALUE(o.out_channels() % o.groups() == 0, "out_channels must be divisible by groups");
  int64_t first = o.out_channels(), second = o.in_channels() / o.groups();
  if constexpr (is_transposed<Options>) {
    UT_CHECK_VALUE(o.padding_mode().index() == 0, "Only \"zeros\" padding mode is supported for ConvTranspose");
    first = o.in_channels();
    second = o.out_channels() / o.groups();
  } else if (std::holds_alternative<enumtype::kSame>(o.padding())) {
    for (int64_t s : *o.stride()) UT_CHECK_VALUE(s == 1, "padding='same' is not supported for strided convolutions");
  }
  std::vector<int64_t> size{first, second};
  size.insert(size.end(), o.kernel_size()->begin(), o.kernel_size()->end());
  weight = register_parameter("weight", fresh(size));
  bias = register_parameter("bias", fresh_if(o.bias(), o.out_channels()));
  reset_parameters();
}

template <typename Options>
void ConvNd<Options>::reset_parameters() {
  initialize_linear(weight, bias);
}

template <typename Options>
std::string ConvNd<Options>::describe() const {
  const auto& o = options;
  std::string out =
      core::str(printed_name(name()), "(", o.in_channels(), ", ", o.out_channels(),
                ", kernel_size=", core::ShapeText{*o.kernel_size()}, ", stride=", core::ShapeText{*o.stride()});
  if (o.groups() != 1) out += core::str(", groups=", o.groups());
  if (!o.bias()) out += ", bias=false";
  return out + ")";
}

template class ConvNd<ConvOptions<1>>;
template class ConvNd<ConvOptions<2>>;
template class ConvNd<ConvOptions<3>>;
template class ConvNd<ConvTransposeOptions<1>>;
template class ConvNd<ConvTransposeOptions<2>>;
template class ConvNd<ConvTransposeOptions<3>>;

}  // namespace detail

namespace {

// The padding in the format of `pad`: before and after each dimension, last dimension first.
template <size_t D>
std::vector<int64_t> as_pad(const ConvOptions<D>& o) {
  std::vector<int64_t> out;
  for (size_t k = D; k-- > 0;) {
    if (const auto* numbers = std::get_if<ExpandingArray<D>>(&o.padding())) {
      out.insert(out.end(), 2, (*numbers)[k]);
    } else {
      int64_t total =
          std::holds_alternative<enumtype::kSame>(o.padding()) ? o.dilation()[k] * (o.kernel_size()[k] - 1) : 0;
      out.push_back(total / 2);
      out.push_back(total - total / 2);
    }
  }
  return out;
}

// Pads at the border as padding_mode says; the convolution itself then pads nothing.
template <size_t D>
Tensor bordered(const Tensor& input, const ConvOptions<D>& o, functional::ConvFuncOptions<D>& of_call) {
  of_call.stride(o.stride()).dilation(o.dilation()).groups(o.groups());
  if (o.padding_mode().index() == 0) {
    of_call.padding(o.padding());
    return input;
  }
  functional::PadFuncOptions pad(as_pad(o));
  if (o.padding_mode().index() == 1) pad.mode(kReflect);
  if (o.padding_mode().index() == 2) pad.mode(kReplicate);
  if (o.padding_mode().index() == 3) pad.mode(kCircular);
  return functional::pad(input, pad);
}

// The padding at the end of the output that gives the requested size.
template <size_t D>
ExpandingArray<D> output_padding(const Tensor& input, const std::optional<IntArrayRef>& wanted,
                                 const ConvTransposeOptions<D>& o) {
  if (!wanted) return o.output_padding();
  size_t lead = input.dim() == static_cast<int64_t>(D) + 2 ? 2 : 1;
  UT_CHECK_VALUE(wanted->size() == D || wanted->size() == D + lead, "ConvTranspose", D, "D: for ", input.dim(),
                 "D input, output_size must have ", D, " or ", D + lead, " elements (got ", wanted->size(), ")");
  std::vector<int64_t> extra(D);
  for (size_t d = 0; d < D; d++) {
    int64_t size = (*wanted)[wanted->size() - D + d];
    int64_t least = (input.size(static_cast<int64_t>(d + lead)) - 1) * o.stride()[d] - 2 * o.padding()[d] +
                    o.dilation()[d] * (o.kernel_size()[d] - 1) + 1;
    UT_CHECK_VALUE(least <= size && size <= least + o.stride()[d] - 1, "requested an output size of ", size,
                   " in dimension ", d, ", but valid sizes range from ", least, " to ", least + o.stride()[d] - 1);
    extra[d] = size - least;
  }
  return ExpandingArray<D>(extra);
}

}  // namespace

#define UT_CONV(D)                                                                                                  \
  Conv##D##dImpl::Conv##D##dImpl(const ConvOptions<D>& options_) : Cloneable(options_) { reset(); }                 \
  void Conv##D##dImpl::reset() { register_weights(); }                                                              \
  Tensor Conv##D##dImpl::forward(const Tensor& input) {                                                             \
    functional::ConvFuncOptions<D> o;                                                                               \
    Tensor padded = bordered(input, options, o);                                                                    \
    return functional::conv##D##d(padded, weight, o.bias(bias));                                                    \
  }                                                                                                                 \
  ConvTranspose##D##dImpl::ConvTranspose##D##dImpl(const ConvTransposeOptions<D>& options_) : Cloneable(options_) { \
    reset();                                                                                                        \
  }                                                                                                                 \
  void ConvTranspose##D##dImpl::reset() { register_weights(); }                                                     \
  Tensor ConvTranspose##D##dImpl::forward(const Tensor& input, const std::optional<IntArrayRef>& output_size) {     \
    const auto& o = options;                                                                                        \
    return ops::conv_transpose##D##d(input, weight, bias, *o.stride(), *o.padding(),                                \
                                     *output_padding(input, output_size, o), o.groups(), *o.dilation());            \
  }
UT_CONV(1)
UT_CONV(2)
UT_CONV(3)
#undef UT_CONV

// -- normalizations

namespace detail {

template <typename Options>
void NormNd<Options>::register_tensors() {
  core::Dims size{options.num_features()};
  weight = register_parameter("weight", fresh_if(options.affine(), size));
  bias = register_parameter("bias", fresh_if(options.affine(), size));
  bool tracked = options.track_running_stats();
  running_mean = register_buffer("running_mean", tracked ? ops::zeros(size) : Tensor());
  running_var = register_buffer("running_var", tracked ? ops::ones(size) : Tensor());
  num_batches_tracked =
      register_buffer("num_batches_tracked", tracked ? ops::zeros(core::Dims{}, core::DType::Int64) : Tensor());
}

template <typename Options>
void NormNd<Options>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  ops::zero_(running_mean);
  ops::fill_(running_var, Scalar(1));
  ops::zero_(num_batches_tracked);
}

template <typename Options>
void NormNd<Options>::reset_parameters() {
  reset_running_stats();
  initialize_scale(weight, bias);
}

template <typename Options>
Tensor NormNd<Options>::normalized(const Tensor& input, int64_t least, int64_t most) {
  UT_CHECK_VALUE(least <= input.dim() && input.dim() <= most, "expected ", least,
                 least == most ? "D input (got " : core::str("D or ", most, "D input (got "), input.dim(), "D input)");
  const auto& o = options;
  if constexpr (std::is_same_v<Options, BatchNormOptions>) {
    double average = o.momentum().value_or(0.0);
    if (is_training() && num_batches_tracked.defined()) {
      ops::add_(num_batches_tracked, Scalar(1));
      if (!o.momentum()) average = 1.0 / ops::item(num_batches_tracked).to_double();
    }
    bool by_batch = is_training() || !running_mean.defined();
    bool kept = !is_training() || o.track_running_stats();
    return functional::batch_norm(
        input, kept ? running_mean : Tensor(), kept ? running_var : Tensor(),
        functional::BatchNormFuncOptions().weight(weight).bias(bias).training(by_batch).momentum(average).eps(o.eps()));
  } else {
    functional::InstanceNormFuncOptions call;
    call.running_mean(running_mean).running_var(running_var).weight(weight).bias(bias);
    call.use_input_stats(is_training() || !o.track_running_stats()).momentum(o.momentum()).eps(o.eps());
    if (input.dim() == most || most == least) return functional::instance_norm(input, call);
    return functional::instance_norm(input.unsqueeze(0), call).squeeze(0);  // one sample without a batch
  }
}

template <typename Options>
std::string NormNd<Options>::describe() const {
  return core::str(printed_name(name()), "(", options.num_features(), ", eps=", options.eps(),
                   ", affine=", word(options.affine()), ", track_running_stats=", word(options.track_running_stats()),
                   ")");
}

template class NormNd<BatchNormOptions>;
template class NormNd<InstanceNormOptions>;

}  // namespace detail

LayerNormImpl::LayerNormImpl(LayerNormOptions options_) : options(std::move(options_)) { reset(); }
void LayerNormImpl::reset() {
  weight = register_parameter("weight", fresh_if(options.elementwise_affine(), options.normalized_shape()));
  bias = register_parameter("bias", fresh_if(options.elementwise_affine(), options.normalized_shape()));
  reset_parameters();
}
void LayerNormImpl::reset_parameters() { initialize_scale(weight, bias); }
Tensor LayerNormImpl::forward(const Tensor& input) {
  return ops::layer_norm(input, options.normalized_shape(), weight, bias, options.eps());
}
std::string LayerNormImpl::describe() const {
  return core::str("undertow::nn::LayerNorm(", core::ShapeText{options.normalized_shape()}, ", eps=", options.eps(),
                   ", elementwise_affine=", word(options.elementwise_affine()), ")");
}

RMSNormImpl::RMSNormImpl(RMSNormOptions options_) : options(std::move(options_)) { reset(); }
void RMSNormImpl::reset() {
  weight = register_parameter("weight", fresh_if(options.elementwise_affine(), options.normalized_shape()));
  initialize_scale(weight, {});
}
Tensor RMSNormImpl::forward(const Tensor& input) {
  return ops::rms_norm(input, options.normalized_shape(), weight, options.eps());
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_) : options(options_) { reset(); }
void GroupNormImpl::reset() {
  const auto& o = options;
  UT_CHECK_VALUE(o.num_groups() > 0, "num_groups must be positive, got ", o.num_groups());
  UT_CHECK_VALUE(o.num_channels() % o.num_groups() == 0, "num_channels (", o.num_channels(),
                 ") must be divisible by num_groups (", o.num_groups(), ")");
  weight = register_parameter("weight", fresh_if(o.affine(), o.num_channels()));
  bias = register_parameter("bias", fresh_if(o.affine(), o.num_channels()));
  reset_parameters();
}
void GroupNormImpl::reset_parameters() { initialize_scale(weight, bias); }
Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(
      input, functional::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}
std::string GroupNormImpl::describe() const {
  return core::str("undertow::nn::GroupNorm(", options.num_groups(), ", ", options.num_channels(),
                   ", eps=", options.eps(), ", affine=", word(options.affine()), ")");
}

}  // namespace undertow::nn
