// layer_norm.cpp: normalisation of lines, with and without a mean; lines of a half dtype are widened a few at a time.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/normalization/normalization_kernels.h"
#include "core/kernels/cpu/normalization/norms.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

namespace {
int64_t lines_in_chunk(const NormLines& l) { return std::max<int64_t>(1, kNormGrain / std::max<int64_t>(1, l.n)); }

struct WideLines;  // scratch
}  // namespace

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& w,
                const Tensor& b, const NormLines& l, double eps) {
  const DType wide = rstd.dtype();
  const bool centred = mean.defined();
  if (wide != x.dtype()) {
    const auto& k = normalization_loops<float>();
    HalfLines half(x.dtype());
    const float *pw = data_or_null<float>(w), *pb = data_or_null<float>(b);
    float *pm = centred ? mean.data_as<float>() : nullptr, *pr = rstd.data_as<float>();
    int64_t step = half.at_once(std::max<int64_t>(1, l.n));
    parallel_for(0, l.count, lines_in_chunk(l), [&](int64_t begin, int64_t end) {
      Temporary<WideLines, float> memory(2 * step * l.n);
      float *from = memory.get(), *to = from + step * l.n;
      for (int64_t line = begin; line < end; line += step) {
        int64_t count = std::min(step, end - line), at = 2 * line * l.n;
        half.to_float(x.data() + at, count * l.n, from);
        k.lines(from, pw, pb, to, centred ? pm + line : nullptr, pr + line, count, l.n, eps, centred);
        half.to_half(to, count * l.n, out.data() + at);
      }
    });
    return;
  }
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pb = data_or_null<T>(b);
    T *po = out.data_as<T>(), *pm = centred ? mean.data_as<T>() : nullptr, *pr = rstd.data_as<T>();
    parallel_for(0, l.count, lines_in_chunk(l), [&](int64_t begin, int64_t end) {
      k.lines(px + begin * l.n, pw, pb, po + begin * l.n, centred ? pm + begin : nullptr, pr + begin, end - begin, l.n,
              eps, centred);
    });
  });
}

void layer_norm_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& g,
                         const Tensor& x, const Tensor& m, const Tensor& r, const Tensor& w, const NormLines& l,
                         int64_t step) {
  const DType wide = r.dtype();
  HalfLines half;
  if (wide != x.dtype()) half = HalfLines(x.dtype());
  const Tensor* partial[2] = {&weight_sums, &bias_sums};
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *pm = data_or_null<T>(m), *pr = r.data_as<T>(), *pw = data_or_null<T>(w);
    parallel_for(0, l.count, step, [&](int64_t begin, int64_t end) {
      T* own[2] = {nullptr, nullptr};
      for (int i = 0; i < 2; i++) {
        if (!partial[i]->defined()) continue;
        own[i] = partial[i]->data_as<T>() + begin / step * l.n;
        std::memset(static_cast<void*>(own[i]), 0, static_cast<size_t>(l.n) * sizeof(T));
      }
      auto some = [&](const T* pg, const T* px, T* pt, int64_t line, int64_t count) {
        k.lines_backward(pg, px, pm ? pm + line : nullptr, pr + line, pw, pt, own[0], own[1], count, l.n,
                         pm != nullptr);
      };
      if constexpr (std::is_same_v<T, float>) {
        if (half) {
          int64_t few = half.at_once(std::max<int64_t>(1, l.n));
          Temporary<WideLines, float> memory(3 * few * l.n);
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
}

}  // namespace undertow::core::cpu
