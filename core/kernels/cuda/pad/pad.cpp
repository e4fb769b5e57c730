// pad.cpp: see pad.h. Launches of pad.cuh.
#include "core/kernels/cuda/pad/pad.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/index/index_launch.h"
#include "core/kernels/cuda/pad/pad_params.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate planes_kernel("pad/pad.cuh", "pad_planes");
KernelTemplate backward_kernel("pad/pad.cuh", "pad_planes_backward");
KernelTemplate constant_kernel("pad/pad.cuh", "pad_constant");

// Names of the device's enum PadFrom.
const char* name_of(PadMode mode) {
  static constexpr const char* kNames[] = {"Reflect", "Replicate", "Circular"};
  return kNames[static_cast<size_t>(mode)];
}

// The padded dimensions as three; missing ones have size 1 and no padding.
PaddedVolume volume_of(IntSpan sizes, IntSpan padding) {
  PaddedVolume v{};
  const int64_t rank = static_cast<int64_t>(padding.size()) / 2, nd = static_cast<int64_t>(sizes.size());
  v.in_plane = v.out_plane = 1;
  for (int64_t d = 0; d < 3; d++) {
    const PadAxis a = d >= 3 - rank ? pad_axis(sizes, padding, nd - 3 + d) : PadAxis{1, 1, 0, 0};
    v.axes[d] = {a.in, a.out, a.left, a.begin(), a.from(), a.inside()};
    v.in_plane *= a.in;
    v.out_plane *= a.out;
  }
  return v;
}

void indexed(const Tensor& out, const Tensor& in, IntSpan padding, PadMode mode) {
  if (out.numel() == 0) return;
  Launcher on(out);
  on.run(planes_kernel, {word_of(in.itemsize()), name_of(mode)}, shape_of_index(out.numel()), out.data(), in.data(),
         out.numel(), volume_of(in.sizes(), padding));
}

void indexed_backward(const Tensor& grad_input, const Tensor& grad_output, IntSpan padding, PadMode mode) {
  if (grad_input.numel() == 0) return;
  if (grad_output.numel() == 0) return zero(grad_input);
  Launcher on(grad_input);
  on.run(backward_kernel, {grad_input.dtype(), name_of(mode)}, shape_of_index(grad_input.numel()), grad_input.data(),
         grad_output.data(), grad_input.numel(), volume_of(grad_input.sizes(), padding));
}

void constant(const Tensor& out, const Tensor& in, IntSpan padding, const Tensor& value) {
  if (out.numel() == 0) return;
  Launcher on(out);
  PaddedDims dims;
  dims.ndim = 0;
  for (int64_t d = 0; d < in.dim(); d++) {
    const PadAxis a = pad_axis(in.sizes(), padding, d);
    const bool plain = a.left == 0 && a.right == 0;
    // A dimension that is not padded becomes part of the one outside it.
    if (plain && dims.ndim) {
      const int last = dims.ndim - 1;
      dims.in[last] *= a.in;
      dims.out[last] *= a.out;
      dims.left[last] *= a.in;
      continue;
    }
    UT_CHECK(dims.ndim < PaddedDims::kMost, "constant_pad_nd: a CUDA tensor may have at most ", PaddedDims::kMost,
             " padded dimensions");
    dims.in[dims.ndim] = a.in;
    dims.out[dims.ndim] = a.out;
    dims.left[dims.ndim++] = a.left;
  }
  on.run(constant_kernel, {word_of(in.itemsize())}, shape_of_index(out.numel()), out.data(), in.data(), value.data(),
         out.numel(), dims);
}

}  // namespace

const PadKernels pad_kernels = {
    .indexed = indexed,
    .indexed_backward = indexed_backward,
    .constant = constant,
};

}  // namespace undertow::core::cuda
