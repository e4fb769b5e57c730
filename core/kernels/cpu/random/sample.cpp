// sample.cpp: distributions whose parameters are in a tensor: bernoulli, poisson, multinomial.
// build: small
#include "core/kernels/cpu/random/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/kernels/cpu/random/fill.h"

namespace undertow::core::cpu {

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

// Poisson by multiplication for small rates and by Hoermann's transformed rejection (PTRS, 1993) for large ones, as in
// torch.
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

// Samples each row by exponential races: the largest weight / exponential comes first, the next largest second.
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

void bernoulli(const Tensor& out, const Tensor& p, Generator& g) {
  dispatch_drawn(out.dtype(), "bernoulli_tensor_cpu_self_", [&](auto out_tag) {
    using T = typename decltype(out_tag)::type;
    dispatch_floating(p.dtype(), "bernoulli_tensor_cpu_p_", [&](auto p_tag) {
      using P = typename decltype(p_tag)::type;
      const P* chance = p.data_as<P>();
      for (int64_t i = 0; i < p.numel(); i++)
        UT_CHECK(wide(chance[i]) >= 0 && wide(chance[i]) <= 1,
                 "Expected p_in >= 0 && p_in <= 1 to be true, but got false. The probability is ", wide(chance[i]));
      fill_in_memory_order<T>(
          out, g, [&](random::RandomState& s, T* q, size_t n) { random::fill_bernoulli_each(s, q, chance, n); });
    });
  });
}

void check_std(const Tensor& std) {
  for (int64_t i = 0; i < std.numel(); i++)
    UT_CHECK(std.data_as<double>()[i] >= 0, "normal expects all elements of std >= 0.0");
}

void poisson(const Tensor& out, const Tensor& rates, Generator& g) {
  std::lock_guard lock(g.mutex);
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_integral_v<T>)
      for (int64_t i = 0; i < out.numel(); i++)
        out.data_as<T>()[i] = convert<T>(draw_poisson(state_of(g), rates.data_as<double>()[i]));
  });
}

void multinomial(const Tensor& out, const Tensor& weights, DType drawn, bool replacement, Generator& g) {
  int64_t n = weights.size(-1), rows = weights.numel() / n, count = out.size(-1);
  dispatch_floating(drawn, "multinomial", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Math = decltype(wide(T{}));
    const Math* w = weights.data_as<Math>();
    if (replacement && count != 1) {
      std::lock_guard lock(g.mutex);
      return sample_with_replacement(state_of(g), w, rows, n, count, out.data_as<int64_t>());
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
    std::lock_guard lock(g.mutex);
    sample_without_replacement<T>(state_of(g), w, rows, n, count, out.data_as<int64_t>());
  });
}

}  // namespace undertow::core::cpu
