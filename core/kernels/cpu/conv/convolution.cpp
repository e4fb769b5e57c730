// convolution.cpp: the CPU's ConvKernels: chooses how to compute a convolution, by dtype and layout.
// build: small
#include <algorithm>
#include <tuple>

#include "core/base/parallel.h"
#include "core/kernels/conv.h"
#include "core/kernels/cpu/conv/conv.h"
#include "core/kernels/cpu/conv/depthwise.h"
#include "core/kernels/cpu/conv/fold.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace undertow::core::cpu {

namespace {

// --- Row-major

template <class T>
void compute_as(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                const Tensor& out) {
  const T* add = bias.defined() ? bias.data_as<T>() : nullptr;
  if (asked == ConvResult::Output) return conv_forward<T>(s, a.data_as<T>(), b.data_as<T>(), add, out.data_as<T>());
  if (asked == ConvResult::Image) return conv_input<T>(s, a.data_as<T>(), b.data_as<T>(), add, out.data_as<T>());
  if constexpr (!std::is_integral_v<T>) return conv_weight<T>(s, a.data_as<T>(), b.data_as<T>(), out.data_as<T>());
  UT_ASSERT(false, "integers have no derivative");
}

void compute(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
             const Tensor& out);

template <class T>
std::pair<Tensor, Tensor> parts_as(const Tensor& t, DType real) {
  Tensor whole = contiguous(t), re = empty(t.sizes(), real, kCpu), im = empty(t.sizes(), real, kCpu);
  const T* from = whole.data_as<T>();
  T *r = re.data_as<T>(), *i = im.data_as<T>();
  for (int64_t n = 0; n < t.numel(); n++) {
    r[n] = from[2 * n];
    i[n] = from[2 * n + 1];
  }
  return {re, im};
}

// (a + ib)(c + id), from real convolutions.
template <class T>
void compute_complex(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                     const Tensor& out, DType real) {
  auto [a_re, a_im] = parts_as<T>(a, real);
  auto [b_re, b_im] = parts_as<T>(b, real);
  Tensor bias_re, bias_im;
  if (bias.defined()) std::tie(bias_re, bias_im) = parts_as<T>(bias, real);
  auto product = [&](const Tensor& x, const Tensor& y, const Tensor& add) {
    Tensor to = empty(out.sizes(), real, kCpu);
    compute(asked, s, x, y, add, to);
    return to;
  };
  Tensor rr = product(a_re, b_re, bias_re), ii = product(a_im, b_im, {});
  Tensor ri = product(a_re, b_im, bias_im), ir = product(a_im, b_re, {});
  const T *prr = rr.data_as<T>(), *pii = ii.data_as<T>(), *pri = ri.data_as<T>(), *pir = ir.data_as<T>();
  T* to = out.data_as<T>();
  for (int64_t n = 0; n < out.numel(); n++) {
    to[2 * n] = prr[n] - pii[n];
    to[2 * n + 1] = pri[n] + pir[n];
  }
}

// Writes row-major memory. Half dtypes are summed in float32, small integers in int64, and rounded or truncated once,
// at the end.
void compute(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
             const Tensor& out) {
  DType dtype = a.dtype();
  if (dtype == DType::Complex64) return compute_complex<float>(asked, s, a, b, bias, out, DType::Float32);
  if (dtype == DType::Complex128) return compute_complex<double>(asked, s, a, b, bias, out, DType::Float64);
  DType wide = is_integral(dtype) ? DType::Int64 : dtype == DType::Float64 ? dtype : DType::Float32;
  Tensor ca = contiguous_as(a, wide), cb = contiguous_as(b, wide),
         add = bias.defined() ? contiguous_as(bias, wide) : bias,
         to = wide == dtype ? out : empty(out.sizes(), wide, kCpu);
  if (wide == DType::Float32)
    compute_as<float>(asked, s, ca, cb, add, to);
  else if (wide == DType::Float64)
    compute_as<double>(asked, s, ca, cb, add, to);
  else
    compute_as<int64_t>(asked, s, ca, cb, add, to);
  if (wide != dtype && out.numel()) copy(out, to);
}

// --- Channels-last

// Channels-last images are matrices of pixels by channels, and a 1x1 convolution is a product with such a matrix.
bool is_product_of_pixels(const ConvShape& s, const Tensor& image, bool channels_last) {
  bool plain = channels_last && s.groups == 1 && image.numel() > 0 &&
               (image.dtype() == DType::Float32 || image.dtype() == DType::Float64);
  for (int axis = 0; axis < 3; axis++) plain = plain && s.kernel[axis] == 1 && s.stride[axis] == 1 && s.pad[axis] == 0;
  return plain;
}

constexpr int64_t kPixelsAtOnce = 256;

template <class T>
void multiply_pixels(ConvResult asked, const ConvShape& s, const T* a, const T* b, const T* bias, T* out) {
  int64_t pixels = s.batch * s.in[0] * s.in[1] * s.in[2], x = s.in_channels, y = s.out_channels,
          channels = asked == ConvResult::Output ? y : x;
  if (asked == ConvResult::Weight) return gemm<T>(y, x, pixels, T{1}, b, 1, y, a, x, 1, T{}, out, x, 1);
  // Each block first gets the bias, then the product is added while the block is in a near cache.
  parallel_for(0, pixels, bias ? kPixelsAtOnce : pixels, [&](int64_t begin, int64_t end) {
    T* to = out + begin * channels;
    for (int64_t i = 0; bias && i < end - begin; i++) std::copy_n(bias, channels, to + i * channels);
    T beta = bias ? T{1} : T{};
    if (asked == ConvResult::Output)
      return gemm<T>(end - begin, y, x, T{1}, a + begin * x, x, 1, b, 1, x, beta, to, y, 1);
    gemm<T>(end - begin, x, y, T{1}, a + begin * y, y, 1, b, x, 1, beta, to, x, 1);
  });
}

void compute_pixels(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                    const Tensor& out) {
  Tensor other = asked == ConvResult::Weight ? b : contiguous(b), add = bias.defined() ? contiguous(bias) : bias;
  auto as = [&]<class T>(T) {
    multiply_pixels<T>(asked, s, a.data_as<T>(), other.data_as<T>(), add.defined() ? add.data_as<T>() : nullptr,
                       out.data_as<T>());
  };
  a.dtype() == DType::Float32 ? as(float{}) : as(double{});
}

// One channel per group: neighbouring channels are the lanes.
bool is_depthwise_of_pixels(const ConvShape& s, const Tensor& image, bool channels_last) {
  bool depthwise = s.groups == s.in_channels && s.groups == s.out_channels && image.dtype() == DType::Float32;
  return channels_last && depthwise && image.dim() == 4 && image.numel() > 0;
}

void compute_depthwise(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                       const Tensor& out) {
  if (asked == ConvResult::Weight)
    return depthwise_weight(s, a.data_as<float>(), b.data_as<float>(), out.data_as<float>());
  Tensor w = contiguous(b), add = bias.defined() ? contiguous(bias) : bias;
  auto* compute = asked == ConvResult::Output ? depthwise_forward : depthwise_input;
  compute(s, a.data_as<float>(), w.data_as<float>(), add.defined() ? add.data_as<float>() : nullptr,
          out.data_as<float>());
}

void convolution(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias, const Convolution& conv) {
  const ConvShape& s = conv.shape;
  // A weight gradient is computed from two images; the others from an image and a weight, which may have any layout.
  auto all_are = [&](bool (*is)(const ConvShape&, const Tensor&, bool)) {
    return is(s, a, conv.a_channels_last) && (conv.result != ConvResult::Weight || is(s, b, conv.b_channels_last));
  };
  if (all_are(is_product_of_pixels)) return compute_pixels(conv.result, s, a, b, bias, out);
  if (all_are(is_depthwise_of_pixels)) return compute_depthwise(conv.result, s, a, b, bias, out);
  if (out.is_contiguous()) return compute(conv.result, s, a, b, bias, out);
  Tensor row_major = empty(out.sizes(), out.dtype(), kCpu);
  compute(conv.result, s, a, b, bias, row_major);
  copy(out, row_major);
}

}  // namespace

constinit const ConvKernels conv_kernels = {.convolution = convolution, .im2col = im2col, .col2im = col2im};

}  // namespace undertow::core::cpu
