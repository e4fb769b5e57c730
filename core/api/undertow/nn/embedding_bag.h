// embedding_bag.h: sums, means or maxima of rows of a table, one for each bag of indices. The reference is
// undertow/nn/_functions/embedding_bag.py.
#pragma once
#include <utility>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>
#include <undertow/nn/init.h>
#include <undertow/nn/module.h>
#include <undertow/nn/options/layers.h>

namespace undertow::nn {

// In the order of the core's numbers.
using EmbeddingBagMode = std::variant<enumtype::kSum, enumtype::kMean, enumtype::kMax>;

struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  UNDERTOW_ARG(int64_t, num_embeddings);
  UNDERTOW_ARG(int64_t, embedding_dim);
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(EmbeddingBagMode, mode) = kMean;
  UNDERTOW_ARG(bool, sparse) = false;
  UNDERTOW_ARG(Tensor, _weight);
  UNDERTOW_ARG(bool, include_last_offset) = false;
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
};

struct EmbeddingBagFromPretrainedOptions {
  UNDERTOW_ARG(bool, freeze) = true;
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(EmbeddingBagMode, mode) = kMean;
  UNDERTOW_ARG(bool, sparse) = false;
  UNDERTOW_ARG(bool, include_last_offset) = false;
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
};

namespace functional {

struct EmbeddingBagFuncOptions {
  UNDERTOW_ARG(Tensor, offsets);
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(EmbeddingBagMode, mode) = kMean;
  UNDERTOW_ARG(bool, sparse) = false;
  UNDERTOW_ARG(Tensor, per_sample_weights);
  UNDERTOW_ARG(bool, include_last_offset) = false;
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
};

// A bag is a row of `input`, or starts at one of the offsets.
inline Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& o = {}) {
  Tensor indices = input, offsets = o.offsets(), factors = o.per_sample_weights();
  UT_CHECK_VALUE(!factors.defined() || factors.sizes() == input.sizes(), "embedding_bag: per_sample_weights (",
                 core::ShapeText{factors.defined() ? factors.sizes() : IntArrayRef()},
                 ") must have the same shape as the input (", core::ShapeText{input.sizes()}, ")");
  UT_CHECK_VALUE(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ", weight.dim());
  UT_CHECK_VALUE(input.dim() == 1 || input.dim() == 2, "input has to be 1D or 2D Tensor, but got Tensor of dimension ",
                 input.dim());
  UT_CHECK_VALUE(offsets.defined() == (input.dim() == 1),
                 "if input is 2D, then offsets has to be left out, because each row is a bag; a 1D input needs it");
  if (input.dim() == 2) {
    offsets = arange(0, input.numel(), input.size(1), input.options());
    indices = input.reshape({-1});
    if (factors.defined()) factors = factors.reshape({-1});
  }
  UT_CHECK_VALUE(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  const auto mode = static_cast<int64_t>(o.mode().index());
  UT_CHECK_VALUE(mode != 2 || (!o.scale_grad_by_freq() && !o.sparse()),
                 "max mode does not support scaling the gradient by the frequency or sparse weights");
  UT_CHECK_AS(NotImplemented, !factors.defined() || mode == 0,
              "embedding_bag: per_sample_weights is only supported for the mode kSum");
  if (o.max_norm()) {
    NoGradGuard no_grad;
    Tensor table = weight;
    core::ops::embedding_renorm_(table, indices.contiguous(), *o.max_norm(), o.norm_type());
  }
  return std::get<0>(undertow::embedding_bag(weight, indices, offsets, o.scale_grad_by_freq(), mode, o.sparse(),
                                             factors, o.include_last_offset(), o.padding_idx()));
}

}  // namespace functional

class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(EmbeddingBagOptions options_) : options(std::move(options_)) { EmbeddingBagImpl::reset(); }
  void reset() override {
    const Tensor& given = options._weight();
    UT_CHECK(!given.defined() || given.sizes() == IntArrayRef({options.num_embeddings(), options.embedding_dim()}),
             "Shape of _weight does not match num_embeddings and embedding_dim");
    weight = register_parameter("weight",
                                given.defined() ? given : empty({options.num_embeddings(), options.embedding_dim()}));
    if (!given.defined()) reset_parameters();
  }
  void reset_parameters() {
    init::normal_(weight);
    NoGradGuard no_grad;
    if (options.padding_idx()) weight.select(0, *options.padding_idx()).fill_(0);
  }
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) {
    const auto& o = options;
    return functional::embedding_bag(input, weight,
                                     functional::EmbeddingBagFuncOptions()
                                         .offsets(offsets)
                                         .max_norm(o.max_norm())
                                         .norm_type(o.norm_type())
                                         .scale_grad_by_freq(o.scale_grad_by_freq())
                                         .mode(o.mode())
                                         .sparse(o.sparse())
                                         .per_sample_weights(per_sample_weights)
                                         .include_last_offset(o.include_last_offset())
                                         .padding_idx(o.padding_idx()));
  }
  EmbeddingBagOptions options;
  Tensor weight;
};
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  using Impl [[maybe_unused]] = EmbeddingBagImpl;
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& o = {}) {
    UT_CHECK(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
    EmbeddingBag made(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                          ._weight(embeddings)
                          .max_norm(o.max_norm())
                          .norm_type(o.norm_type())
                          .scale_grad_by_freq(o.scale_grad_by_freq())
                          .mode(o.mode())
                          .sparse(o.sparse())
                          .include_last_offset(o.include_last_offset())
                          .padding_idx(o.padding_idx()));
    made->weight.set_requires_grad(!o.freeze());
    return made;
  }
};

}  // namespace undertow::nn
