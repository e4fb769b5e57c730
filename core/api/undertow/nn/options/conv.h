// conv.h: options of convolutions and transposed convolutions.
#pragma once
#include <variant>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/enum.h>
#include <undertow/types/expanding_array.h>

namespace undertow::nn {
namespace detail {
using conv_padding_mode_t =
    std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
template <std::size_t D>
using conv_padding_t = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;
}  // namespace detail

template <std::size_t D>
struct ConvOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  using padding_t = detail::conv_padding_t<D>;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  UNDERTOW_ARG(int64_t, in_channels);
  UNDERTOW_ARG(int64_t, out_channels);
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride) = 1;

 public:
  // Numbers, kSame or kValid.
  ConvOptions& padding(std::initializer_list<int64_t> list) { return padding(padding_t(ExpandingArray<D>(list))); }
  UNDERTOW_ARG(padding_t, padding) = ExpandingArray<D>(0);
  UNDERTOW_ARG(ExpandingArray<D>, dilation) = 1;
  UNDERTOW_ARG(int64_t, groups) = 1;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(padding_mode_t, padding_mode) = kZeros;
};
template <std::size_t D>
struct ConvTransposeOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  UNDERTOW_ARG(int64_t, in_channels);
  UNDERTOW_ARG(int64_t, out_channels);
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride) = 1;
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
  UNDERTOW_ARG(ExpandingArray<D>, output_padding) = 0;
  UNDERTOW_ARG(int64_t, groups) = 1;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(ExpandingArray<D>, dilation) = 1;
  UNDERTOW_ARG(padding_mode_t, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {
template <std::size_t D>
struct ConvFuncOptions {
  using padding_t = nn::detail::conv_padding_t<D>;
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(ExpandingArray<D>, stride) = 1;
  UNDERTOW_ARG(padding_t, padding) = ExpandingArray<D>(0);
  UNDERTOW_ARG(ExpandingArray<D>, dilation) = 1;
  UNDERTOW_ARG(int64_t, groups) = 1;
};
template <std::size_t D>
struct ConvTransposeFuncOptions {
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(ExpandingArray<D>, stride) = 1;
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
  UNDERTOW_ARG(ExpandingArray<D>, output_padding) = 0;
  UNDERTOW_ARG(int64_t, groups) = 1;
  UNDERTOW_ARG(ExpandingArray<D>, dilation) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;
}  // namespace functional
}  // namespace undertow::nn
