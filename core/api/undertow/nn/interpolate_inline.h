// interpolate_inline.h: resizing of images. The reference is undertow/nn/_functions/interpolate.py.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include <undertow/functions.h>
#include <undertow/nn/functional.h>
#include <undertow/nn/options/vision.h>

namespace undertow::nn::functional {
namespace detail {

// One row of the table of modes: its name in messages and its kernel, with the number of dimensions that it needs.
struct ResizeMode {
  const char *name, *kernel;
  int64_t space;  // 0: 1, 2 or 3
};
inline constexpr ResizeMode kResizeModes[] = {// in the order of InterpolateFuncOptions::mode_t
                                              {"nearest", "Nearest", 0},           {"linear", "Linear", 1},
                                              {"bilinear", "Bilinear", 2},         {"bicubic", "Bicubic", 2},
                                              {"trilinear", "Trilinear", 3},       {"area", "", 0},
                                              {"nearest-exact", "NearestExact", 0}};
constexpr size_t kAreaMode = 5;

inline Tensor averaged(const Tensor& input, const std::vector<int64_t>& size) {
  if (size.size() == 1) return adaptive_avg_pool1d(input, ExpandingArrayWithOptionalElem<1>(size[0]));
  const std::vector<std::optional<int64_t>> open(size.begin(), size.end());
  return size.size() == 2 ? adaptive_avg_pool2d(input, ExpandingArrayWithOptionalElem<2>(open))
                          : adaptive_avg_pool3d(input, ExpandingArrayWithOptionalElem<3>(open));
}

}  // namespace detail

inline Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  const size_t index = options.mode().index();
  const detail::ResizeMode& mode = detail::kResizeModes[index];
  const bool has_corners = mode.space > 0;
  const int64_t space = input.dim() - 2;
  auto check_count = [&](size_t count, const char* what) {
    UT_CHECK_VALUE(static_cast<int64_t>(count) == space, "Input and ", what,
                   " must have the same number of spatial dimensions, but got input with sizes ",
                   core::ShapeText{input.sizes()}, " and ", count, " numbers");
  };
  UT_CHECK_VALUE(has_corners || !options.align_corners(),
                 "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                 "trilinear");
  UT_CHECK_VALUE(!options.size() || !options.scale_factor(), "only one of size or scale_factor should be defined");
  UT_CHECK_VALUE(options.size() || options.scale_factor(), "either size or scale_factor should be defined");
  const bool recomputes = options.recompute_scale_factor().value_or(false);
  UT_CHECK_VALUE(!recomputes || !options.size(), "recompute_scale_factor is not meaningful with an explicit size.");
  UT_CHECK_AS(NotImplemented, space >= 1 && space <= 3 && (!mode.space || mode.space == space), "Got ", input.dim(),
              "D input, but ", mode.name, " mode needs ", mode.space ? std::to_string(mode.space + 2) : "3D, 4D or 5",
              "D input");
  UT_CHECK_VALUE(!options.antialias() || (space == 2 && has_corners),
                 "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input");

  std::vector<int64_t> size;
  std::optional<double> scales[3];  // of the last three dimensions
  if (options.size()) {
    size = *options.size();
    check_count(size.size(), "output size");
  } else {
    const std::vector<double>& factors = *options.scale_factor();
    check_count(factors.size(), "scale_factor");
    for (size_t d = 0; d < factors.size(); d++) {
      const double exact = static_cast<double>(input.size(static_cast<int64_t>(d) + 2)) * factors[d];
      size.push_back(static_cast<int64_t>(exact));
      if (!recomputes) scales[d + 3 - factors.size()] = factors[d];
    }
  }
  if (index == detail::kAreaMode) return detail::averaged(input, size);
  const std::string kernel = mode.kernel + std::to_string(space) + "D" + (options.antialias() ? "Aa" : "");
  return _resample(input, size, kernel, options.align_corners().value_or(false), scales[0], scales[1], scales[2]);
}

}  // namespace undertow::nn::functional
