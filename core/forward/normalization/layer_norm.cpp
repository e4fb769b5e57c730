// layer_norm.cpp: layer and RMS normalisation over the last dimensions of a tensor.
// build: small
#include "core/forward/normalization/normalization.h"

#include <algorithm>
#include <limits>

#include "core/forward/reduce/fold.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_normalization.h"

namespace undertow::core::fwd {

bool takes_half(const Tensor& t) { return backend_of(t).normalization->half_types; }

NormalizationTypes normalization_types(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                                       const char* kernel, bool wide_stats) {
  DType t = input.dtype();
  if (!is_floating(t)) throw_not_implemented(kernel, t);
  bool mixed = false;
  for (const Tensor* p : parameters) mixed |= p->defined() && p->dtype() != t;
  if (mixed) {
    for (const Tensor* p : parameters)
      UT_CHECK(!p->defined() || p->dtype() == DType::Float32,
               "mixed dtype (CPU): expect parameter to have scalar type of Float, got ", long_name(p->dtype()),
               " with an input of ", long_name(t));
    UT_CHECK(is_reduced_float(t),
             "mixed dtype (CPU): all inputs must share same datatype. Got parameters of Float with an input of ",
             long_name(t));
  }
  const DType wide = is_reduced_float(t) ? DType::Float32 : t;
  return {wide, mixed || wide_stats ? wide : t};
}
Tensor parameter_for(const Tensor& input, const Tensor& parameter, DType wide) {
  return takes_half(input) && parameter.defined() ? contiguous(parameter) : widened(parameter, wide);
}

namespace {

constexpr int64_t kGrain = 16384;  // elements in a chunk

struct Lines {
  NormLines lines;
  Dims stats;  // the sizes of a statistic: the input's, with 1 for the normalised dimensions
};

Lines lines_of(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias) {
  UT_CHECK(!shape.empty(),
           "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
           "normalized_shape = ",
           ShapeText{shape});
  UT_CHECK(!weight.defined() || same(weight.sizes(), shape),
           "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
           ShapeText{weight.sizes()}, " and normalized_shape = ", ShapeText{shape});
  UT_CHECK(!bias.defined() || same(bias.sizes(), shape),
           "Expected bias to be of same shape as normalized_shape, but got bias of shape ", ShapeText{bias.sizes()},
           " and normalized_shape = ", ShapeText{shape});
  int64_t lead = input.dim() - static_cast<int64_t>(shape.size());
  if (lead < 0 || !same(input.sizes().subspan(static_cast<size_t>(lead)), shape)) {
    std::string wanted;
    for (int64_t s : shape) wanted += ", " + std::to_string(s);
    UT_FAIL("Given normalized_shape=", ShapeText{shape}, ", expected input with shape [*", wanted,
            "], but got input of size", ShapeText{input.sizes()});
  }
  Lines l{{1, product(shape)}, Dims(input.sizes())};
  for (int64_t d = 0; d < input.dim(); d++) {
    if (d < lead)
      l.lines.count *= input.size(d);
    else
      l.stats[static_cast<size_t>(d)] = 1;
  }
  return l;
}

int64_t lines_in_chunk(int64_t n) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)); }

// out, in the input's dtype, mean (undefined unless centred) and rstd.
std::tuple<Tensor, Tensor, Tensor> normalised(const Tensor& input, const Lines& l, const Tensor& weight,
                                              const Tensor& bias, double eps, bool centred, DType wide) {
  Tensor x = contiguous(input);
  Tensor out = empty_on_device_of(x, x.sizes(), x.dtype()), rstd = empty_on_device_of(x, l.stats, wide), mean;
  if (centred) mean = empty_on_device_of(x, l.stats, wide);
  backend_of(x).normalization->layer_norm(out, mean, rstd, x, parameter_for(x, weight, wide),
                                          parameter_for(x, bias, wide), l.lines, eps);
  return {out, mean, rstd};
}

// Chunks of rows accumulate their contributions to weight and bias, which are added in order.
std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad, const Tensor& input, const Lines& l, IntSpan shape,
                                            const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t mask,
                                            DType wide) {
  int64_t count = l.lines.count, n = l.lines.n;
  Tensor g = contiguous(to_dtype(grad, input.dtype())), x = contiguous(input);
  Tensor to = mask & 1 ? empty_on_device_of(x, x.sizes(), x.dtype()) : Tensor();
  // If rows are long, a chunk has several: its sums are as long as a row, and are written and read once more.
  int64_t step = std::max({lines_in_chunk(n), (count + 31) / 32, std::clamp<int64_t>(count / 16, 1, 4)});
  if (takes_half(x)) step = std::max<int64_t>(step, count);  // the kernel adds up all rows
  const int64_t chunks = count ? (count + step - 1) / step : 0;
  const DType own = weight.defined() ? weight.dtype()
                    : mean.defined() ? mean.dtype()
                                     : rstd.dtype(),
              sum_dtype = takes_half(x) && count ? own : wide;
  Tensor partial[2], sums[2];  // one row per chunk
  for (int i = 0; i < 2; i++)
    if (mask & (2 << i)) partial[i] = empty_on_device_of(x, Dims{chunks, n}, sum_dtype);
  backend_of(x).normalization->layer_norm_backward(to, partial[0], partial[1], g, x, widened(mean, wide),
                                                   widened(rstd, wide), parameter_for(x, weight, wide), l.lines, step);
  for (int i = 0; i < 2; i++)
    if (partial[i].defined())
      sums[i] = alias(chunks == 1 ? partial[i] : fold(Fold::Sum, partial[i], 1, false, "layer_norm_backward"), shape,
                      contiguous_strides(shape), 0, sum_dtype);
  auto finished = [&](const Tensor& t, DType dtype) {
    return t.defined() ? to_dtype(t, dtype) : empty_unwanted(input);
  };
  return {finished(to, input.dtype()), finished(sums[0], own), finished(sums[1], own)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, IntSpan normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps) {
  Lines l = lines_of(input, normalized_shape, weight, bias);
  NormalizationTypes t = normalization_types(input, {&weight, &bias}, "LayerNormKernelImpl", takes_half(input));
  auto [out, mean, rstd] = normalised(input, l, weight, bias, eps, true, t.wide);
  return {to_dtype(out, input.dtype()), to_dtype(mean, t.stats), to_dtype(rstd, t.stats)};
}
std::tuple<Tensor, Tensor, Tensor> _layer_norm_backward(const Tensor& dy, const Tensor& input, IntSpan normalized_shape,
                                                        const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                                        double, int64_t mask) {
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  return backward(dy, input, lines_of(input, normalized_shape, weight, {}), normalized_shape, mean, rstd, weight, mask,
                  wide);
}

// Without eps, uses the machine epsilon.
std::tuple<Tensor, Tensor> _fused_rms_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                                           std::optional<double> eps) {
  Lines l = lines_of(input, normalized_shape, weight, {});
  if (!is_floating(input.dtype())) throw_not_implemented("rms_norm", input.dtype());
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  double small =
      wide == DType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  auto [out, mean, rstd] = normalised(input, l, weight, {}, eps.value_or(small), false, wide);
  return {to_dtype(out, input.dtype()), rstd};
}
std::tuple<Tensor, Tensor> _rms_norm_backward(const Tensor& dy, const Tensor& input, IntSpan normalized_shape,
                                              const Tensor& rstd, const Tensor& weight, std::optional<double>,
                                              int64_t mask) {
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  auto [to, sums, none] = backward(dy, input, lines_of(input, normalized_shape, weight, {}), normalized_shape, {}, rstd,
                                   weight, mask, wide);
  return {to, sums};
}

}  // namespace undertow::core::fwd
