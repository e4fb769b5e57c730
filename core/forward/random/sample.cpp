// sample.cpp: draws whose parameters stand in a tensor: bernoulli, normal, poisson, multinomial.
// build: small
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/random/fill.h"
#include "core/tensor/layout.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_random.h"

namespace undertow::fwd {

namespace {

double uniform53(random::RandomState& s) {
  double u;
  random::fill_uniform(s, &u, 1, 0, 1);
  return u;
}

float wide(random::Half h) { return half_to_float(h.bits); }
float wide(random::BFloat16 h) { return static_cast<float>(std::bit_cast<BFloat16>(h)); }
float wide(float v) { return v; }
double wide(double v) { return v; }

// `src` laid out as `out` lies in memory, so that walking both in memory order pairs their elements.
Tensor laid_out_like(const Tensor& src, const Tensor& out) {
  Tensor same_layout =
      undertow::empty_strided(out.sizes(), dense_strides_like(out.sizes(), out.strides()), src.dtype());
  copy_into(same_layout, src);
  return same_layout;
}

// Poisson by multiplication for small rates and by Hoermann's transformed rejection (PTRS, 1993) for large, as torch.
int64_t draw_poisson(random::RandomState& s, double rate) {
  UT_CHECK(rate >= 0, "invalid Poisson rate, expected rate to be non-negative, got ", rate);
  if (rate == 0) return 0;
  if (rate < 10) {
    double limit = std::exp(-rate), product = 1;
    for (int64_t k = 0;; k++) {
      product *= uniform53(s);
      if (!(product > limit)) return k;
    }
  }
  double root = std::sqrt(rate), log_rate = std::log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = uniform53(s) - 0.5, v = uniform53(s), us = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= vr) return static_cast<int64_t>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - std::lgamma(k + 1))
      return static_cast<int64_t>(k);
  }
}

// Each row's samples by the race of exponentials: the largest weight / exponential wins, the next largest is second.
template <class T, class Math>
void sample_without_replacement(random::RandomState& s, const Math* weights, int64_t rows, int64_t n, int64_t count,
                                int64_t* out) {
  std::unique_ptr<T[]> drawn(new T[static_cast<size_t>(rows * n)]);
  random::fill_exponential(s, drawn.get(), static_cast<size_t>(rows * n), 1);
  std::vector<Math> score(static_cast<size_t>(n));
  std::vector<int64_t> order(static_cast<size_t>(n));
  auto rounded = [](Math v) {
    if constexpr (std::is_same_v<T, random::Half>)
      return static_cast<float>(Half(v));
    else if constexpr (std::is_same_v<T, random::BFloat16>)
      return static_cast<float>(BFloat16(v));
    else
      return v;
  };
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < n; j++)
      score[static_cast<size_t>(j)] = rounded(weights[i * n + j] / wide(drawn[static_cast<size_t>(i * n + j)]));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
      Math x = score[static_cast<size_t>(a)], y = score[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    });
    std::copy(order.begin(), order.begin() + count, out + i * count);
  }
}

template <class Math>
void sample_with_replacement(random::RandomState& s, const Math* weights, int64_t rows, int64_t n, int64_t count,
                             int64_t* out) {
  std::vector<Math> cumulative(static_cast<size_t>(n));
  for (int64_t i = 0; i < rows; i++) {
    Math sum = 0;
    for (int64_t j = 0; j < n; j++) {
      Math w = weights[i * n + j];
      UT_CHECK(w >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
      UT_CHECK(std::isfinite(w), "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
      sum += w;
      cumulative[static_cast<size_t>(j)] = sum;
    }
    UT_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    for (Math& c : cumulative) c /= sum;
    cumulative.back() = 1;
    for (int64_t j = 0; j < count; j++) {
      double u = uniform53(s);
      out[i * count + j] = std::partition_point(cumulative.begin(), cumulative.end(),
                                                [u](Math c) { return static_cast<double>(c) < u; }) -
                           cumulative.begin();
    }
  }
}

}  // namespace

void bernoulli_out(const Tensor& out, const Tensor&, const Tensor& p, Generator* g) {
  UT_CHECK(is_expandable_to(p.sizes(), out.sizes()), "output with shape ", ShapeText{out.sizes()},
           " doesn't match the broadcast shape ", ShapeText{broadcast_sizes(out.sizes(), p.sizes())});
  Tensor chances = laid_out_like(p, out);
  dispatch_drawn(out.dtype(), "bernoulli_tensor_cpu_self_", [&](auto out_tag) {
    using T = typename decltype(out_tag)::type;
    dispatch_floating(p.dtype(), "bernoulli_tensor_cpu_p_", [&](auto p_tag) {
      using P = typename decltype(p_tag)::type;
      const P* chance = chances.data_as<P>();
      for (int64_t i = 0; i < chances.numel(); i++)
        UT_CHECK(wide(chance[i]) >= 0 && wide(chance[i]) <= 1,
                 "Expected p_in >= 0 && p_in <= 1 to be true, but got false. The probability is ", wide(chance[i]));
      fill_in_memory_order<T>(
          out, g, [&](random::RandomState& s, T* q, size_t n) { random::fill_bernoulli_each(s, q, chance, n); });
    });
  });
}
Tensor bernoulli(const Tensor& self, const Tensor& p, Generator* g) {
  Tensor out = allocate_like(self, self.dtype());
  bernoulli_out(out, self, p, g);
  return out;
}
Tensor bernoulli(const Tensor& self, Generator* g) { return bernoulli(self, self, g); }

Tensor normal(const Tensor& mean, const Tensor& std, Generator* g) {
  UT_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  Tensor out = undertow::empty(broadcast_sizes(mean.sizes(), std.sizes()), mean.dtype());
  Tensor wide_std = contiguous(to_dtype(std, DType::Float64));
  for (int64_t i = 0; i < wide_std.numel(); i++)
    UT_CHECK(wide_std.data_as<double>()[i] >= 0, "normal expects all elements of std >= 0.0");
  normal_out(out, out, 0, 1, g);
  mul_out(out, out, std);
  add_out(out, out, mean, Scalar(1));
  return out;
}
Tensor normal(const Tensor& mean, double std, Generator* g) {
  Tensor out = undertow::empty(mean.sizes(), mean.dtype());
  normal_out(out, out, 0, std, g);
  add_out(out, out, mean, Scalar(1));
  return out;
}
Tensor normal(double mean, const Tensor& std, Generator* g) {
  return normal(full(std.sizes(), Scalar(mean), std.dtype()), std, g);
}

Tensor poisson(const Tensor& self, Generator* g) {
  UT_CHECK_AS(NotImplemented, self.is_floating(), "\"poisson_cpu\" not implemented for '", long_name(self.dtype()),
              "'");
  Tensor out = undertow::empty(self.sizes(), self.dtype()), rates = contiguous(to_dtype(self, DType::Float64));
  Generator& source = or_default(g);
  std::lock_guard lock(source.mutex);
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_integral_v<T>)
      for (int64_t i = 0; i < out.numel(); i++)
        out.data_as<T>()[i] = convert<T>(draw_poisson(source.state, rates.data_as<double>()[i]));
  });
  return out;
}

Tensor multinomial(const Tensor& self, int64_t count, bool replacement, Generator* g) {
  UT_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim, got shape ", ShapeText{self.sizes()});
  UT_CHECK(count > 0, "cannot sample n_sample <= 0 samples, got ", count);
  int64_t n = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  UT_CHECK(replacement || count <= n,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", count, " of ", n);
  UT_CHECK(self.is_floating(),
           "multinomial only supports floating-point dtypes for input, got: ", long_name(self.dtype()));
  UT_CHECK(n <= 1 << 24, "number of categories cannot exceed 2^24, got ", n);
  Tensor out = undertow::empty(self.dim() == 2 ? Dims{rows, count} : Dims{count}, DType::Int64);
  if (rows == 0) return out;
  dispatch_floating(self.dtype(), "multinomial", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Math = decltype(wide(T{}));
    Tensor weights = contiguous(to_dtype(self, std::is_same_v<Math, double> ? DType::Float64 : DType::Float32));
    const Math* w = weights.data_as<Math>();
    Generator& source = or_default(g);
    if (replacement && count != 1) {
      std::lock_guard lock(source.mutex);
      return sample_with_replacement(source.state, w, rows, n, count, out.data_as<int64_t>());
    }
    for (int64_t i = 0; i < rows; i++) {
      Math sum = 0;
      for (int64_t j = 0; j < n; j++) {
        Math v = w[i * n + j];
        UT_CHECK(v >= 0 && std::isfinite(v), "probability tensor contains either `inf`, `nan` or element < 0: ", v);
        sum += v;
      }
      UT_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    }
    std::lock_guard lock(source.mutex);
    sample_without_replacement<T>(source.state, w, rows, n, count, out.data_as<int64_t>());
  });
  return out;
}

}  // namespace undertow::fwd
