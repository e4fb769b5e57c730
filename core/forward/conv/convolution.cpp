// convolution.cpp: the three products of a convolution: the result from image and weight, the image from result and
// weight, the weight from image and result. Checks, shapes and layouts.
// build: small
#include <algorithm>

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/image_format.h"
#include "core/kernels/backend.h"
#include "core/kernels/conv.h"
#include "core/tensor/layout.h"
#include "generated/fwd_conv.h"

namespace undertow::core::fwd {
namespace {

// --- Shapes

// A list for `dims` dimensions; a single value is repeated.
Dims expanded(IntSpan list, int64_t dims, const char* name) {
  if (list.size() == 1) return Dims(static_cast<size_t>(dims), list[0]);
  UT_CHECK(static_cast<int64_t>(list.size()) == dims, "expected ", name, " to be a single integer value or a list of ",
           dims, " values to match the convolution dimensions, but got ", name, "=", ShapeText{list});
  return Dims(list);
}

bool any_below(IntSpan list, int64_t least) {
  return std::any_of(list.begin(), list.end(), [&](int64_t v) { return v < least; });
}

// Formats sizes as in torch's messages: (3 x 4).
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
        dilation(expanded(dilation, dims, "dilation")) {
    // Sums of their products with sizes fit into 64 bits then.
    for (IntSpan list : {IntSpan(this->stride), IntSpan(this->padding), IntSpan(this->dilation)})
      for (int64_t v : list)
        UT_CHECK(v <= INT32_MAX, "integer out of range: convolution expects stride, padding and dilation of at most ",
                 INT32_MAX, ", but got stride=", ShapeText{this->stride}, ", padding=", ShapeText{this->padding},
                 ", dilation=", ShapeText{this->dilation});
  }

  // The number of elements from a window's first tap to its last, inclusive.
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

// The kernel must fit into the padded image.
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
  UT_CHECK(!any_below(inner, 1), "Given input size per channel: ", by(input.sizes().subspan(2)),
           ". Calculated output size per channel: ", by(inner), ". Output size is too small: the padding ",
           ShapeText{w.padding}, " leaves nothing");
  return sizes;
}

ConvShape shape_of(IntSpan x, IntSpan w, IntSpan y, const Windows& windows, int64_t groups) {
  ConvShape s{x[0], groups, x[1], y[1], {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
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

// --- Layouts

bool has_channels_last(const Tensor& t) { return suggested_format(t) != MemoryFormat::Contiguous; }

bool is_dense_channels_last(const Tensor& t) {
  return has_channels_last(t) &&
         is_in_format(t, t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
}

// The result is channels-last if an argument is; a weight is row-major.
Tensor compute(ConvResult asked, const ConvShape& s, const Tensor& a, const Tensor& b, const Tensor& bias,
               IntSpan sizes) {
  if (UT_UNLIKELY(a.dtype() == DType::Complex32)) {
    Tensor wide = compute(asked, s, to_carrier(a), to_carrier(b), bias.defined() ? to_carrier(bias) : bias, sizes);
    return to_dtype(wide, a.dtype());
  }
  MemoryFormat format = asked == ConvResult::Weight || !(has_channels_last(a) || has_channels_last(b))
                            ? MemoryFormat::Contiguous
                        : sizes.size() == 4 ? MemoryFormat::ChannelsLast
                                            : MemoryFormat::ChannelsLast3d;
  Tensor out = format == MemoryFormat::Contiguous
                   ? empty_on_device_of(a, sizes, a.dtype())
                   : empty_strided_on_device_of(a, sizes, format_strides(sizes, format), a.dtype());
  backend_of(a).conv->convolution(out, a, b, bias, {asked, s, is_dense_channels_last(a), is_dense_channels_last(b)});
  return out;
}

// The kernels do not know channels-last signals, and only torch's kernels for 64 bits know no channels-last volumes.
Tensor in_format(const Tensor& result, bool channels_last) {
  if (result.dim() == 4 || result.numel() == 0) return result;  // the kernel has written it in its format
  if (result.dim() == 5) return channels_last ? result : contiguous(result);
  if (!channels_last) return result;
  IntSpan n = result.sizes();
  Tensor out = empty_strided_on_device_of(result, n, Dims{n[1] * n[2], 1, n[1]}, result.dtype());
  copy_into(out, result);
  return out;
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
    UT_CHECK(std::max(weight.size(d), input.size(d)) <= INT32_MAX && extra[static_cast<size_t>(d - 2)] <= INT32_MAX,
             "integer out of range: convolution expects sizes of at most ", INT32_MAX, ", but got input of size ",
             ShapeText{input.sizes()}, ", weight of size ", ShapeText{weight.sizes()},
             " and output_padding=", ShapeText{extra});
  }
  bool last = convolves_channels_last(input.sizes(), input.strides(), weight.sizes(), weight.strides(), input.dtype());
  if (transposed) {
    Dims sizes = transposed_sizes(input, weight, w, extra, groups);
    return in_format(compute(ConvResult::Image, shape_of(sizes, weight.sizes(), input.sizes(), w, groups), input,
                             weight, bias, sizes),
                     last);
  }
  check_windows(input, weight, w);
  Dims sizes = result_sizes(input, weight, w);
  return in_format(compute(ConvResult::Output, shape_of(input.sizes(), weight.sizes(), sizes, w, groups), input, weight,
                           bias, sizes),
                   last);
}

Tensor convolution_input(const Tensor& output, const Tensor& weight, IntSpan size, IntSpan stride, IntSpan padding,
                         IntSpan dilation, int64_t groups) {
  Windows w(stride, padding, dilation, weight.dim() - 2);
  return compute(ConvResult::Image, shape_of(size, weight.sizes(), output.sizes(), w, groups), output, weight, {},
                 size);
}

Tensor convolution_weight(const Tensor& input, const Tensor& output, IntSpan size, IntSpan stride, IntSpan padding,
                          IntSpan dilation, int64_t groups) {
  Windows w(stride, padding, dilation, static_cast<int64_t>(size.size()) - 2);
  return compute(ConvResult::Weight, shape_of(input.sizes(), size, output.sizes(), w, groups), input, output, {}, size);
}

}  // namespace undertow::core::fwd
