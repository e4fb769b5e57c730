// conv.cpp: see conv.h.
// build: small
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/image_format.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {
namespace {

const Dims kZero{0};

Tensor plain(const Tensor& input, const Tensor& weight, IntSpan stride, IntSpan padding, IntSpan dilation,
             int64_t groups) {
  return convolution(input, weight, Tensor(), stride, padding, dilation, false, kZero, groups);
}

// Adds a batch dimension to a single image; `batched` tells whether the input already had one.
Tensor as_batch(int64_t dims, const char* name, const Tensor& input, bool& batched) {
  UT_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, "Expected ", dims + 1, "D (unbatched) or ", dims + 2,
           "D (batched) input to ", name, dims, "d, but got input of size: ", ShapeText{input.sizes()});
  batched = input.dim() == dims + 2;
  return batched ? input : unsqueeze(input, 0);
}

// Cuts off the elements beyond `size`, which the convolution did not have.
Tensor trim(Tensor t, IntSpan size) {
  for (int64_t d = 2; d < t.dim(); d++) {
    if (t.size(d) > size[static_cast<size_t>(d)]) t = narrow(t, d, 0, size[static_cast<size_t>(d)]);
  }
  return t;
}

int64_t at(IntSpan list, int64_t i) { return list[list.size() == 1 ? 0 : static_cast<size_t>(i)]; }

}  // namespace

Tensor conv_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                      IntSpan padding, IntSpan dilation, int64_t groups) {
  bool batched;
  Tensor x = as_batch(dims, "conv", input, batched);
  Tensor y = convolution(x, weight, bias, stride, padding, dilation, false, kZero, groups);
  return batched ? y : squeeze(y, 0);
}

Tensor conv_named_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                            std::string_view padding, IntSpan dilation, int64_t groups) {
  if (padding == "valid") return conv_composite(dims, input, weight, bias, stride, kZero, dilation, groups);
  UT_CHECK(padding == "same", "Invalid padding string: '", padding, "'; expected 'valid' or 'same'");
  UT_CHECK(weight.dim() == dims + 2, "Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
           "-dimensional weight ", ShapeText{weight.sizes()}, ", but conv", dims, "d takes a weight of ", dims + 2,
           " dimensions");
  auto n = static_cast<size_t>(dims);
  UT_CHECK(stride.size() == n || stride.size() == 1, "stride cannot broadcast to ", dims, " dimensions: got ",
           ShapeText{stride});
  UT_CHECK(dilation.size() == n || dilation.size() == 1, "dilation cannot broadcast to ", dims, " dimensions: got ",
           ShapeText{dilation});
  for (int64_t s : stride)
    UT_CHECK(s == 1, "padding='same' is not supported for strided convolutions: got stride=", ShapeText{stride});
  Dims both(n);
  Dims behind;  // in the order of constant_pad_nd: the last dimension first
  bool even = true;
  for (int64_t i = dims - 1; i >= 0; i--) {
    int64_t total = at(dilation, i) * (weight.size(i + 2) - 1);
    both[static_cast<size_t>(i)] = total / 2;
    behind.push_back(0);
    behind.push_back(total % 2);
    even = even && total % 2 == 0;
  }
  return conv_composite(dims, even ? input : constant_pad_nd(input, behind, Scalar(0)), weight, bias, stride, both,
                        dilation, groups);
}

Tensor conv_transpose_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias,
                                IntSpan stride, IntSpan padding, IntSpan output_padding, int64_t groups,
                                IntSpan dilation) {
  bool batched;
  Tensor x = as_batch(dims, "conv_transpose", input, batched);
  Tensor y = convolution(x, weight, bias, stride, padding, dilation, true, output_padding, groups);
  return batched ? y : squeeze(y, 0);
}

namespace {
// A signal of one dimension has channels last if it has as a picture of one row.
Tensor in_conv_format(const Tensor& t, bool channels_last) {
  if (t.numel() == 0 || t.impl()->has(kDelegated)) return t;
  if (!channels_last) return contiguous(t, MemoryFormat::Contiguous);
  if (t.dim() > 3) return contiguous(t, t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d);
  return squeeze(contiguous(unsqueeze(t, 2), MemoryFormat::ChannelsLast), 2);
}
}  // namespace

// With y = w * x: dx = w^H y, dw = y x^H. Transposed, y = w^T x: dx = conj(w) y, dw = conj(x) y^T.
Tensor conv_input_grad(const Tensor& grad, const Tensor& weight, IntSpan size, IntSpan strides, IntSpan stride,
                       IntSpan padding, IntSpan dilation, bool transposed, int64_t groups) {
  bool last = fwd::convolves_channels_last(size, strides, weight.sizes(), weight.strides(), grad.dtype());
  return in_conv_format(transposed ? conv_output_grad(grad, weight, size, stride, padding, dilation, groups)
                                   : convolution_input(grad, conj_of(weight), size, stride, padding, dilation, groups),
                        last);
}

Tensor conv_weight_grad(const Tensor& grad, const Tensor& input, IntSpan size, IntSpan strides, IntSpan stride,
                        IntSpan padding, IntSpan dilation, bool transposed, int64_t groups) {
  bool last = fwd::convolves_channels_last(input.sizes(), input.strides(), size, strides, grad.dtype());
  return in_conv_format(transposed ? convolution_weight(grad, conj_of(input), size, stride, padding, dilation, groups)
                                   : convolution_weight(conj_of(input), grad, size, stride, padding, dilation, groups),
                        last);
}

Tensor conv_bias_grad(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.dim(); d++) dims.push_back(d);
  return sum(grad, IntSpan(dims), false, std::nullopt);
}

std::tuple<Tensor, Tensor, Tensor> conv_grads(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                              IntSpan input_sizes, IntSpan weight_sizes, IntSpan stride,
                                              IntSpan padding, IntSpan dilation, bool transposed, int64_t groups,
                                              int64_t wanted) {
  // Only the sizes of a tensor that was not saved are needed.
  auto or_empty = [&](const Tensor& t, IntSpan sizes) {
    return t.defined() ? t : empty_on_device_of(grad, sizes, grad.dtype());
  };
  return delegated::call<std::tuple<Tensor, Tensor, Tensor>>(
      "convolution_backward", {grad, or_empty(input, input_sizes), or_empty(weight, weight_sizes), stride, padding,
                               dilation, transposed, groups, wanted});
}

Tensor conv_output_grad(const Tensor& grad, const Tensor& factor, IntSpan size, IntSpan stride, IntSpan padding,
                        IntSpan dilation, int64_t groups, bool grad_is_weight) {
  return trim(grad_is_weight ? plain(conj_of(factor), grad, stride, padding, dilation, groups)
                             : plain(grad, conj_of(factor), stride, padding, dilation, groups),
              size);
}

Tensor dconv(const Tensor& input, const Tensor& input_t, const Tensor& weight, const Tensor& weight_t,
             const Tensor& bias_t, IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
             IntSpan output_padding, int64_t groups) {
  Tensor t;
  if (input_t.defined())
    t = convolution(input_t, weight, weight_t.defined() ? Tensor() : bias_t, stride, padding, dilation, transposed,
                    output_padding, groups);
  if (weight_t.defined())
    t = self_t_plus(
        t, convolution(input, weight_t, bias_t, stride, padding, dilation, transposed, output_padding, groups));
  if (t.defined() || !bias_t.defined()) return t;
  return convolution(zeros_like_grad(input), weight, bias_t, stride, padding, dilation, transposed, output_padding,
                     groups);
}

Tensor conv_input_tangent(const Tensor& output, const Tensor& output_t, const Tensor& weight, const Tensor& weight_t,
                          IntSpan size, IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups) {
  Tensor t;
  if (output_t.defined()) t = convolution_input(output_t, weight, size, stride, padding, dilation, groups);
  if (weight_t.defined())
    t = self_t_plus(t, convolution_input(output, weight_t, size, stride, padding, dilation, groups));
  return t;
}

Tensor conv_weight_tangent(const Tensor& input, const Tensor& input_t, const Tensor& output, const Tensor& output_t,
                           IntSpan size, IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups) {
  Tensor t;
  if (input_t.defined()) t = convolution_weight(input_t, output, size, stride, padding, dilation, groups);
  if (output_t.defined())
    t = self_t_plus(t, convolution_weight(input, output_t, size, stride, padding, dilation, groups));
  return t;
}

Dims last_two(IntSpan sizes) { return Dims(sizes.end() - 2, sizes.end()); }

}  // namespace undertow::core::ops
