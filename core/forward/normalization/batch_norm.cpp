// batch_norm.cpp: batch and group normalisation: statistics over images, a weight for each channel.
// build: small
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/forward/normalization/normalization.h"
#include "core/forward/reduce/plan.h"
#include "core/tensor/layout.h"
#include "generated/fwd_normalization.h"

namespace undertow::fwd {

namespace {

constexpr int64_t kGrain = 16384;  // elements in a chunk

// Moments of some elements, joined to those of others (Chan's update).
struct Moments {
  double mean = 0, squares = 0, count = 0;
  void join(double m, double q, double n) {
    double away = m - mean, all = count + n;
    mean += away * n / all;
    squares += q + away * away * count * n / all;
    count = all;
  }
};

// (batch, channels, inner) in memory; or rows of channels, where they lie next to each other.
struct Images {
  int64_t batch, channels, inner;
  bool rows;       // channels next to each other: batch * inner rows
  bool reordered;  // and this although the tensor has inner dimensions: channels_last
  int64_t each() const { return batch * inner; }
};

Images images_of(const Tensor& input) {
  Images s{input.dim() ? input.size(0) : 0, input.dim() > 1 ? input.size(1) : 0, 1, false, false};
  for (int64_t d = 2; d < input.dim(); d++) s.inner *= input.size(d);
  s.reordered = s.inner > 1 && suggested_format(input) == MemoryFormat::ChannelsLast &&
                is_in_format(input, MemoryFormat::ChannelsLast);
  s.rows = s.inner == 1 || s.reordered;
  return s;
}
Tensor laid_out(const Tensor& t, DType wide, const Images& s) {
  if (!s.reordered) return widened(t, wide);
  Tensor w = to_dtype(t, wide);
  if (is_in_format(w, MemoryFormat::ChannelsLast)) return w;
  Tensor copy = empty_in_format(w, wide, MemoryFormat::ChannelsLast);
  copy_into(copy, w);
  return copy;
}
Tensor like_images(const Tensor& t, DType wide, const Images& s) {
  return s.reordered ? empty_in_format(t, wide, MemoryFormat::ChannelsLast) : empty(t.sizes(), wide);
}

void check_length(const Tensor& t, const char* name, int64_t channels) {
  UT_CHECK(!t.defined() || t.numel() == channels, name, " should contain ", channels, " elements not ", t.numel());
}

// f(c) for every channel, in chunks of whole channels.
template <class F>
void for_each_channel(const Images& s, F&& f) {
  parallel_for(0, s.channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.each())),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; c++) f(c);
               });
}
// f(first row, rows, chunk) for chunks of rows.
int64_t rows_in_chunk(const Images& s) {
  return std::max<int64_t>({1, kGrain / std::max<int64_t>(1, s.channels), (s.each() + 63) / 64});
}
template <class F>
void for_each_rows(const Images& s, F&& f) {
  int64_t step = rows_in_chunk(s);
  parallel_for(0, s.each(), step, [&](int64_t begin, int64_t end) { f(begin, end - begin, begin / step); });
}
size_t chunks_of(const Images& s) { return static_cast<size_t>((s.each() + rows_in_chunk(s) - 1) / rows_in_chunk(s)); }

template <class T>
std::vector<Moments> rows_moments(const T* x, const Images& s) {
  size_t c = static_cast<size_t>(s.channels), chunks = chunks_of(s);
  std::vector<double> partial(2 * c * chunks);
  for_each_rows(s, [&](int64_t row, int64_t rows, int64_t chunk) {
    double* own = partial.data() + static_cast<size_t>(chunk) * 2 * c;
    normalization_kernels<T>().columns_moments(x + row * s.channels, rows, s.channels, own, own + c);
  });
  std::vector<Moments> all(c);
  int64_t step = rows_in_chunk(s);
  for (size_t k = 0; k < chunks; k++) {
    double rows = static_cast<double>(std::min(step, s.each() - static_cast<int64_t>(k) * step));
    for (size_t j = 0; j < c; j++) all[j].join(partial[2 * k * c + j], partial[(2 * k + 1) * c + j], rows);
  }
  return all;
}

// A statistic as it will be kept: torch normalises by the rounded one, and its backward pass has no other.
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
  Tensor next = contiguous_copy(to_dtype(running, DType::Float64));
  double* p = next.data_as<double>();
  for (size_t c = 0; c < seen.size(); c++) p[c] = (1 - momentum) * p[c] + momentum * seen[c];
  copy_into(running, next);
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
void apply(const T* x, const T* mean, const T* scale, const T* bias, T* out, const Images& s) {
  const auto& k = normalization_kernels<T>();
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

// The mean and the inverse deviation that an evaluation uses.
template <class T>
void running_statistics(const Tensor& running_mean, const Tensor& running_var, double eps, DType wide,
                        std::vector<T>& mean, std::vector<T>& rstd) {
  Tensor m = widened(running_mean, wide), v = widened(running_var, wide);
  for (int64_t c = 0; c < m.numel(); c++) {
    mean.push_back(m.data_as<T>()[c]);
    rstd.push_back(static_cast<T>(1 / std::sqrt(static_cast<double>(v.data_as<T>()[c]) + eps)));
  }
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     bool training, double momentum, double eps) {
  Images s = images_of(input);
  check_length(running_mean, "running_mean", s.channels);
  UT_CHECK(training || running_mean.defined(), "running_mean must be defined in evaluation mode");
  check_length(running_var, "running_var", s.channels);
  UT_CHECK(training || running_var.defined(), "running_var must be defined in evaluation mode");
  check_length(weight, "weight", s.channels);
  check_length(bias, "bias", s.channels);
  NormalizationTypes t = normalization_types(input, {&weight, &bias, &running_mean, &running_var}, "batch_norm");
  const int64_t length = training ? s.channels : 0;
  Tensor x = laid_out(input, t.wide, s), w = widened(weight, t.wide), b = widened(bias, t.wide),
         out = like_images(input, t.wide, s);
  Tensor mean = empty(IntSpan(&length, 1), t.wide), rstd = empty(IntSpan(&length, 1), t.wide);
  in_wide(t.wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pb = data_or_null<T>(b);
    T *po = out.data_as<T>(), *pm = mean.data_as<T>(), *pr = rstd.data_as<T>();
    auto weight_of = [&](int64_t c) { return pw ? pw[c] : T(1); };
    auto bias_of = [&](int64_t c) { return pb ? pb[c] : T(0); };
    if (training && !s.rows) {  // a channel is read for its moments and, while it is in cache, normalised
      std::vector<Moments> all(static_cast<size_t>(s.channels));
      for_each_channel(s, [&](int64_t c) {
        Moments& own = all[static_cast<size_t>(c)];
        for (int64_t n = 0; n < s.batch; n++) {
          double m, q;
          k.moments(px + (n * s.channels + c) * s.inner, s.inner, &m, &q);
          own.join(m, q, static_cast<double>(s.inner));
        }
        keep_statistics(own, eps, t.stats, pm + c, pr + c);
        for (int64_t n = 0; n < s.batch; n++) {
          int64_t at = (n * s.channels + c) * s.inner;
          k.segment(px + at, pm[c], pr[c] * weight_of(c), bias_of(c), po + at, s.inner);
        }
      });
      if (s.each()) update_running(running_mean, running_var, all, momentum);
      return;
    }
    std::vector<T> own_mean, own_rstd, scale, shift;
    if (training) {
      std::vector<Moments> all = rows_moments(px, s);
      for (int64_t c = 0; c < s.channels; c++)
        keep_statistics(all[static_cast<size_t>(c)], eps, t.stats, pm + c, pr + c);
      if (s.each()) update_running(running_mean, running_var, all, momentum);
    } else {
      running_statistics(running_mean, running_var, eps, t.wide, own_mean, own_rstd);
      pm = own_mean.data();
      pr = own_rstd.data();
    }
    for (int64_t c = 0; c < s.channels; c++) {
      scale.push_back(pr[c] * weight_of(c));
      shift.push_back(bias_of(c));
    }
    apply(px, pm, scale.data(), shift.data(), po, s);
  });
  return {to_dtype(out, input.dtype()), to_dtype(mean, t.stats), to_dtype(rstd, t.stats)};
}

// With x^ = (x - mean) * rstd and k = weight * rstd: k * (grad - mean(grad) - x^ * mean(grad * x^)), or k * grad in
// evaluation.
std::tuple<Tensor, Tensor, Tensor> _batch_norm_backward(const Tensor& dy, const Tensor& input, const Tensor& weight,
                                                        const Tensor& running_mean, const Tensor& running_var,
                                                        const Tensor& save_mean, const Tensor& save_rstd, bool training,
                                                        double eps, int64_t mask) {
  Images s = images_of(input);
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  Tensor g = laid_out(dy, wide, s), x = laid_out(input, wide, s), w = widened(weight, wide),
         m = widened(save_mean, wide), r = widened(save_rstd, wide);
  Tensor to = mask & 1 ? like_images(input, wide, s) : Tensor();
  const int64_t length = s.channels;
  Tensor weight_grad = empty(IntSpan(&length, 1), wide), bias_grad = empty(IntSpan(&length, 1), wide);
  bool sums_wanted = training || mask & 6;
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *pg = g.data_as<T>(), *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pm = m.data_as<T>(),
            *pr = r.data_as<T>();
    T *pt = to.defined() ? to.data_as<T>() : nullptr, *dw = weight_grad.data_as<T>(), *db = bias_grad.data_as<T>();
    std::vector<T> own_mean, own_rstd;
    if (!training) {
      running_statistics(running_mean, running_var, eps, wide, own_mean, own_rstd);
      pm = own_mean.data();
      pr = own_rstd.data();
    }
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
  auto finished = [&](const Tensor& t, int bit, DType dtype) {
    return mask & bit ? to_dtype(t, dtype) : not_wanted(input);
  };
  DType own = weight.defined() ? weight.dtype() : training ? save_mean.dtype() : running_mean.dtype();
  return {finished(to, 1, input.dtype()), finished(weight_grad, 2, own), finished(bias_grad, 4, own)};
}

namespace {
struct Groups {
  int64_t batch, channels, inner, groups, per_group;
  int64_t each() const { return per_group * inner; }
  int64_t grain() const { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, each())); }
};
Groups groups_of(const Tensor& input, int64_t batch, int64_t channels, int64_t inner, int64_t groups) {
  UT_CHECK(groups > 0 && channels % groups == 0,
           "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
           ShapeText{input.sizes()}, " and num_groups=", groups);
  UT_CHECK(batch * channels * inner == input.numel(), "native_group_norm: ", batch, " x ", channels, " x ", inner,
           " are not the ", input.numel(), " elements of the input");
  return {batch, channels, inner, groups, channels / groups};
}
}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  Groups s = groups_of(input, N, C, HxW, group);
  UT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == C),
           "Expected weight to be a vector of size equal to the number of channels in input, but got weight of shape ",
           ShapeText{weight.sizes()}, " and input of shape ", ShapeText{input.sizes()});
  UT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.numel() == C),
           "Expected bias to be a vector of size equal to the number of channels in input, but got bias of shape ",
           ShapeText{bias.sizes()}, " and input of shape ", ShapeText{input.sizes()});
  NormalizationTypes t = normalization_types(input, {&weight, &bias}, "GroupNormKernelImpl");
  const int64_t stats[2] = {N, group};
  Tensor x = widened(input, t.wide), w = widened(weight, t.wide), b = widened(bias, t.wide),
         out = empty(input.sizes(), t.wide);
  Tensor mean = empty(IntSpan(stats, 2), t.wide), rstd = empty(IntSpan(stats, 2), t.wide);
  in_wide(t.wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pb = data_or_null<T>(b);
    T *po = out.data_as<T>(), *pm = mean.data_as<T>(), *pr = rstd.data_as<T>();
    parallel_for(0, s.batch * s.groups, s.grain(), [&](int64_t begin, int64_t end) {
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
  Tensor result = to_dtype(out, input.dtype());
  if (input.dim() == 4 && suggested_format(input) == MemoryFormat::ChannelsLast && !input.is_contiguous()) {
    Tensor reordered = empty_in_format(result, result.dtype(), MemoryFormat::ChannelsLast);
    copy_into(reordered, result);
    result = reordered;
  }
  return {result, to_dtype(mean, t.stats), to_dtype(rstd, t.stats)};
}

namespace {
// Without inner dimensions a group is a line of layer normalisation, with weights of its own. Chunks of the batch add
// up what they give to weight and bias, and are joined in their order.
template <class T>
void lines_of_groups(const T* grad, const T* x, const T* mean, const T* rstd, const T* weight, T* to, const Groups& s,
                     Tensor& weight_grad, Tensor& bias_grad) {
  const auto& k = normalization_kernels<T>();
  int64_t step =
      std::max<int64_t>(std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.channels)), (s.batch + 31) / 32);
  const int64_t table[2] = {(s.batch + step - 1) / step, s.channels};
  Tensor dw = empty(IntSpan(table, 2), weight_grad.dtype()), db = empty(IntSpan(table, 2), weight_grad.dtype());
  parallel_for(0, s.batch, step, [&](int64_t begin, int64_t end) {
    T *own_w = dw.data_as<T>() + begin / step * s.channels, *own_b = db.data_as<T>() + begin / step * s.channels;
    std::fill_n(own_w, s.channels, T(0));
    std::fill_n(own_b, s.channels, T(0));
    for (int64_t g = begin * s.groups; g < end * s.groups; g++) {
      int64_t at = g * s.per_group, first = g % s.groups * s.per_group;
      k.lines_backward(grad + at, x + at, mean + g, rstd + g, weight ? weight + first : nullptr, to ? to + at : nullptr,
                       own_w + first, own_b + first, 1, s.per_group, true);
    }
  });
  weight_grad = fold(Fold::Sum, dw, 1, false, "group_norm_backward");
  bias_grad = fold(Fold::Sum, db, 1, false, "group_norm_backward");
}
}  // namespace

// As layer normalisation's, with h = grad * weight summed channel by channel.
std::tuple<Tensor, Tensor, Tensor> _group_norm_backward(const Tensor& dy, const Tensor& input, const Tensor& mean,
                                                        const Tensor& rstd, const Tensor& weight, int64_t N, int64_t C,
                                                        int64_t HxW, int64_t group, double, int64_t mask) {
  Groups s = groups_of(input, N, C, HxW, group);
  DType wide = is_reduced_float(input.dtype()) ? DType::Float32 : input.dtype();
  Tensor g = widened(dy, wide), x = widened(input, wide), w = widened(weight, wide), m = widened(mean, wide),
         r = widened(rstd, wide);
  Tensor to = mask & 1 ? empty(input.sizes(), wide) : Tensor();
  Tensor weight_grad = empty(IntSpan(&C, 1), wide), bias_grad = empty(IntSpan(&C, 1), wide);
  in_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& k = normalization_kernels<T>();
    const T *pg = g.data_as<T>(), *px = x.data_as<T>(), *pw = data_or_null<T>(w), *pm = m.data_as<T>(),
            *pr = r.data_as<T>();
    T* pt = to.defined() ? to.data_as<T>() : nullptr;
    if (s.inner == 1) {
      lines_of_groups(pg, px, pm, pr, pw, pt, s, weight_grad, bias_grad);
      return;
    }
    std::vector<double> sums(static_cast<size_t>(s.batch * s.channels)), dots(sums.size());
    parallel_for(0, s.batch * s.groups, s.grain(), [&](int64_t begin, int64_t end) {
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
  auto finished = [&](const Tensor& t, int bit, DType dtype) {
    return mask & bit ? to_dtype(t, dtype) : not_wanted(input);
  };
  DType own = weight.defined() ? weight.dtype() : mean.dtype();
  return {finished(to, 1, input.dtype()), finished(weight_grad, 2, own), finished(bias_grad, 4, own)};
}

}  // namespace undertow::fwd
