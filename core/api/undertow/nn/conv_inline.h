// conv_inline.h: the definitions of conv.h, in a header, so that a layer costs nothing where it is not used.
#pragma once
#include <undertow/nn/conv.h>
#include <undertow/nn/functional.h>

namespace undertow::nn {

namespace detail {

template <typename Options>
inline constexpr bool is_transposed = requires(Options o) { o.output_padding(); };

template <typename Options>
void ConvNd<Options>::register_weights() {
  const auto& o = options;
  UT_CHECK_VALUE(o.groups() > 0, "groups must be a positive integer");
  UT_CHECK_VALUE(o.in_channels() % o.groups() == 0, "in_channels must be divisible by groups");
  UT_CHECK_VALUE(o.out_channels() % o.groups() == 0, "out_channels must be divisible by groups");
  int64_t first = o.out_channels(), second = o.in_channels() / o.groups();
  if constexpr (is_transposed<Options>) {
    UT_CHECK_VALUE(o.padding_mode().index() == 0, "Only \"zeros\" padding mode is supported for ConvTranspose");
    first = o.in_channels();
    second = o.out_channels() / o.groups();
  } else if (std::holds_alternative<enumtype::kSame>(o.padding())) {
    for (int64_t s : *o.stride()) UT_CHECK_VALUE(s == 1, "padding='same' is not supported for strided convolutions");
  }
  std::vector<int64_t> size{first, second};
  size.insert(size.end(), o.kernel_size()->begin(), o.kernel_size()->end());
  weight = register_parameter("weight", core::ops::empty(size));
  bias = register_parameter("bias", o.bias() ? Tensor(core::ops::empty(core::Dims{o.out_channels()})) : Tensor());
  reset_parameters();
}

template <typename Options>
void ConvNd<Options>::reset_parameters() {
  initialize_linear(weight, bias);
}

template <typename Options>
std::string ConvNd<Options>::describe() const {
  const auto& o = options;
  std::string out =
      core::str(printed_name(name()), "(", o.in_channels(), ", ", o.out_channels(),
                ", kernel_size=", core::ShapeText{*o.kernel_size()}, ", stride=", core::ShapeText{*o.stride()});
  if (o.groups() != 1) out += core::str(", groups=", o.groups());
  if (!o.bias()) out += ", bias=false";
  return out + ")";
}

}  // namespace detail

namespace conv_detail {

// The padding in the format of `pad`: before and after each dimension, last dimension first.
template <size_t D>
std::vector<int64_t> as_pad(const ConvOptions<D>& o) {
  std::vector<int64_t> out;
  for (size_t k = D; k-- > 0;) {
    if (const auto* numbers = std::get_if<ExpandingArray<D>>(&o.padding())) {
      out.insert(out.end(), 2, (*numbers)[k]);
    } else {
      int64_t total =
          std::holds_alternative<enumtype::kSame>(o.padding()) ? o.dilation()[k] * (o.kernel_size()[k] - 1) : 0;
      out.push_back(total / 2);
      out.push_back(total - total / 2);
    }
  }
  return out;
}

// Pads at the border as padding_mode says; the convolution itself then pads nothing.
template <size_t D>
Tensor bordered(const Tensor& input, const ConvOptions<D>& o, functional::ConvFuncOptions<D>& of_call) {
  of_call.stride(o.stride()).dilation(o.dilation()).groups(o.groups());
  if (o.padding_mode().index() == 0) {
    of_call.padding(o.padding());
    return input;
  }
  functional::PadFuncOptions pad(as_pad(o));
  if (o.padding_mode().index() == 1) pad.mode(kReflect);
  if (o.padding_mode().index() == 2) pad.mode(kReplicate);
  if (o.padding_mode().index() == 3) pad.mode(kCircular);
  return functional::pad(input, pad);
}

// The padding at the end of the output that gives the requested size.
template <size_t D>
ExpandingArray<D> output_padding(const Tensor& input, const std::optional<IntArrayRef>& wanted,
                                 const ConvTransposeOptions<D>& o) {
  if (!wanted) return o.output_padding();
  size_t lead = input.dim() == static_cast<int64_t>(D) + 2 ? 2 : 1;
  UT_CHECK_VALUE(wanted->size() == D || wanted->size() == D + lead, "ConvTranspose", D, "D: for ", input.dim(),
                 "D input, output_size must have ", D, " or ", D + lead, " elements (got ", wanted->size(), ")");
  std::vector<int64_t> extra(D);
  for (size_t d = 0; d < D; d++) {
    int64_t size = (*wanted)[wanted->size() - D + d];
    int64_t least = (input.size(static_cast<int64_t>(d + lead)) - 1) * o.stride()[d] - 2 * o.padding()[d] +
                    o.dilation()[d] * (o.kernel_size()[d] - 1) + 1;
    UT_CHECK_VALUE(least <= size && size <= least + o.stride()[d] - 1, "requested an output size of ", size,
                   " in dimension ", d, ", but valid sizes range from ", least, " to ", least + o.stride()[d] - 1);
    extra[d] = size - least;
  }
  return ExpandingArray<D>(extra);
}

}  // namespace conv_detail

#define UT_CONV(D)                                                                                                     \
  inline Conv##D##dImpl::Conv##D##dImpl(const ConvOptions<D>& options_) : Cloneable(options_) { reset(); }             \
  inline void Conv##D##dImpl::reset() { register_weights(); }                                                          \
  inline Tensor Conv##D##dImpl::forward(const Tensor& input) {                                                         \
    functional::ConvFuncOptions<D> o;                                                                                  \
    Tensor padded = conv_detail::bordered(input, options, o);                                                          \
    return functional::conv##D##d(padded, weight, o.bias(bias));                                                       \
  }                                                                                                                    \
  inline ConvTranspose##D##dImpl::ConvTranspose##D##dImpl(const ConvTransposeOptions<D>& options_)                     \
      : Cloneable(options_) {                                                                                          \
    reset();                                                                                                           \
  }                                                                                                                    \
  inline void ConvTranspose##D##dImpl::reset() { register_weights(); }                                                 \
  inline Tensor ConvTranspose##D##dImpl::forward(const Tensor& input, const std::optional<IntArrayRef>& output_size) { \
    const auto& o = options;                                                                                           \
    return core::ops::conv_transpose##D##d(input, weight, bias, *o.stride(), *o.padding(),                             \
                                           *conv_detail::output_padding(input, output_size, o), o.groups(),            \
                                           *o.dilation());                                                             \
  }
UT_CONV(1)
UT_CONV(2)
UT_CONV(3)
#undef UT_CONV

}  // namespace undertow::nn
