// vision.h: options of resizing, sampling and sliding blocks of images.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <undertow/types/arg.h>
#include <undertow/types/enum.h>
#include <undertow/types/expanding_array.h>

namespace undertow::nn {

// The size of the result, or its size divided by that of the input: one of them, one number for each dimension.
struct UpsampleOptions {
  using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                              enumtype::kTrilinear>;
  UNDERTOW_ARG(std::optional<std::vector<int64_t>>, size);
  UNDERTOW_ARG(std::optional<std::vector<double>>, scale_factor);
  UNDERTOW_ARG(mode_t, mode) = kNearest;
  UNDERTOW_ARG(std::optional<bool>, align_corners);
};
struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<2>, output_size);
  UNDERTOW_ARG(ExpandingArray<2>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<2>, dilation) = 1;
  UNDERTOW_ARG(ExpandingArray<2>, padding) = 0;
  UNDERTOW_ARG(ExpandingArray<2>, stride) = 1;
};
struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  UNDERTOW_ARG(ExpandingArray<2>, kernel_size);
  UNDERTOW_ARG(ExpandingArray<2>, dilation) = 1;
  UNDERTOW_ARG(ExpandingArray<2>, padding) = 0;
  UNDERTOW_ARG(ExpandingArray<2>, stride) = 1;
};

namespace functional {
struct InterpolateFuncOptions {
  using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                              enumtype::kTrilinear, enumtype::kArea, enumtype::kNearestExact>;
  UNDERTOW_ARG(std::optional<std::vector<int64_t>>, size);
  UNDERTOW_ARG(std::optional<std::vector<double>>, scale_factor);
  UNDERTOW_ARG(mode_t, mode) = kNearest;
  UNDERTOW_ARG(std::optional<bool>, align_corners);
  UNDERTOW_ARG(std::optional<bool>, recompute_scale_factor);
  UNDERTOW_ARG(bool, antialias) = false;
};
struct GridSampleFuncOptions {
  using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  UNDERTOW_ARG(mode_t, mode) = kBilinear;
  UNDERTOW_ARG(padding_mode_t, padding_mode) = kZeros;
  UNDERTOW_ARG(std::optional<bool>, align_corners);
};
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
}  // namespace functional
}  // namespace undertow::nn
