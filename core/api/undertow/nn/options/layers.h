// layers.h: options of linear layers, embeddings, dropout, padding and reshaping.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/enum.h>
#include <undertow/types/expanding_array.h>

namespace undertow::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  UNDERTOW_ARG(int64_t, in_features);
  UNDERTOW_ARG(int64_t, out_features);
  UNDERTOW_ARG(bool, bias) = true;
};
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  UNDERTOW_ARG(int64_t, in1_features);
  UNDERTOW_ARG(int64_t, in2_features);
  UNDERTOW_ARG(int64_t, out_features);
  UNDERTOW_ARG(bool, bias) = true;
};
struct FlattenOptions {
  UNDERTOW_ARG(int64_t, start_dim) = 1;
  UNDERTOW_ARG(int64_t, end_dim) = -1;
};
struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  UNDERTOW_ARG(int64_t, dim);
  UNDERTOW_ARG(std::vector<int64_t>, sizes);
};

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  UNDERTOW_ARG(int64_t, num_embeddings);
  UNDERTOW_ARG(int64_t, embedding_dim);
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(bool, sparse) = false;
  UNDERTOW_ARG(Tensor, _weight);
};
struct EmbeddingFromPretrainedOptions {
  UNDERTOW_ARG(bool, freeze) = true;
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(bool, sparse) = false;
};

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  UNDERTOW_ARG(double, p);
  UNDERTOW_ARG(bool, inplace) = false;
};
using Dropout1dOptions = DropoutOptions;
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

// Padding of the last D dimensions: one number, or (before, after) of each, starting with the last dimension.
template <std::size_t D>
struct PaddingOptions {
  PaddingOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  UNDERTOW_ARG(ExpandingArray<D * 2>, padding);
};
template <std::size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value) : padding_(padding), value_(value) {}
  UNDERTOW_ARG(ExpandingArray<D * 2>, padding);
  UNDERTOW_ARG(double, value);
};
using ReflectionPad1dOptions = PaddingOptions<1>;
using ReflectionPad2dOptions = PaddingOptions<2>;
using ReflectionPad3dOptions = PaddingOptions<3>;
using ReplicationPad1dOptions = PaddingOptions<1>;
using ReplicationPad2dOptions = PaddingOptions<2>;
using ReplicationPad3dOptions = PaddingOptions<3>;
using ZeroPad1dOptions = PaddingOptions<1>;
using ZeroPad2dOptions = PaddingOptions<2>;
using ZeroPad3dOptions = PaddingOptions<3>;
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  UNDERTOW_ARG(int64_t, upscale_factor);
};
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  UNDERTOW_ARG(int64_t, downscale_factor);
};
struct CosineSimilarityOptions {
  UNDERTOW_ARG(int64_t, dim) = 1;
  UNDERTOW_ARG(double, eps) = 1e-8;
};
struct PairwiseDistanceOptions {
  UNDERTOW_ARG(double, p) = 2.0;
  UNDERTOW_ARG(double, eps) = 1e-6;
  UNDERTOW_ARG(bool, keepdim) = false;
};

namespace functional {
struct EmbeddingFuncOptions {
  UNDERTOW_ARG(std::optional<int64_t>, padding_idx);
  UNDERTOW_ARG(std::optional<double>, max_norm);
  UNDERTOW_ARG(double, norm_type) = 2.0;
  UNDERTOW_ARG(bool, scale_grad_by_freq) = false;
  UNDERTOW_ARG(bool, sparse) = false;
};
struct DropoutFuncOptions {
  UNDERTOW_ARG(double, p) = 0.5;
  UNDERTOW_ARG(bool, training) = true;
  UNDERTOW_ARG(bool, inplace) = false;
};
using Dropout1dFuncOptions = DropoutFuncOptions;
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct AlphaDropoutFuncOptions {
  UNDERTOW_ARG(double, p) = 0.5;
  UNDERTOW_ARG(bool, training) = false;
  UNDERTOW_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  using Mode = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
  UNDERTOW_ARG(std::vector<int64_t>, pad);
  UNDERTOW_ARG(Mode, mode) = kConstant;
  UNDERTOW_ARG(double, value) = 0;
};
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
struct NormalizeFuncOptions {
  UNDERTOW_ARG(double, p) = 2.0;
  UNDERTOW_ARG(int64_t, dim) = 1;
  UNDERTOW_ARG(double, eps) = 1e-12;
  UNDERTOW_ARG(std::optional<Tensor>, out);  // where the result is written
};
}  // namespace functional
}  // namespace undertow::nn
