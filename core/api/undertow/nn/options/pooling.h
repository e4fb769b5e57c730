// pooling.h: options of pooling.
#pragma once
#include <optional>
#include <vector>

#include <undertow/types/arg.h>
#include <undertow/types/expanding_array.h>

namespace undertow::nn {

template <std::size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride);
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
  UNDERTOW_ARG(bool, ceil_mode) = false;
  UNDERTOW_ARG(bool, count_include_pad) = true;
  UNDERTOW_ARG(std::optional<int64_t>, divisor_override);
};
template <std::size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride);
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
  UNDERTOW_ARG(ExpandingArray<D>, dilation) = 1;
  UNDERTOW_ARG(bool, ceil_mode) = false;
};
// The inverse of max pooling, with zeros where no maximum was.
template <std::size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride);
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
};
// The p-norm of each window, without absolute values.
template <std::size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  UNDERTOW_ARG(double, norm_type);
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride);
  UNDERTOW_ARG(bool, ceil_mode) = false;
};
// A size that is left open is that of the input.
template <std::size_t D>
struct AdaptivePoolOptions {
  AdaptivePoolOptions(ExpandingArrayWithOptionalElem<D> output_size) : output_size_(output_size) {}
  UNDERTOW_ARG(ExpandingArrayWithOptionalElem<D>, output_size);
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<3>;
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<3>;

namespace functional {
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
template <std::size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<D>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<D>, stride);
  UNDERTOW_ARG(ExpandingArray<D>, padding) = 0;
  UNDERTOW_ARG(std::optional<std::vector<int64_t>>, output_size);
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
}  // namespace functional
}  // namespace undertow::nn
