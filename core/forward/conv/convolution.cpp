// convolution.cpp: a convolution's three readings: the result from image and weight, the image from result and weight,
// the weight from image and result. Checks and dtypes; the arithmetic is in kernels/cpu/conv/conv.h.
// build: small
#include "core/kernels/cpu/conv/conv.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/cpu/conv/depthwise.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/tensor/layout.h"
#include "generated/fwd_conv.h"

namespace undertow::fwd {
namespace {

// The image in x, the weight in w, the result in y: which of them is asked for.
enum class Asked { Result, Image, Weight };

// --- shapes ------------------------------------------------------------------------------------------------------

// A list for `dims` dimensions; one value stands for all.
Dims expanded(IntSpan list, int64_t dims, const char* name) {
  if (list.size() == 1) return Dims(static_cast<size_t>(dims), list[0]);
  UT_CHECK(static_cast<int64_t>(list.size()) == dims, "expected ", name, " to be a single integer value or a list of ",
           dims, " values to match the convolution dimensions, but got ", name, "=", ShapeText{list});
  return Dims(list);
}

bool any_below(IntSpan list, int64_t least) {
  return std::any_of(list.begin(), list.end(), [&](int64_t v) { return v < least; });
}

// (3 x 4), as torch's messages print sizes.
std::string by(IntSpan sizes) {
  std::string text;
  for (int64_t s : sizes) text += (text.empty() ? "(" : " x ") + std::to_string(s);
  return text + ")";
}

struct Windows {
  Dims stride, padding, dilation;

  Windows(IntSpan stride, IntSpan padding, IntSpan dilation, int64_t dims)
      : stride(expanded(stride, dims, "stride")),
        padding(expanded(padding, dims, "padding")),
        dilation(expanded(dilation, dims, "dilation")) {}

  // Elements from a window's first tap to its last, inclusive.
  int64_t extent(const Tensor& weight, size_t d) const {
    return dilation[d] * (weight.size(static_cast<int64_t>(d) + 2) - 1) + 1;
  }
};

void check_channels(const Tensor& input, const Tensor& weight, const Tensor& bias, bool transposed, int64_t groups) {
  UT_CHECK(input.dim() == weight.dim(), "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
           "-dimensional weight ", ShapeText{weight.sizes()}, ", but got ", input.dim(), "-dimensional input of size ",
           ShapeText{input.sizes()}, " instead");
  UT_CHECK(weight.size(0) >= groups, "Given groups=", groups, ", expected weight to be at least ", groups,
           " at dimension 0, but got weight of size ", ShapeText{weight.sizes()}, " instead");
  UT_CHECK(weight.size(0) % groups == 0, "Given groups=", groups, ", expected weight to be divisible by ", groups,
           " at dimension 0, but got weight of size ", ShapeText{weight.sizes()}, " instead");
  int64_t wanted = transposed ? weight.size(0) : weight.size(1) * groups;
  std::string given = transposed ? "transposed=1" : str("groups=", groups);
  UT_CHECK(input.size(1) == wanted, "Given ", given, ", weight of size ", ShapeText{weight.sizes()}, ", expected input",
           ShapeText{input.sizes()}, " to have ", wanted, " channels, but got ", input.size(1), " channels instead");
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  UT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == channels), "Given ",
           transposed ? "transposed=1, " : "", "weight of size ", ShapeText{weight.sizes()},
           ", expected bias to be 1-dimensional with ", channels, " elements, but got bias of size ",
           ShapeText{bias.sizes()}, " instead");
}

void check_dtypes(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  UT_CHECK(input.dtype() == weight.dtype(), "Input type (torch.", long_name(input.dtype()),
           "Tensor) and weight type (torch.", long_name(weight.dtype()), "Tensor) should be the same");
  UT_CHECK(!bias.defined() || bias.dtype() == input.dtype(), "Input type (", cpp_name(input.dtype()),
           ") and bias type (", cpp_name(bias.dtype()), ") should be the same");
  UT_CHECK_AS(NotImplemented, input.dtype() != DType::Bool, "\"convolution\" not implemented for 'Bool'");
}

// The windows must fit: the kernel into the padded image.
void check_windows(const Tensor& input, const Tensor& weight, const Windows& w) {
  Dims padded, kernel;
  bool fits = true;
  for (size_t d = 0; d < w.stride.size(); d++) {
    padded.push_back(input.size(static_cast<int64_t>(d) + 2) + 2 * w.padding[d]);
    kernel.push_back(w.extent(weight, d));
    fits = fits && padded[d] >= kernel[d];
  }
  UT_CHECK(fits, "Calculated padded input size per channel: ", by(padded), ". Kernel size: ", by(kernel),
           ". Kernel size can't be greater than actual input size");
}

Dims result_sizes(const Tensor& input, const Tensor& weight, const Windows& w) {
  Dims sizes{input.size(0), weight.size(0)};
  for (size_t d = 0; d < w.stride.size(); d++) {
    sizes.push_back((input.size(static_cast<int64_t>(d) + 2) + 2 * w.padding[d] - w.extent(weight, d)) / w.stride[d] +
                    1);
  }
  return sizes;
}

Dims transposed_sizes(const Tensor& input, const Tensor& weight, const Windows& w, IntSpan output_padding,
                      int64_t groups) {
  Dims sizes{input.size(0), weight.size(1) * groups};
  for (size_t d = 0; d < w.stride.size(); d++) {
    UT_CHECK(output_padding[d] < std::max(w.stride[d], w.dilation[d]),
             "output padding must be smaller than either stride or dilation, but got output_padding=",
             ShapeText{output_padding}, ", stride=", ShapeText{w.stride}, ", dilation=", ShapeText{w.dilation});
    int64_t length = (input.size(static_cast<int64_t>(d) + 2) - 1) * w.stride[d] - 2 * w.padding[d] +
                     w.extent(weight, d) + output_padding[d];
    sizes.push_back(length);
  }
  Dims inner(sizes.begin() + 2, sizes.end());
  UT_CHECK(!any_below(inner, 0), "Given input size per channel: ", by(input.sizes().subspan(2)),
           ". Calculated output size per channel: ", by(inner), ". Output size is too small: the padding ",
           ShapeText{w.padding}, " takes more than there is");
  return sizes;
}

cpu::ConvShape shape_of(IntSpan x, IntSpan w, IntSpan y, const Windows& windows, int64_t groups) {
  cpu::ConvShape s{x[0], groups, x[1], y[1], {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  size_t n = windows.stride.size();
  for (size_t d = 0; d < n; d++) {
    size_t axis = 3 - n + d;
    s.in[axis] = x[d + 2];
    s.kernel[axis] = w[d + 2];
    s.out[axis] = y[d + 2];
    s.stride[axis] = windows.stride[d];
    s.pad[axis] = windows.padding[d];
    s.dilation[axis] = windows.dilation[d];
  }
  return s;
}

// --- dtypes ------------------------------------------------------------------------------------------------------

template <class T>
void compute_as(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                const Tensor& out) {
  const T* add = bias.defined() ? bias.data_as<T>() : nullptr;
  if (asked == Asked::Result) return cpu::conv_forward<T>(s, a.data_as<T>(), b.data_as<T>(), add, out.data_as<T>());
  if (asked == Asked::Image) return cpu::conv_input<T>(s, a.data_as<T>(), b.data_as<T>(), add, out.data_as<T>());
  if constexpr (!std::is_integral_v<T>) return cpu::conv_weight<T>(s, a.data_as<T>(), b.data_as<T>(), out.data_as<T>());
  UT_ASSERT(false, "integers have no derivative");
}

Tensor compute(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
               IntSpan sizes);

template <class T>
std::pair<Tensor, Tensor> parts_as(const Tensor& t, DType real) {
  Tensor whole = contiguous(t), re = undertow::empty(t.sizes(), real), im = undertow::empty(t.sizes(), real);
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
Tensor compute_complex(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                       IntSpan sizes, DType real) {
  auto [a_re, a_im] = parts_as<T>(a, real);
  auto [b_re, b_im] = parts_as<T>(b, real);
  Tensor bias_re, bias_im;
  if (bias.defined()) std::tie(bias_re, bias_im) = parts_as<T>(bias, real);
  Tensor rr = compute(asked, s, a_re, b_re, bias_re, sizes), ii = compute(asked, s, a_im, b_im, {}, sizes);
  Tensor ri = compute(asked, s, a_re, b_im, bias_im, sizes), ir = compute(asked, s, a_im, b_re, {}, sizes);
  Tensor out = undertow::empty(sizes, a.dtype());
  const T *prr = rr.data_as<T>(), *pii = ii.data_as<T>(), *pri = ri.data_as<T>(), *pir = ir.data_as<T>();
  T* to = out.data_as<T>();
  for (int64_t n = 0; n < out.numel(); n++) {
    to[2 * n] = prr[n] - pii[n];
    to[2 * n + 1] = pri[n] + pir[n];
  }
  return out;
}

// Small floats are summed as float32, small integers as int64: rounded or cut once, at the end.
Tensor compute(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
               IntSpan sizes) {
  DType dtype = a.dtype();
  if (dtype == DType::Complex64) return compute_complex<float>(asked, s, a, b, bias, sizes, DType::Float32);
  if (dtype == DType::Complex128) return compute_complex<double>(asked, s, a, b, bias, sizes, DType::Float64);
  DType wide =
      dtype == DType::Float64 || is_integral(dtype) ? (is_integral(dtype) ? DType::Int64 : dtype) : DType::Float32;
  if (wide != dtype)
    return to_dtype(
        compute(asked, s, to_dtype(a, wide), to_dtype(b, wide), bias.defined() ? to_dtype(bias, wide) : bias, sizes),
        dtype);
  Tensor ca = contiguous(a), cb = contiguous(b), add = bias.defined() ? contiguous(bias) : bias,
         out = undertow::empty(sizes, dtype);
  if (dtype == DType::Float32) {
    compute_as<float>(asked, s, ca, cb, add, out);
  } else if (dtype == DType::Float64) {
    compute_as<double>(asked, s, ca, cb, add, out);
  } else {
    compute_as<int64_t>(asked, s, ca, cb, add, out);
  }
  return out;
}

bool has_channels_last(const Tensor& t) {
  if (t.dim() == 4) return suggested_format(t) == MemoryFormat::ChannelsLast;
  return t.dim() == 5 && !t.is_contiguous() && is_in_format(t, MemoryFormat::ChannelsLast3d);
}

// --- channels last -----------------------------------------------------------------------------------------------

bool is_dense_channels_last(const Tensor& t) {
  return has_channels_last(t) &&
         is_in_format(t, t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
}

// With their channels last, images are matrices of pixels by channels, and a 1x1 kernel is a product with them as they
// lie.
bool is_product_of_pixels(const cpu::ConvShape& s, const Tensor& image) {
  bool plain =
      s.groups == 1 && (image.dtype() == DType::Float32 || image.dtype() == DType::Float64) && image.numel() > 0;
  for (int axis = 0; axis < 3; axis++) plain = plain && s.kernel[axis] == 1 && s.stride[axis] == 1 && s.pad[axis] == 0;
  return plain && is_dense_channels_last(image);
}

constexpr int64_t kPixelsAtOnce = 256;

template <class T>
void multiply_pixels(Asked asked, const cpu::ConvShape& s, const T* a, const T* b, const T* bias, T* out) {
  int64_t pixels = s.batch * s.in[0] * s.in[1] * s.in[2], x = s.in_channels, y = s.out_channels,
          channels = asked == Asked::Result ? y : x;
  if (asked == Asked::Weight) return cpu::gemm<T>(y, x, pixels, T{1}, b, 1, y, a, x, 1, T{}, out, x, 1);
  // A block at a time takes the bias, and then the product, while it is in a near cache.
  parallel_for(0, pixels, bias ? kPixelsAtOnce : pixels, [&](int64_t begin, int64_t end) {
    T* to = out + begin * channels;
    for (int64_t i = 0; bias && i < end - begin; i++) std::copy_n(bias, channels, to + i * channels);
    T beta = bias ? T{1} : T{};
    if (asked == Asked::Result)
      return cpu::gemm<T>(end - begin, y, x, T{1}, a + begin * x, x, 1, b, 1, x, beta, to, y, 1);
    cpu::gemm<T>(end - begin, x, y, T{1}, a + begin * y, y, 1, b, x, 1, beta, to, x, 1);
  });
}

Tensor compute_pixels(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                      IntSpan sizes) {
  MemoryFormat format = sizes.size() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  Tensor other = asked == Asked::Weight ? b : contiguous(b), add = bias.defined() ? contiguous(bias) : bias,
         out = undertow::empty(sizes, a.dtype());
  if (asked != Asked::Weight) out = empty_in_format(out, a.dtype(), format);
  auto as = [&]<class T>(T) {
    multiply_pixels<T>(asked, s, a.data_as<T>(), other.data_as<T>(), add.defined() ? add.data_as<T>() : nullptr,
                       out.data_as<T>());
  };
  a.dtype() == DType::Float32 ? as(float{}) : as(double{});
  return out;
}

bool is_depthwise_of_pixels(const cpu::ConvShape& s, const Tensor& image) {
  bool depthwise = s.groups == s.in_channels && s.groups == s.out_channels && image.dtype() == DType::Float32;
  return depthwise && image.dim() == 4 && image.numel() > 0 && is_dense_channels_last(image);
}

// A single channel of each group: channels are lanes as they lie.
Tensor compute_depthwise(Asked asked, const cpu::ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                         IntSpan sizes) {
  Tensor w = contiguous(b), add = bias.defined() ? contiguous(bias) : bias;
  Tensor out = empty_in_format(undertow::empty(sizes, a.dtype()), a.dtype(), MemoryFormat::ChannelsLast);
  auto* compute = asked == Asked::Result ? cpu::depthwise_forward : cpu::depthwise_input;
  compute(s, a.data_as<float>(), w.data_as<float>(), add.defined() ? add.data_as<float>() : nullptr,
          out.data_as<float>());
  return out;
}

// The result lies with its channels last if an argument does.
Tensor like_arguments(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (!has_channels_last(a) && !has_channels_last(b)) return out;
  Tensor moved =
      empty_in_format(out, out.dtype(), out.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
  copy_into(moved, out);
  return moved;
}

Tensor compute_image(const cpu::ConvShape& s, const Tensor& output, const Tensor& weight, const Tensor& bias,
                     IntSpan sizes) {
  if (is_product_of_pixels(s, output)) return compute_pixels(Asked::Image, s, output, weight, bias, sizes);
  if (is_depthwise_of_pixels(s, output)) return compute_depthwise(Asked::Image, s, output, weight, bias, sizes);
  return like_arguments(compute(Asked::Image, s, output, weight, bias, sizes), output, weight);
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride, IntSpan padding,
                   IntSpan dilation, bool transposed, IntSpan output_padding, int64_t groups) {
  UT_CHECK(weight.dim() >= 3, "weight should have at least three dimensions, but has size ", ShapeText{weight.sizes()});
  UT_CHECK(weight.dim() <= 5, "convolution: expected a weight of 3 to 5 dimensions, but got size ",
           ShapeText{weight.sizes()});
  Windows w(stride, padding, dilation, weight.dim() - 2);
  Dims extra = expanded(output_padding, weight.dim() - 2, "output_padding");
  UT_CHECK(groups > 0, "non-positive groups is not supported: got groups=", groups);
  UT_CHECK(!any_below(w.padding, 0), "negative padding is not supported: got padding=", ShapeText{w.padding});
  UT_CHECK(!any_below(extra, 0), "negative output_padding is not supported: got output_padding=", ShapeText{extra});
  UT_CHECK(!any_below(w.stride, 1), "non-positive stride is not supported: got stride=", ShapeText{w.stride});
  UT_CHECK(!any_below(w.dilation, 1), "dilation should be greater than zero, but got dilation=", ShapeText{w.dilation});
  check_dtypes(input, weight, bias);
  check_channels(input, weight, bias, transposed, groups);
  for (int64_t d = 2; d < weight.dim(); d++) {
    UT_CHECK(weight.size(d) > 0, "convolution: the kernel is empty: got weight of size ", ShapeText{weight.sizes()});
  }
  if (transposed) {
    Dims sizes = transposed_sizes(input, weight, w, extra, groups);
    return compute_image(shape_of(sizes, weight.sizes(), input.sizes(), w, groups), input, weight, bias, sizes);
  }
  check_windows(input, weight, w);
  Dims sizes = result_sizes(input, weight, w);
  cpu::ConvShape shape = shape_of(input.sizes(), weight.sizes(), sizes, w, groups);
  if (is_product_of_pixels(shape, input)) return compute_pixels(Asked::Result, shape, input, weight, bias, sizes);
  if (is_depthwise_of_pixels(shape, input)) return compute_depthwise(Asked::Result, shape, input, weight, bias, sizes);
  return like_arguments(compute(Asked::Result, shape, input, weight, bias, sizes), input, weight);
}

Tensor convolution_input(const Tensor& output, const Tensor& weight, IntSpan size, IntSpan stride, IntSpan padding,
                         IntSpan dilation, int64_t groups) {
  Windows w(stride, padding, dilation, weight.dim() - 2);
  return compute_image(shape_of(size, weight.sizes(), output.sizes(), w, groups), output, weight, {}, size);
}

Tensor convolution_weight(const Tensor& input, const Tensor& output, IntSpan size, IntSpan stride, IntSpan padding,
                          IntSpan dilation, int64_t groups) {
  Windows w(stride, padding, dilation, static_cast<int64_t>(size.size()) - 2);
  cpu::ConvShape shape = shape_of(input.sizes(), size, output.sizes(), w, groups);
  if (is_product_of_pixels(shape, input) && is_product_of_pixels(shape, output))
    return compute_pixels(Asked::Weight, shape, input, output, {}, size);
  if (is_depthwise_of_pixels(shape, input) && is_depthwise_of_pixels(shape, output)) {
    Tensor out = undertow::empty(size, input.dtype());
    cpu::depthwise_weight(shape, input.data_as<float>(), output.data_as<float>(), out.data_as<float>());
    return out;
  }
  return compute(Asked::Weight, shape, input, output, {}, size);
}

}  // namespace undertow::fwd
