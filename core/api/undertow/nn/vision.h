// vision.h: images: resizing, sampling at the points of a grid, sliding blocks; as functions and as modules.
#pragma once
#include <undertow/functions.h>
#include <undertow/nn/function_module.h>
#include <undertow/nn/options/vision.h>

namespace undertow::nn {

namespace functional {

// Resizes images (batch, channels, ...) to `size` or by `scale_factor`.
inline Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options);
// Samples images at the points of `grid` (batch, ..., 2 or 3), which are (x, y) or (x, y, z) from -1 to 1.
inline Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});
// The grid that transforms images of `size` with the affine maps `theta`.
inline Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);

// Sliding blocks as columns: (N, C, H, W) becomes (N, C * taps, blocks); and back, where overlapping blocks are summed.
inline Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  return im2col(input, *o.kernel_size(), *o.dilation(), *o.padding(), *o.stride());
}
inline Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  return col2im(input, *o.output_size(), *o.kernel_size(), *o.dilation(), *o.padding(), *o.stride());
}

}  // namespace functional

UNDERTOW_FUNCTION_MODULE(Unfold, UnfoldOptions, functional::unfold(input, o));
UNDERTOW_FUNCTION_MODULE(Fold, FoldOptions, functional::fold(input, o));

class UpsampleImpl : public detail::FunctionModule<UpsampleImpl, UpsampleOptions> {
 public:
  using FunctionModule::FunctionModule;
  Tensor forward(const Tensor& input) {
    functional::InterpolateFuncOptions o;
    o.size(options.size()).scale_factor(options.scale_factor()).align_corners(options.align_corners());
    std::visit([&](auto mode) { o.mode(mode); }, options.mode());
    return functional::interpolate(input, o);
  }
};
UNDERTOW_MODULE(Upsample);

}  // namespace undertow::nn

#include <undertow/nn/grid_sample_inline.h>
#include <undertow/nn/interpolate_inline.h>
