// grid_sample_inline.h: sampling of images at the points of a grid, composed of gathers and products, so that every
// derivative exists. The reference is undertow/nn/_functions/grid_sample.py.
#pragma once
#include <array>
#include <vector>

#include <undertow/functions.h>
#include <undertow/nn/options/vision.h>
#include <undertow/tensor/composites.h>

namespace undertow::nn::functional {
namespace detail {

enum class Sampling { Bilinear, Nearest, Bicubic };      // in the order of GridSampleFuncOptions::mode_t
enum class SamplePadding { Zeros, Border, Reflection };  // in the order of GridSampleFuncOptions::padding_mode_t

struct SampleRule {
  Sampling mode;
  SamplePadding padding;
  bool align_corners;
};
// An element that contributes to a sample, along one dimension.
struct Tap {
  Tensor index, is_inside, weight;
};

// Constant outside of the image, without a gradient.
inline Tensor within(const Tensor& at, int64_t size) {
  const double last = static_cast<double>(size - 1);
  return where((at > 0) & (at < last), at, where(at >= last, last, 0.0).to(at.scalar_type()));
}
inline Tensor mirrored(const Tensor& at, int64_t size, bool align_corners) {
  const double low = align_corners ? 0.0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return at * 0;
  Tensor away = (at - low).abs(), turns = (away / span).floor().detach(), rest = away - turns * span;
  return where(turns % 2 == 0, rest + low, span - rest + low);
}
inline Tensor padded(const Tensor& at, int64_t size, const SampleRule& rule) {
  if (rule.padding == SamplePadding::Zeros) return at;
  return within(rule.padding == SamplePadding::Reflection ? mirrored(at, size, rule.align_corners) : at, size);
}
inline Tap tap(const Tensor& at, int64_t size, const Tensor& weight) {
  Tensor place = at.detach().clamp(-2, size + 1).to(kLong);
  return {place.clamp(0, size - 1), (place >= 0) & (place < size), weight};
}
inline std::array<Tensor, 4> cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  auto near = [](const Tensor& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](const Tensor& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}
// `place` is a coordinate of the grid: -1 to 1.
inline std::vector<Tap> taps(const Tensor& place, int64_t size, const SampleRule& rule) {
  Tensor at = rule.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
  if (rule.mode == Sampling::Bicubic) {
    Tensor left = at.floor().detach();
    std::vector<Tap> found;
    for (const Tensor& weight : cubic_weights(at - left))
      found.push_back(tap(padded(left + (static_cast<int64_t>(found.size()) - 1), size, rule), size, weight));
    return found;
  }
  at = padded(at, size, rule);
  if (rule.mode == Sampling::Nearest) {
    // One everywhere, but part of the grid's graph, so that its derivative is zero and not undefined.
    return {tap(at.detach().round(), size, where(zeros_like(at, kBool), at, 1.0))};
  }
  Tensor left = at.floor().detach(), t = at - left;
  return {tap(left, size, 1 - t), tap(left + 1, size, t)};
}

inline void check_grid(const Tensor& input, const Tensor& grid, const SampleRule& rule) {
  using Shape = core::ShapeText;
  UT_CHECK(input.dtype() == grid.dtype(), "grid_sampler(): expected input and grid to have same dtype, but input has ",
           input.dtype().name(), " and grid has ", grid.dtype().name());
  UT_CHECK((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(),
           "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes ",
           Shape{input.sizes()}, " and grid with sizes ", Shape{grid.sizes()});
  UT_CHECK(input.size(0) == grid.size(0),
           "grid_sampler(): expected grid and input to have same batch size, but got input with sizes ",
           Shape{input.sizes()}, " and grid with sizes ", Shape{grid.sizes()});
  UT_CHECK(grid.size(-1) == input.dim() - 2, "grid_sampler(): expected grid to have size ", input.dim() - 2,
           " in last dimension, but got grid with sizes ", Shape{grid.sizes()});
  for (int64_t d = 2; d < input.dim(); d++)
    UT_CHECK(input.size(d), "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
             Shape{input.sizes()}, " with dimension ", d, " being empty");
  UT_CHECK(rule.mode != Sampling::Bicubic || input.dim() == 4,
           "grid_sampler(): bicubic interpolation only supports 4D input");
  UT_CHECK_AS(NotImplemented, input.is_floating_point(), "\"grid_sampler\" not implemented for '", input.dtype().name(),
              "'");
}

inline Tensor sampled(const Tensor& input, const Tensor& grid, const SampleRule& rule) {
  check_grid(input, grid, rule);
  const int64_t space = input.dim() - 2, n = input.size(0), c = input.size(1);
  std::vector<int64_t> result_size = {n, c};
  for (int64_t d = 1; d <= space; d++) result_size.push_back(grid.size(d));
  Tensor flat = input.reshape({n, c, -1});
  std::vector<Tap> corners;  // over the dimensions so far
  for (int64_t d = 0; d < space; d++) {
    const int64_t size = input.size(2 + d);
    // The grid's last dimension lists the axes in reverse order.
    const std::vector<Tap> along = taps(grid.select(-1, space - 1 - d), size, rule);
    std::vector<Tap> wider;
    for (const Tap& corner : corners)
      for (const Tap& tap : along)
        wider.push_back(
            {corner.index * size + tap.index, corner.is_inside & tap.is_inside, corner.weight * tap.weight});
    corners = d ? std::move(wider) : along;
  }
  Tensor total;
  for (const Tap& corner : corners) {
    Tensor index = corner.index.reshape({n, 1, -1}).expand({n, c, -1});
    Tensor values = flat.gather(2, index).reshape(result_size);
    Tensor part = where(corner.is_inside.unsqueeze(1), values * corner.weight.unsqueeze(1), 0.0);
    total = total.defined() ? total + part : part;
  }
  return total.contiguous();
}

// The coordinates of n pixels, -1 to 1.
inline Tensor pixel_centers(int64_t n, bool align_corners, const TensorOptions& options) {
  if (n <= 1) return zeros({n}, options);
  Tensor at = linspace(-1, 1, n, options);
  return align_corners ? at : at * (static_cast<double>(n - 1) / static_cast<double>(n));
}

inline void warn_about_corners(const char* name) {
  core::warn(core::str("Default ", name,
                       " and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
                       "align_corners=True if the old behavior is desired."));
}

}  // namespace detail

inline Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  if (!options.align_corners()) detail::warn_about_corners("grid_sample");
  return detail::sampled(
      input, grid,
      {static_cast<detail::Sampling>(options.mode().index()),
       static_cast<detail::SamplePadding>(options.padding_mode().index()), options.align_corners().value_or(false)});
}

inline Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  UT_CHECK_VALUE(theta.is_floating_point(), "Expected theta to have floating point type, but got ",
                 theta.dtype().name());
  UT_CHECK_AS(NotImplemented, size.size() == 4 || size.size() == 5,
              "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size ",
              core::ShapeText{size});
  const auto space = static_cast<int64_t>(size.size()) - 2;
  UT_CHECK_VALUE(theta.dim() == 3 && theta.size(1) == space && theta.size(2) == space + 1, "Expected a batch of ",
                 space, "D affine matrices of shape Nx", space, "x", space + 1, " for size ", core::ShapeText{size},
                 ". Got ", core::ShapeText{theta.sizes()}, ".");
  for (int64_t n : size) UT_CHECK_VALUE(n > 0, "Expected non-zero, positive output size. Got ", core::ShapeText{size});
  variable_list axes;
  for (int64_t n : size.slice(2)) axes.push_back(detail::pixel_centers(n, align_corners, theta.options()));
  variable_list places = meshgrid(axes);
  std::reverse(places.begin(), places.end());
  places.push_back(ones(size.slice(2), theta.options()));
  std::vector<int64_t> result_size = size.vec();
  result_size.erase(result_size.begin() + 1);
  result_size.push_back(space);
  Tensor points = stack(places, -1).reshape({1, -1, space + 1}).expand({size[0], -1, -1});
  return points.bmm(theta.transpose(1, 2)).reshape(result_size);
}

}  // namespace undertow::nn::functional
