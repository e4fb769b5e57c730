// ranges.cpp: the CPU's CreateKernels: arange, linspace and logspace.
// build: small
#include <cmath>

#include "core/base/parallel.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/create.h"

namespace undertow::core::cpu {

namespace {

// The type in which torch accumulates a range: one step wider than the elements.
template <class T>
struct Wide {
  using type = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
};
template <>
struct Wide<Half> {
  using type = float;
};
template <>
struct Wide<BFloat16> {
  using type = float;
};

void arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) {
      using W = typename Wide<T>::type;
      W a = start.to<W>(), s = step.to<W>();
      T* p = out.data_as<T>();
      parallel_for(0, out.numel(), kParallelGrain, [&](int64_t begin, int64_t last) {
        for (int64_t i = begin; i < last; i++) p[i] = convert<T>(static_cast<W>(a + s * static_cast<W>(i)));
      });
    }
  });
}

// Element i of n from a to b, computed from the nearer end so that both ends are exact.
template <class S>
S between(S a, S b, S step, int64_t i, int64_t n) {
  return i < n / 2 ? S(a + step * static_cast<S>(i)) : S(b - step * static_cast<S>(n - 1 - i));
}

// f maps each evenly spaced value.
template <class F>
void spaced(const Tensor& out, const Scalar& start, const Scalar& end, F&& f) {
  int64_t steps = out.numel();
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using S = std::conditional_t<std::is_integral_v<T>, double, OpMath<T>>;
    S a = static_cast<S>(start.to<S>()), b = static_cast<S>(end.to<S>());
    // Ends are rounded or truncated to the element type before the step is computed.
    if constexpr ((std::is_integral_v<T> && !std::is_same_v<T, bool>) || kIsHalf<T>) {
      a = static_cast<S>(start.to<T>());
      b = static_cast<S>(end.to<T>());
    }
    S step = steps > 1 ? S((b - a) / static_cast<S>(steps - 1)) : S(0);
    T* p = out.data_as<T>();
    parallel_for(0, steps, kParallelGrain, [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last; i++) p[i] = convert<T>(f(steps == 1 ? a : between(a, b, step, i, steps)));
    });
  });
}

void linspace(const Tensor& out, const Scalar& start, const Scalar& end) {
  spaced(out, start, end, [](auto v) { return v; });
}
void logspace(const Tensor& out, const Scalar& start, const Scalar& end, double base) {
  spaced(out, start, end, [base](auto v) {
    using S = decltype(v);
    return S(std::pow(static_cast<S>(base), v));
  });
}

}  // namespace

constinit const CreateKernels create_kernels = {.arange = arange, .linspace = linspace, .logspace = logspace};

}  // namespace undertow::core::cpu
