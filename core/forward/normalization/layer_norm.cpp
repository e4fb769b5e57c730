// layer_norm.cpp: layer normalisation and its sibling without a mean, over the last dimensions of a tensor.
// build: small
#include "core/forward/normalization/normalization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/parallel.h"
#include "core/forward/reduce/plan.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/temporary.h"
#include "core/tensor/layout.h"
#include "generated/fwd_normalization.h"

namespace undertow::fwd {

NormalizationTypes normalization_types(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                                       const char* kernel) {
  DType t = input.dtype();
  UT_CHECK_AS(NotImplemented, is_floating(t), "\"", kernel, "\" not implemented for '", long_name(t), "'");
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
  return {is_reduced_float(t) ? DType::Float32 : t, mixed ? DType::Float32 : t};
}

namespace {

constexpr int64_t kGrain = 16384;  // elements in a chunk

struct Lines {
  int64_t count, n;
  Dims stats;  // the sizes of a statistic: the input's, with ones for what is normalised
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
  Lines l{1, product(shape), Dims(input.sizes())};
  for (int64_t d = 0; d < input.dim(); d++) {
    if (d < lead)
      l.count *= input.size(d);
    else
      l.stats[static_cast<size_t>(d)] = 1;
  }
  return l;
}

int64_t lines_in_chunk(const Lines& l) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, l.n)); }

struct WideLines;  // the purpose of borrowed memory

// out, of the input's dtype, mean (undefined unless centred) and rstd. Lines of a half type are widened a few at a
// time.
std::tuple<Tensor, Tensor, Tensor> normalised(const Tensor& input, const Lines& l, const Tensor& weight,
                                              const Tensor& bias, double eps, bool centred, DType wide) {
  Tensor x = contiguous(input), w = widened(weight, wide), b = widened(bias, wide);
  Tensor out = empty(x.sizes(), x.dtype()), rstd = empty(l.stats, wide), mean;
  if (centred) mean = empty(l.stats, wide);
  if (wide != x.dtype()) {
    const auto& k = normalization_kernels<float>();
    cpu::HalfLines half(x.dtype());
    const float *pw = data_or_null<float>(w), *pb = data_or_null<float>(b);
    float *pm = centred ? mean.data_as<float>() : nullptr, *pr = rstd.data_as<float>();
    int64_t step = half.at_once(std::max<int64_t>(1, l.n));
    parallel_for(0, l.count, lines_in_chunk(l), [&](int64_t begin, int64_t end) {
      cpu::Temporary<WideLines, float> memory(2 * step * l.n);
      float *from = memory.get(), *to = from + step * l.n;
      for (int64_t line = begin; line < end; line += step) {
        int64_t count = std::min(step, end - line), at = 2 * line * l.n;
        half.to_float(x.data() + at, count * l.n, from);
        k.lines(from, pw, pb, to, centred ? pm + line : nullptr, pr + line, count, l.n, eps, centred);
        half.to_half(to, count * l.n, out.data() + at);
      }
    });
    return {out, mean, rstd};
  }
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pb = data_or_null<T>(b);
    T *po = out.data_as<T>(), *pm = centred ? mean.data_as<T>() : nullptr, *pr = rstd.data_as<T>();
    parallel_for(0, l.count, lines_in_chunk(l), [&](int64_t begin, int64_t end) {
      k.lines(px + begin * l.n, pw, pb, po + begin * l.n, centred ? pm + begin : nullptr, pr + begin, end - begin, l.n,
              eps, centred);
    });
  });
  return {out, mean, rstd};
}

// Chunks of lines add up what they give to weight and bias, and the chunks are joined in their order.
std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad, const Tensor& input, const Lines& l, IntSpan shape,
                                            const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t mask,
                                            DType wide) {
  cpu::HalfLines half;
  if (wide != input.dtype()) half = cpu::HalfLines(input.dtype());
  Tensor g = half ? contiguous(to_dtype(grad, input.dtype())) : widened(grad, wide), x = contiguous(input);
  Tensor m = widened(mean, wide), r = widened(rstd, wide), w = widened(weight, wide);
  Tensor to = mask & 1 ? empty(x.sizes(), x.dtype()) : Tensor();
  // Where lines are long, several to a chunk: its sums are as long as a line, and are written and read once more.
  int64_t step = std::max({lines_in_chunk(l), (l.count + 31) / 32, std::clamp<int64_t>(l.count / 16, 1, 4)}),
          chunks = l.count ? (l.count + step - 1) / step : 0;
  const int64_t table[2] = {chunks, l.n};
  Tensor partial[2], sums[2];  // a row for each chunk
  for (int i = 0; i < 2; i++)
    if (mask & (2 << i)) partial[i] = empty(IntSpan(table, 2), wide);
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *pm = data_or_null<T>(m), *pr = r.data_as<T>(), *pw = data_or_null<T>(w);
    parallel_for(0, l.count, step, [&](int64_t begin, int64_t end) {
      T* own[2] = {nullptr, nullptr};
      for (int i = 0; i < 2; i++) {
        if (!partial[i].defined()) continue;
        own[i] = partial[i].data_as<T>() + begin / step * l.n;
        std::memset(static_cast<void*>(own[i]), 0, static_cast<size_t>(l.n) * sizeof(T));
      }
      auto some = [&](const T* pg, const T* px, T* pt, int64_t line, int64_t count) {
        k.lines_backward(pg, px, pm ? pm + line : nullptr, pr + line, pw, pt, own[0], own[1], count, l.n,
                         pm != nullptr);
      };
      if constexpr (std::is_same_v<T, float>) {
        if (half) {
          int64_t few = half.at_once(std::max<int64_t>(1, l.n));
          cpu::Temporary<WideLines, float> memory(3 * few * l.n);
          float *pg = memory.get(), *px = pg + few * l.n, *pt = px + few * l.n;
          for (int64_t line = begin; line < end; line += few) {
            int64_t count = std::min(few, end - line), at = 2 * line * l.n;
            half.to_float(g.data() + at, count * l.n, pg);
            half.to_float(x.data() + at, count * l.n, px);
            some(pg, px, to.defined() ? pt : nullptr, line, count);
            if (to.defined()) half.to_half(pt, count * l.n, to.data() + at);
          }
          return;
        }
      }
      int64_t at = begin * l.n;
      some(g.data_as<T>() + at, x.data_as<T>() + at, to.defined() ? to.data_as<T>() + at : nullptr, begin, end - begin);
    });
  });
  for (int i = 0; i < 2; i++)
    if (partial[i].defined())
      sums[i] = alias(fold(Fold::Sum, partial[i], 1, false, "layer_norm_backward"), shape, contiguous_strides(shape), 0,
                      wide);
  auto finished = [&](const Tensor& t, DType dtype) { return t.defined() ? to_dtype(t, dtype) : not_wanted(input); };
  DType own = weight.defined() ? weight.dtype() : mean.defined() ? mean.dtype() : rstd.dtype();
  return {finished(to, input.dtype()), finished(sums[0], own), finished(sums[1], own)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, IntSpan normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps) {
  Lines l = lines_of(input, normalized_shape, weight, bias);
  NormalizationTypes t = normalization_types(input, {&weight, &bias}, "LayerNormKernelImpl");
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

// Without eps, the least number that matters beside one.
std::tuple<Tensor, Tensor> _fused_rms_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                                           std::optional<double> eps) {
  Lines l = lines_of(input, normalized_shape, weight, {});
  UT_CHECK_AS(NotImplemented, is_floating(input.dtype()), "\"rms_norm\" not implemented for '",
              long_name(input.dtype()), "'");
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

}  // namespace undertow::fwd
