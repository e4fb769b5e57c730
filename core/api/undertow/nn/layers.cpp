// layers.cpp: linear layers, embeddings and normalizations. Parameters are created and initialized in the order of the
// Python classes, so that the same seed gives the same parameters.
// build: small
#include <undertow/nn/layers.h>

#include <algorithm>
#include <cmath>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>
#include <undertow/nn/activation.h>
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

}  // namespace

namespace detail {

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

}  // namespace detail

// -- linear

LinearImpl::LinearImpl(const LinearOptions& options_) : options(options_) { reset(); }
void LinearImpl::reset() {
  weight = register_parameter("weight", fresh({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", fresh_if(options.bias(), options.out_features()));
  reset_parameters();
}
void LinearImpl::reset_parameters() { detail::initialize_linear(weight, bias); }
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

// -- normalizations

LayerNormImpl::LayerNormImpl(LayerNormOptions options_) : options(std::move(options_)) { reset(); }
void LayerNormImpl::reset() {
  weight = register_parameter("weight", fresh_if(options.elementwise_affine(), options.normalized_shape()));
  bias = register_parameter("bias", fresh_if(options.elementwise_affine(), options.normalized_shape()));
  reset_parameters();
}
void LayerNormImpl::reset_parameters() { detail::initialize_scale(weight, bias); }
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
  detail::initialize_scale(weight, {});
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
void GroupNormImpl::reset_parameters() { detail::initialize_scale(weight, bias); }
Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(
      input, functional::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}
std::string GroupNormImpl::describe() const {
  return core::str("undertow::nn::GroupNorm(", options.num_groups(), ", ", options.num_channels(),
                   ", eps=", options.eps(), ", affine=", word(options.affine()), ")");
}

}  // namespace undertow::nn
