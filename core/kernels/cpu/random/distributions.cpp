// distributions.cpp: the CPU's RandomKernels that fill a tensor from one distribution, and the table of all of them.
// build: small
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/random/fill.h"
#include "core/kernels/cpu/random/sample.h"
#include "core/kernels/random.h"

namespace undertow::core::cpu {

std::unique_ptr<RandomStream> new_random_stream(Device) { return std::make_unique<MersenneStream>(); }

void write_in_memory_order(const Tensor& t, const void* elements) {
  ElementwiseIter iter;
  iter.add_output(t, t.dtype());
  iter.build();
  dispatch_width(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* next = static_cast<const T*>(elements);
    walk(
        iter,
        [&](char* const* p, const int64_t* s, int64_t count) {
          for (int64_t i = 0; i < count; i++) *reinterpret_cast<T*>(p[0] + i * s[0]) = *next++;
        },
        t.numel() + 1);  // a single chunk, to keep the order
  });
}

namespace {

using random::RandomState;

template <class Fill>
void fill_floating(const Tensor& out, Generator& g, Fill&& fill) {
  dispatch_floating(out.dtype(), "random", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(out, g, fill);
  });
}
template <class Fill>
void fill_drawn(const Tensor& out, Generator& g, Fill&& fill) {
  dispatch_drawn(out.dtype(), "random", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(out, g, fill);
  });
}

void fill(const Tensor& out, Draw draw, double a, double b, Generator& g) {
  switch (draw) {
    case Draw::Uniform:
      return fill_floating(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_uniform(s, p, n, a, b); });
    case Draw::Normal:
      // Blocks of sixteen are only for contiguous memory; otherwise every pair is drawn by itself.
      return fill_floating(out, g, [=, blocks = out.is_contiguous()](RandomState& s, auto* p, size_t n) {
        if (blocks) return random::fill_normal(s, p, n, a, b);
        for (size_t i = 0; i < n; i += 8) random::fill_normal(s, p + i, std::min<size_t>(8, n - i), a, b);
      });
    case Draw::LogNormal:
      return fill_floating(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_log_normal(s, p, n, a, b); });
    case Draw::Exponential:
      return fill_floating(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_exponential(s, p, n, a); });
    case Draw::Cauchy:
      return fill_floating(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_cauchy(s, p, n, a, b); });
    case Draw::Geometric:
      return fill_drawn(out, g, [=]<class T>(RandomState& s, T* p, size_t n) {
        if constexpr (!std::is_same_v<T, bool>) random::fill_geometric(s, p, n, a);
      });
    case Draw::Bernoulli:
      return fill_drawn(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_bernoulli(s, p, n, a); });
  }
}

void integers(const Tensor& out, int64_t from, uint64_t range, Generator& g) {
  fill_drawn(out, g, [=](RandomState& s, auto* p, size_t n) { random::fill_random_from_to(s, p, n, from, range); });
}
void all_values(const Tensor& out, Generator& g) {
  fill_drawn(out, g, [](RandomState& s, auto* p, size_t n) { random::fill_random(s, p, n); });
}
void all_bits(const Tensor& out, Generator& g) {
  std::lock_guard lock(g.mutex);
  random::fill_random_full_range(state_of(g), out.data_as<int64_t>(), static_cast<size_t>(out.numel()));
}
void permutation(const Tensor& out, Generator& g) {
  dispatch_drawn(out.dtype(), "randperm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      std::lock_guard lock(g.mutex);
      random::fill_permutation(state_of(g), out.data_as<T>(), out.numel());
    }
  });
}

}  // namespace

constinit const RandomKernels random_kernels = {
    .fill = fill,
    .integers = integers,
    .all_values = all_values,
    .all_bits = all_bits,
    .permutation = permutation,
    .bernoulli = bernoulli,
    .check_std = check_std,
    .poisson = poisson,
    .gamma = gamma,
    .gamma_grad = gamma_grad,
    .binomial = binomial,
    .multinomial = multinomial,
};

}  // namespace undertow::core::cpu
