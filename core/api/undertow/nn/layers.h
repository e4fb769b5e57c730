// layers.h: linear layers, embeddings, dropout, padding and reshaping.
#pragma once
#include <undertow/nn/function_module.h>

namespace undertow::nn {

// x weight^T + bias.
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  LinearOptions options;
  Tensor weight, bias;

 protected:
  std::string describe() const override;
};
UNDERTOW_MODULE(Linear);

// x1 A x2 + bias, with one matrix A for each output feature.
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input1, const Tensor& input2);
  BilinearOptions options;
  Tensor weight, bias;
};
UNDERTOW_MODULE(Bilinear);

// A table of vectors, looked up by index.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  EmbeddingOptions options;
  Tensor weight;

 protected:
  std::string describe() const override;
};
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

UNDERTOW_FUNCTION_MODULE(Identity, detail::NoOptions, input);
UNDERTOW_FUNCTION_MODULE(Flatten, FlattenOptions, input.flatten(o.start_dim(), o.end_dim()));
UNDERTOW_FUNCTION_MODULE(Unflatten, UnflattenOptions, input.unflatten(o.dim(), o.sizes()));
UNDERTOW_FUNCTION_MODULE(PixelShuffle, PixelShuffleOptions, functional::pixel_shuffle(input, o));
UNDERTOW_FUNCTION_MODULE(PixelUnshuffle, PixelUnshuffleOptions, functional::pixel_unshuffle(input, o));

#define UT_DROPOUT(Name, function, FuncOptions) \
  UNDERTOW_FUNCTION_MODULE(                     \
      Name, Name##Options,                      \
      functional::function(input, functional::FuncOptions().p(o.p()).training(is_training()).inplace(o.inplace())))
UT_DROPOUT(Dropout, dropout, DropoutFuncOptions);
UT_DROPOUT(Dropout1d, dropout1d, DropoutFuncOptions);
UT_DROPOUT(Dropout2d, dropout2d, DropoutFuncOptions);
UT_DROPOUT(Dropout3d, dropout3d, DropoutFuncOptions);
UT_DROPOUT(AlphaDropout, alpha_dropout, AlphaDropoutFuncOptions);
UT_DROPOUT(FeatureAlphaDropout, feature_alpha_dropout, AlphaDropoutFuncOptions);
#undef UT_DROPOUT

namespace detail {
template <std::size_t N>
functional::PadFuncOptions pad_options(const ExpandingArray<N>& padding) {
  return functional::PadFuncOptions(std::vector<int64_t>(padding->begin(), padding->end()));
}
}  // namespace detail
#define UT_PAD(D)                                                                                      \
  UNDERTOW_FUNCTION_MODULE(ReflectionPad##D##d, ReflectionPad##D##dOptions,                            \
                           functional::pad(input, detail::pad_options(o.padding()).mode(kReflect)));   \
  UNDERTOW_FUNCTION_MODULE(ReplicationPad##D##d, ReplicationPad##D##dOptions,                          \
                           functional::pad(input, detail::pad_options(o.padding()).mode(kReplicate))); \
  UNDERTOW_FUNCTION_MODULE(ZeroPad##D##d, ZeroPad##D##dOptions,                                        \
                           functional::pad(input, detail::pad_options(o.padding())));                  \
  UNDERTOW_FUNCTION_MODULE(ConstantPad##D##d, ConstantPad##D##dOptions,                                \
                           functional::pad(input, detail::pad_options(o.padding()).value(o.value())))
UT_PAD(1);
UT_PAD(2);
UT_PAD(3);
#undef UT_PAD

class CosineSimilarityImpl : public detail::FunctionModule<CosineSimilarityImpl, CosineSimilarityOptions> {
 public:
  using FunctionModule::FunctionModule;
  Tensor forward(const Tensor& x1, const Tensor& x2) { return functional::cosine_similarity(x1, x2, options); }
};
UNDERTOW_MODULE(CosineSimilarity);
class PairwiseDistanceImpl : public detail::FunctionModule<PairwiseDistanceImpl, PairwiseDistanceOptions> {
 public:
  using FunctionModule::FunctionModule;
  Tensor forward(const Tensor& x1, const Tensor& x2) { return functional::pairwise_distance(x1, x2, options); }
};
UNDERTOW_MODULE(PairwiseDistance);

namespace functional {
// The distances between all pairs of rows.
inline Tensor pdist(const Tensor& input, double p = 2.0) { return core::ops::pdist(input, p); }
}  // namespace functional

}  // namespace undertow::nn
