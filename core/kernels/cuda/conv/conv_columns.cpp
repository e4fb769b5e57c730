// conv_columns.cpp: convolutions as products of the weight and a matrix whose columns are the windows of the image, for
// machines without cuDNN and for what it does not compute.
#include <algorithm>

#include "core/kernels/cuda/conv/conv.h"
#include "core/kernels/cuda/conv/windows.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/matmul/matmul.h"

namespace undertow::core::cuda {

namespace {

constexpr int64_t kColumnBytes = int64_t{256} << 20;  // as many images at once as fit, at least one

struct Sizes {
  int64_t groups, rows, depth, positions;  // rows: output channels of a group; depth: taps of its input channels
  explicit Sizes(const ConvShape& s)
      : groups(s.groups),
        rows(s.out_channels / s.groups),
        depth(s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2]),
        positions(s.out[0] * s.out[1] * s.out[2]) {}
};

WindowParams params_of(const ConvShape& s, const Tensor& image, int64_t count) {
  WindowParams p{count, s.in_channels, image.stride(0), image.stride(1), {0, 0, 0}, {}, {}, {}, {}, {}, {}};
  for (int64_t d = 2; d < image.dim(); d++) p.strides[3 - image.dim() + d] = image.stride(d);
  for (int d = 0; d < 3; d++) {
    p.in[d] = s.in[d];
    p.out[d] = s.out[d];
    p.kernel[d] = s.kernel[d];
    p.stride[d] = s.stride[d];
    p.pad[d] = s.pad[d];
    p.dilation[d] = s.dilation[d];
  }
  return p;
}

// Calls f(columns, first image, number of images) for all images, as many at once as the memory is meant for.
template <class F>
void for_chunks(const ConvShape& s, const Tensor& like, F&& f) {
  Sizes z(s);
  int64_t each = z.groups * z.depth * z.positions,
          chunk = std::clamp<int64_t>(kColumnBytes / std::max<int64_t>(1, each * like.itemsize()), 1,
                                      std::max<int64_t>(1, s.batch));
  Tensor columns = empty_on_device_of(like, IntSpan({chunk, each}), like.dtype());
  for (int64_t first = 0; first < s.batch; first += chunk) f(columns, first, std::min(chunk, s.batch - first));
}

// c = a b + beta c for every group of every image. Strides from image to image are `*_image`; those of a batch are
// between groups.
struct Side {
  const Tensor& tensor;
  MatrixStrides strides;
  int64_t image;
};
void multiply_images(const Side& c, const Side& a, const Side& b, int64_t images, int64_t groups, int64_t m, int64_t n,
                     int64_t k, const Scalar& beta) {
  // One call takes all groups of one image, or all images if there is one group.
  bool by_group = groups > 1;
  for (int64_t i = 0; i < (by_group ? images : 1); i++) {
    auto place = [&](const Side& side) {
      MatrixStrides s = side.strides;
      s.offset += i * side.image;
      if (!by_group) s.batch = side.image;
      return s;
    };
    multiply(c.tensor, a.tensor, b.tensor, {by_group ? groups : images, m, n, k, place(a), place(b), place(c)},
             Scalar(1), beta);
  }
}

void compute_output(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvShape& s) {
  Sizes z(s);
  Tensor w = contiguous(weight);
  if (bias.defined()) {
    int64_t strides[5] = {0, bias.stride(0), 0, 0, 0};
    copy(y,
         alias(bias, y.sizes(), IntSpan(strides, static_cast<size_t>(y.dim())), bias.storage_offset(), bias.dtype()));
  }
  for_chunks(s, y, [&](const Tensor& columns, int64_t first, int64_t count) {
    gather_windows(columns, x, first * x.stride(0), params_of(s, x, count));
    multiply_images({y, {z.rows * y.stride(1), y.stride(1), y.stride(-1), first * y.stride(0)}, y.stride(0)},
                    {w, {z.rows * z.depth, z.depth, 1}, 0},
                    {columns, {z.depth * z.positions, z.positions, 1}, z.groups * z.depth * z.positions}, count,
                    z.groups, z.rows, z.positions, z.depth, Scalar(bias.defined() ? 1 : 0));
  });
}

void compute_image(const Tensor& x, const Tensor& output, const Tensor& weight, const Tensor& bias,
                   const ConvShape& s) {
  Sizes z(s);
  Tensor w = contiguous(weight), y = contiguous(output), add = bias.defined() ? contiguous(bias) : bias;
  for_chunks(s, x, [&](const Tensor& columns, int64_t first, int64_t count) {
    multiply_images({columns, {z.depth * z.positions, z.positions, 1}, z.groups * z.depth * z.positions},
                    {w, {z.rows * z.depth, 1, z.depth}, 0},
                    {y, {z.rows * z.positions, z.positions, 1, first * y.stride(0)}, y.stride(0)}, count, z.groups,
                    z.depth, z.positions, z.rows, Scalar(0));
    fold_windows(x, first * x.stride(0), columns, add, params_of(s, x, count));
  });
}

void compute_weight(const Tensor& w, const Tensor& x, const Tensor& output, const ConvShape& s) {
  Sizes z(s);
  Tensor y = contiguous(output);
  if (s.batch == 0) return zero(w);
  for_chunks(s, w, [&](const Tensor& columns, int64_t first, int64_t count) {
    gather_windows(columns, x, first * x.stride(0), params_of(s, x, count));
    int64_t each = z.groups * z.depth * z.positions;
    for (int64_t i = 0; i < count; i++)
      multiply(w, y, columns,
               {z.groups,
                z.rows,
                z.depth,
                z.positions,
                {z.rows * z.positions, z.positions, 1, (first + i) * y.stride(0)},
                {z.depth * z.positions, 1, z.positions, i * each},
                {z.rows * z.depth, z.depth, 1}},
               Scalar(1), Scalar(first + i ? 1 : 0));
  });
}

}  // namespace

void convolve_by_columns(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias,
                         const Convolution& conv) {
  if (out.numel() == 0) return;
  if (is_reduced_float(out.dtype())) {  // rounded once, at the end
    Tensor wide = empty_on_device_of(out, out.sizes(), DType::Float32);
    convolve_by_columns(wide, contiguous_as(a, DType::Float32), contiguous_as(b, DType::Float32),
                        bias.defined() ? contiguous_as(bias, DType::Float32) : bias, conv);
    return copy(out, wide);
  }
  if (conv.result == ConvResult::Output)
    compute_output(out, a, b, bias, conv.shape);
  else if (conv.result == ConvResult::Image)
    compute_image(out, a, b, bias, conv.shape);
  else
    compute_weight(out, a, b, conv.shape);
}

}  // namespace undertow::core::cuda
