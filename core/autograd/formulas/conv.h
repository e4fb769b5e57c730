// conv.h: derivatives and compositions of convolutions.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor conv_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                      IntSpan padding, IntSpan dilation, int64_t groups);
Tensor conv_named_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias, IntSpan stride,
                            std::string_view padding, IntSpan dilation, int64_t groups);
Tensor conv_transpose_composite(int64_t dims, const Tensor& input, const Tensor& weight, const Tensor& bias,
                                IntSpan stride, IntSpan padding, IntSpan output_padding, int64_t groups,
                                IntSpan dilation);

// Both gradients have the memory format of the convolution's result. `strides` are those of the input or the weight.
Tensor conv_input_grad(const Tensor& grad, const Tensor& weight, IntSpan size, IntSpan strides, IntSpan stride,
                       IntSpan padding, IntSpan dilation, bool transposed, int64_t groups);
Tensor conv_weight_grad(const Tensor& grad, const Tensor& input, IntSpan size, IntSpan strides, IntSpan stride,
                        IntSpan padding, IntSpan dilation, bool transposed, int64_t groups);
Tensor conv_bias_grad(const Tensor& grad);
// All three as one call of torch's convolution_backward. An input or weight that was not saved is undefined.
std::tuple<Tensor, Tensor, Tensor> conv_grads(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                              IntSpan input_sizes, IntSpan weight_sizes, IntSpan stride,
                                              IntSpan padding, IntSpan dilation, bool transposed, int64_t groups,
                                              int64_t wanted);
// convolution_input and convolution_weight take a tensor of the shape of a convolution's output. The gradient with
// respect to it is again a convolution: for convolution_input, of the image `grad` with the weight `factor`; for
// convolution_weight (grad_is_weight), the other way round.
Tensor conv_output_grad(const Tensor& grad, const Tensor& factor, IntSpan size, IntSpan stride, IntSpan padding,
                        IntSpan dilation, int64_t groups, bool grad_is_weight = false);

// The tangent of a convolution: the sum over the arguments that have a tangent.
Tensor dconv(const Tensor& input, const Tensor& input_t, const Tensor& weight, const Tensor& weight_t,
             const Tensor& bias_t, IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
             IntSpan output_padding, int64_t groups);
Tensor conv_input_tangent(const Tensor& output, const Tensor& output_t, const Tensor& weight, const Tensor& weight_t,
                          IntSpan size, IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups);
Tensor conv_weight_tangent(const Tensor& input, const Tensor& input_t, const Tensor& output, const Tensor& output_t,
                           IntSpan size, IntSpan stride, IntSpan padding, IntSpan dilation, int64_t groups);

Dims last_two(IntSpan sizes);

}  // namespace undertow::core::ops
