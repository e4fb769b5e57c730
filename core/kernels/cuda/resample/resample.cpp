// resample.cpp: see resample.h. Launches of resample.cuh.
#include "core/kernels/cuda/resample/resample.h"

#include "core/kernels/cuda/index/index_launch.h"
#include "core/kernels/cuda/resample/resample_params.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate axis_kernel("resample/resample.cuh", "resample_axis");
KernelTemplate axis_backward_kernel("resample/resample.cuh", "resample_axis_backward");
KernelTemplate nearest_kernel("resample/resample.cuh", "copy_nearest");
KernelTemplate nearest_backward_kernel("resample/resample.cuh", "add_nearest");

bool is_nearest(const Resampling& how) {
  return how.filter == Resampling::Nearest || how.filter == Resampling::NearestExact;
}

ResampledAxis axis_of(const Resampling& how, int64_t in, int64_t out, std::optional<double> scale) {
  ResampledAxis a{in, out, static_cast<int>(how.filter), how.antialias, how.align_corners, 0, 0};
  const bool given = scale && *scale > 0;
  if (how.align_corners)
    a.step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  else
    a.step = given ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out);
  a.nearest_step = given ? static_cast<float>(1.0 / *scale) : static_cast<float>(in) / static_cast<float>(out);
  return a;
}

// The resampled axes, outermost first; missing ones have one element.
struct Axes {
  ResampledAxis axis[3];
  int64_t planes;
};
Axes axes_of(const Tensor& full, const Tensor& resampled, const Resampling& how) {
  Axes all;
  const size_t lead = full.sizes().size() - static_cast<size_t>(how.spatial);
  for (int64_t d = 0; d < 3; d++) {
    const int64_t k = d - (3 - how.spatial);
    if (k < 0)
      all.axis[d] = ResampledAxis{1, 1, static_cast<int>(how.filter), false, false, 1, 1};
    else
      all.axis[d] = axis_of(how, full.sizes()[lead + static_cast<size_t>(k)],
                            resampled.sizes()[lead + static_cast<size_t>(k)], how.scales[d]);
  }
  all.planes = product(full.sizes().subspan(0, lead));
  return all;
}

NearestPlanes nearest_of(const Axes& all) {
  NearestPlanes p{{all.axis[0], all.axis[1], all.axis[2]}, 1, 1};
  for (const ResampledAxis& a : all.axis) {
    p.in_plane *= a.in;
    p.out_plane *= a.out;
  }
  return p;
}

// Filters axis after axis, with intermediate results in the arithmetic's dtype. An image that grows is resampled along
// the last axis first, one that shrinks along it last; the reverse if transposed.
void filter(const Tensor& out, const Tensor& in, const Axes& all, const Resampling& how, bool transposed) {
  Launcher on(out);
  const DType t = in.dtype(), wide = t == DType::Float64 ? t : DType::Float32;
  const NearestPlanes planes = nearest_of(all);
  const bool outermost_first = transposed != (planes.out_plane < planes.in_plane);
  int64_t sizes[3];
  for (int d = 0; d < 3; d++) sizes[d] = transposed ? all.axis[d].out : all.axis[d].in;
  Tensor from = in;
  for (int64_t step = 0; step < how.spatial; step++) {
    const int64_t d = outermost_first ? 3 - how.spatial + step : 2 - step;
    const ResampledAxis& a = all.axis[d];
    sizes[d] = transposed ? a.in : a.out;
    int64_t after = 1, n = all.planes * sizes[0] * sizes[1] * sizes[2];
    for (int64_t e = d + 1; e < 3; e++) after *= sizes[e];
    const bool last = step == how.spatial - 1;
    Tensor to = last ? out : empty_on_device_of(out, Dims{n}, wide);
    on.run(transposed ? axis_backward_kernel : axis_kernel, {to.dtype(), from.dtype(), wide}, shape_of_index(n),
           to.data(), from.data(), n, after, a);
    from = to;
  }
}

void resample(const Tensor& out, const Tensor& in, const Resampling& how) {
  if (out.numel() == 0) return;
  const Axes all = axes_of(in, out, how);
  if (!is_nearest(how)) return filter(out, in, all, how, false);
  Launcher on(out);
  on.run(nearest_kernel, {word_of(in.itemsize())}, shape_of_index(out.numel()), out.data(), in.data(), out.numel(),
         nearest_of(all));
}

void backward(const Tensor& grad_input, const Tensor& grad_output, const Resampling& how) {
  if (grad_input.numel() == 0) return;
  const Axes all = axes_of(grad_input, grad_output, how);
  if (!is_nearest(how)) return filter(grad_input, grad_output, all, how, true);
  Launcher on(grad_input);
  on.run(nearest_backward_kernel, {grad_input.dtype()}, shape_of_index(grad_input.numel()), grad_input.data(),
         grad_output.data(), grad_input.numel(), nearest_of(all));
}

}  // namespace

const ResampleKernels resample_kernels = {.resample = resample, .backward = backward};

}  // namespace undertow::core::cuda
