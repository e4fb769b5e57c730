// batch_norm.cpp: statistics over images, one weight per channel; and the CPU's NormalizationKernels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/normalization/normalization_kernels.h"
#include "core/kernels/cpu/normalization/norms.h"

namespace undertow::core::cpu {

namespace {

// The moments of some elements, combined with those of others (Chan's update).
struct Moments {
  double mean = 0, squares = 0, count = 0;
  void join(double m, double q, double n) {
    double away = m - mean, all = count + n;
    mean += away * n / all;
    squares += q + away * away * count * n / all;
    count = all;
  }
};

// Calls f(c) for every channel, in chunks of whole channels.
template <class F>
void for_each_channel(const NormImages& s, F&& f) {
  parallel_for(0, s.channels, std::max<int64_t>(1, kNormGrain / std::max<int64_t>(1, s.each())),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; c++) f(c);
               });
}
// Calls f(first row, rows, chunk) for chunks of rows.
int64_t rows_in_chunk(const NormImages& s) {
  return std::max<int64_t>({1, kNormGrain / std::max<int64_t>(1, s.channels), (s.each() + 63) / 64});
}
template <class F>
void for_each_rows(const NormImages& s, F&& f) {
  int64_t step = rows_in_chunk(s);
  parallel_for(0, s.each(), step, [&](int64_t begin, int64_t end) { f(begin, end - begin, begin / step); });
}
size_t chunks_of(const NormImages& s) {
  return static_cast<size_t>((s.each() + rows_in_chunk(s) - 1) / rows_in_chunk(s));
}

template <class T>
std::vector<Moments> rows_moments(const T* x, const NormImages& s) {
  size_t c = static_cast<size_t>(s.channels), chunks = chunks_of(s);
  std::vector<double> partial(2 * c * chunks);
  for_each_rows(s, [&](int64_t row, int64_t rows, int64_t chunk) {
    double* own = partial.data() + static_cast<size_t>(chunk) * 2 * c;
    normalization_loops<T>().columns_moments(x + row * s.channels, rows, s.channels, own, own + c);
  });
  std::vector<Moments> all(c);
  int64_t step = rows_in_chunk(s);
  for (size_t k = 0; k < chunks; k++) {
    double rows = static_cast<double>(std::min(step, s.each() - static_cast<int64_t>(k) * step));
    for (size_t j = 0; j < c; j++) all[j].join(partial[2 * k * c + j], partial[(2 * k + 1) * c + j], rows);
  }
  return all;
}

// A statistic rounded to its stored dtype: torch normalises with the rounded value, and its backward pass has no other.
template <class T>
T kept(double v, DType stats) {
  if (stats == DType::BFloat16) return static_cast<T>(static_cast<float>(BFloat16(static_cast<float>(v))));
  if (stats == DType::Float16) return static_cast<T>(static_cast<float>(Half(static_cast<float>(v))));
  return static_cast<T>(v);
}
template <class T>
void keep_statistics(const Moments& m, double eps, DType stats, T* mean, T* rstd) {
  *mean = kept<T>(m.mean, stats);
  *rstd = kept<T>(1 / std::sqrt(m.squares / m.count + eps), stats);
}

// running = (1 - momentum) * running + momentum * seen
void follow(const Tensor& running, const std::vector<double>& seen, double momentum) {
  if (!running.defined()) return;
  Tensor next = empty(running.sizes(), DType::Float64);
  copy(next, running);
  double* p = next.data_as<double>();
  for (size_t c = 0; c < seen.size(); c++) p[c] = (1 - momentum) * p[c] + momentum * seen[c];
  copy(running, next);
}
void update_running(const Tensor& running_mean, const Tensor& running_var, const std::vector<Moments>& all,
                    double momentum) {
  std::vector<double> mean, var;
  for (const Moments& m : all) {
    mean.push_back(m.mean);
    var.push_back(m.squares / (m.count - 1));
  }
  follow(running_mean, mean, momentum);
  follow(running_var, var, momentum);
}

// For each channel: x -> (x - mean) * scale + bias.
template <class T>
void apply(const T* x, const T* mean, const T* scale, const T* bias, T* out, const NormImages& s) {
  const auto& k = normalization_loops<T>();
  if (s.rows) {
    for_each_rows(s, [&](int64_t row, int64_t rows, int64_t) {
      k.columns(x + row * s.channels, mean, scale, bias, out + row * s.channels, rows, s.channels);
    });
    return;
  }
  for_each_channel(s, [&](int64_t c) {
    for (int64_t n = 0; n < s.batch; n++) {
      int64_t at = (n * s.channels + c) * s.inner;
      k.segment(x + at, mean[c], scale[c], bias[c], out + at, s.inner);
    }
  });
}

template <class T>
std::vector<T> rstd_of(const Tensor& var, double eps) {
  std::vector<T> out;
  out.reserve(static_cast<size_t>(var.numel()));
  for (int64_t c = 0; c < var.numel(); c++)
    out.push_back(static_cast<T>(1 / std::sqrt(static_cast<double>(var.data_as<T>()[c]) + eps)));
  return out;
}

// out = (x - mean) * rstd * weight + bias, channel by channel.
template <class T>
void apply_affine(const Tensor& out, const Tensor& x, const T* mean, const T* rstd, const T* weight, const T* bias,
                  const NormImages& s) {
  std::vector<T> scale, shift;
  for (int64_t c = 0; c < s.channels; c++) {
    scale.push_back(rstd[c] * (weight ? weight[c] : T(1)));
    shift.push_back(bias ? bias[c] : T(0));
  }
  apply(x.data_as<T>(), mean, scale.data(), shift.data(), out.data_as<T>(), s);
}

void batch_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, const NormImages& s,
                DType stats, double momentum, double eps) {
  in_wide(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(weight), *pb = data_or_null<T>(bias);
    T *po = out.data_as<T>(), *pm = mean.data_as<T>(), *pr = rstd.data_as<T>();
    auto weight_of = [&](int64_t c) { return pw ? pw[c] : T(1); };
    auto bias_of = [&](int64_t c) { return pb ? pb[c] : T(0); };
    if (!s.rows) {  // a channel is read for its moments, and normalised while it is in cache
      std::vector<Moments> all(static_cast<size_t>(s.channels));
      for_each_channel(s, [&](int64_t c) {
        Moments& own = all[static_cast<size_t>(c)];
        for (int64_t n = 0; n < s.batch; n++) {
          double m, q;
          k.moments(px + (n * s.channels + c) * s.inner, s.inner, &m, &q);
          own.join(m, q, static_cast<double>(s.inner));
        }
        keep_statistics(own, eps, stats, pm + c, pr + c);
        for (int64_t n = 0; n < s.batch; n++) {
          int64_t at = (n * s.channels + c) * s.inner;
          k.segment(px + at, pm[c], pr[c] * weight_of(c), bias_of(c), po + at, s.inner);
        }
      });
      if (s.each()) update_running(running_mean, running_var, all, momentum);
      return;
    }
    std::vector<Moments> all = rows_moments(px, s);
    for (int64_t c = 0; c < s.channels; c++) keep_statistics(all[static_cast<size_t>(c)], eps, stats, pm + c, pr + c);
    if (s.each()) update_running(running_mean, running_var, all, momentum);
    apply_affine(out, x, pm, pr, pw, pb, s);
  });
}

void batch_norm_evaluate(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& var, const NormImages& s, double eps) {
  in_wide(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> rstd = rstd_of<T>(var, eps);
    apply_affine(out, x, mean.data_as<T>(), rstd.data(), data_or_null<T>(weight), data_or_null<T>(bias), s);
  });
}

// With x^ = (x - mean) * rstd and k = weight * rstd: k * (grad - mean(grad) - x^ * mean(grad * x^)), or k * grad in
// evaluation.
void batch_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& second,
                         const NormImages& s, bool training, bool sums_wanted, double eps) {
  in_wide(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_loops<T>();
    std::vector<T> own_rstd;
    if (!training) own_rstd = rstd_of<T>(second, eps);
    const T *pg = grad.data_as<T>(), *px = x.data_as<T>(), *pw = data_or_null<T>(weight), *pm = mean.data_as<T>(),
            *pr = training ? second.data_as<T>() : own_rstd.data();
    T *pt = writable_or_null<T>(to), *dw = weight_grad.data_as<T>(), *db = bias_grad.data_as<T>();
    std::vector<T> a(static_cast<size_t>(s.channels)), b(a.size()), e(a.size());
    double over = 1 / static_cast<double>(s.each());
    auto settle = [&](int64_t c, double sum, double dot) {
      size_t i = static_cast<size_t>(c);
      double rstd = static_cast<double>(pr[c]), scale = rstd * (pw ? static_cast<double>(pw[c]) : 1);
      dw[c] = static_cast<T>(dot * rstd);
      db[c] = static_cast<T>(sum);
      a[i] = static_cast<T>(scale);
      b[i] = training ? static_cast<T>(-scale * rstd * rstd * dot * over) : T(0);
      e[i] = training ? static_cast<T>(-scale * sum * over) : T(0);
    };
    if (!s.rows) {
      for_each_channel(s, [&](int64_t c) {
        size_t i = static_cast<size_t>(c);
        double sum = 0, dot = 0;
        for (int64_t n = 0; n < s.batch && sums_wanted; n++) {
          int64_t at = (n * s.channels + c) * s.inner;
          double p, q;
          k.segment_sums(pg + at, px + at, pm[c], s.inner, &p, &q);
          sum += p;
          dot += q;
        }
        settle(c, sum, dot);
        for (int64_t n = 0; n < s.batch && pt; n++) {
          int64_t at = (n * s.channels + c) * s.inner;
          if (training)
            k.segment_backward(pg + at, px + at, pm[c], a[i], b[i], e[i], pt + at, s.inner);
          else
            k.segment(pg + at, T(0), a[i], T(0), pt + at, s.inner);
        }
      });
      return;
    }
    size_t c = a.size(), chunks = sums_wanted ? chunks_of(s) : 0;
    std::vector<double> partial(2 * c * chunks), sums(2 * c);
    if (sums_wanted)
      for_each_rows(s, [&](int64_t row, int64_t rows, int64_t chunk) {
        double* own = partial.data() + static_cast<size_t>(chunk) * 2 * c;
        k.columns_sums(pg + row * s.channels, px + row * s.channels, pm, rows, s.channels, own, own + c);
      });
    for (size_t chunk = 0; chunk < chunks; chunk++)
      for (size_t j = 0; j < 2 * c; j++) sums[j] += partial[chunk * 2 * c + j];
    for (int64_t j = 0; j < s.channels; j++) settle(j, sums[static_cast<size_t>(j)], sums[c + static_cast<size_t>(j)]);
    if (pt)
      for_each_rows(s, [&](int64_t row, int64_t rows, int64_t) {
        int64_t at = row * s.channels;
        k.columns_backward(pg + at, px + at, pm, a.data(), b.data(), e.data(), pt + at, rows, s.channels);
      });
  });
}

}  // namespace

constinit const NormalizationKernels normalization_kernels = {
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .batch_norm = batch_norm,
    .batch_norm_evaluate = batch_norm_evaluate,
    .batch_norm_backward = batch_norm_backward,
    .group_norm = group_norm,
    .group_norm_lines_backward = group_norm_lines_backward,
    .group_norm_backward = group_norm_backward,
};

}  // namespace undertow::core::cpu
