// group_norm.cpp: statistics over groups of channels, one weight per channel.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/normalization/normalization_kernels.h"
#include "core/kernels/cpu/normalization/norms.h"

namespace undertow::core::cpu {

namespace {
int64_t groups_in_chunk(const NormGroups& s) {
  return std::max<int64_t>(1, kNormGrain / std::max<int64_t>(1, s.each()));
}
}  // namespace

void group_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormGroups& s, double eps) {
  in_wide(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(weight), *pb = data_or_null<T>(bias);
    T *po = out.data_as<T>(), *pm = mean.data_as<T>(), *pr = rstd.data_as<T>();
    parallel_for(0, s.batch * s.groups, groups_in_chunk(s), [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; g++) {
        if (s.inner == 1) {  // a group is a line
          int64_t first = g % s.groups * s.per_group;
          k.lines(px + g * s.per_group, pw ? pw + first : nullptr, pb ? pb + first : nullptr, po + g * s.per_group,
                  pm + g, pr + g, 1, s.per_group, eps, true);
          continue;
        }
        double m, q;
        k.moments(px + g * s.each(), s.each(), &m, &q);
        pm[g] = static_cast<T>(m);
        pr[g] = static_cast<T>(1 / std::sqrt(q / static_cast<double>(s.each()) + eps));
        for (int64_t i = 0; i < s.per_group; i++) {
          int64_t c = g % s.groups * s.per_group + i, at = g * s.each() + i * s.inner;
          k.segment(px + at, pm[g], pw ? pr[g] * pw[c] : pr[g], pb ? pb[c] : T(0), po + at, s.inner);
        }
      }
    });
  });
}

void group_norm_lines_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums,
                               const Tensor& grad_in, const Tensor& x_in, const Tensor& mean_in, const Tensor& rstd_in,
                               const Tensor& weight_in, const NormGroups& s, int64_t step) {
  in_wide(x_in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *grad = grad_in.data_as<T>(), *x = x_in.data_as<T>(), *mean = mean_in.data_as<T>(),
            *rstd = rstd_in.data_as<T>(), *weight = data_or_null<T>(weight_in);
    T* to_at = writable_or_null<T>(to);
    parallel_for(0, s.batch, step, [&](int64_t begin, int64_t end) {
      T *own_w = weight_sums.data_as<T>() + begin / step * s.channels,
        *own_b = bias_sums.data_as<T>() + begin / step * s.channels;
      std::fill_n(own_w, s.channels, T(0));
      std::fill_n(own_b, s.channels, T(0));
      for (int64_t g = begin * s.groups; g < end * s.groups; g++) {
        int64_t at = g * s.per_group, first = g % s.groups * s.per_group;
        k.lines_backward(grad + at, x + at, mean + g, rstd + g, weight ? weight + first : nullptr,
                         to_at ? to_at + at : nullptr, own_w + first, own_b + first, 1, s.per_group, true);
      }
    });
  });
}

// As in layer normalisation, with h = grad * weight summed channel by channel.
void group_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormGroups& s) {
  in_wide(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *pg = grad.data_as<T>(), *px = x.data_as<T>(), *pw = data_or_null<T>(weight), *pm = mean.data_as<T>(),
            *pr = rstd.data_as<T>();
    T* pt = writable_or_null<T>(to);
    std::vector<double> sums(static_cast<size_t>(s.batch * s.channels)), dots(sums.size());
    parallel_for(0, s.batch * s.groups, groups_in_chunk(s), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        int64_t first = i % s.groups * s.per_group;
        double sum = 0, dot = 0, rr = static_cast<double>(pr[i]), over = 1 / static_cast<double>(s.each());
        for (int64_t j = 0; j < s.per_group; j++) {
          size_t own = static_cast<size_t>(i * s.per_group + j);
          int64_t at = (i * s.per_group + j) * s.inner;
          k.segment_sums(pg + at, px + at, pm[i], s.inner, &sums[own], &dots[own]);
          double scale = pw ? static_cast<double>(pw[first + j]) : 1;
          sum += sums[own] * scale;
          dot += dots[own] * scale;
        }
        for (int64_t j = 0; j < s.per_group && pt; j++) {
          int64_t at = (i * s.per_group + j) * s.inner;
          k.segment_backward(pg + at, px + at, pm[i], pw ? pr[i] * pw[first + j] : pr[i],
                             static_cast<T>(-dot * rr * rr * rr * over), static_cast<T>(-sum * rr * over), pt + at,
                             s.inner);
        }
      }
    });
    T *dw = weight_grad.data_as<T>(), *db = bias_grad.data_as<T>();
    for (int64_t c = 0; c < s.channels; c++) {
      double sum = 0, dot = 0;
      for (int64_t n = 0; n < s.batch; n++) {
        size_t at = static_cast<size_t>(n * s.channels + c);
        sum += sums[at];
        dot += dots[at] * static_cast<double>(pr[n * s.groups + c / s.per_group]);
      }
      dw[c] = static_cast<T>(dot);
      db[c] = static_cast<T>(sum);
    }
  });
}

}  // namespace undertow::core::cpu
