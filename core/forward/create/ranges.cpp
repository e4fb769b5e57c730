// ranges.cpp: arange, range, linspace and logspace: sizes from ends and step, and the values between.
// build: small
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/pointwise/elementwise_iter.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_create.h"

namespace undertow::fwd {

namespace {

// What torch accumulates a range in: one step wider than the elements.
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

void check_ends(const Scalar& start, const Scalar& end, const Scalar& step) {
  for (const Scalar* s : {&start, &end, &step})
    UT_CHECK(!s->is_complex(), "value cannot be converted to type double without overflow");
  double a = start.to_double(), b = end.to_double(), s = step.to_double();
  UT_CHECK(s > 0 || s < 0, "step must be nonzero");
  UT_CHECK(std::isfinite(a) && std::isfinite(b), "unsupported range: ", start, " -> ", end);
  UT_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and lower bound inconsistent with step sign: start ",
           start, ", end ", end, ", step ", step);
}

Tensor sequence(const char* name, int64_t n, const Scalar& start, const Scalar& step, DType dtype) {
  UT_CHECK_AS(NotImplemented, dtype != DType::Bool && !is_complex(dtype), "\"", name, "_cpu\" not implemented for '",
              long_name(dtype), "'");
  Tensor out = undertow::empty(Dims{n}, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) {
      using W = typename Wide<T>::type;
      W a = start.to<W>(), s = step.to<W>();
      T* p = out.data_as<T>();
      parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t last) {
        for (int64_t i = begin; i < last; i++) p[i] = convert<T>(static_cast<W>(a + s * static_cast<W>(i)));
      });
    }
  });
  return out;
}

int64_t count_between(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  if (dtype == DType::Int64) {
    int64_t s = step.to_int(), sign = s > 0 ? 1 : -1;
    UT_CHECK_VALUE(s != 0, "step must be nonzero, but ", step, " as int64 is 0");
    return (end.to_int() - start.to_int() + s - sign) / s;  // exact where doubles are not
  }
  double n = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  UT_CHECK(n >= 0 && n <= 9.2e18, "invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

DType space_dtype(const char* name, const Scalar& start, const Scalar& end, std::optional<DType> dtype) {
  DType natural = start.is_complex() || end.is_complex() ? default_complex_dtype() : default_dtype();
  if (!dtype) return natural;
  UT_CHECK(!undertow::is_complex(natural) || undertow::is_complex(*dtype), "undertow.", name, "(): inferred dtype ",
           cpp_name(natural), " can't be safely cast to passed dtype ", long_name(*dtype));
  return *dtype;
}

Scalar number_of(const char* name, const char* which, const Tensor& t) {
  UT_CHECK(t.dim() == 0, name, " only supports 0-dimensional start and end tensors, but got ", which, " with ", t.dim(),
           " dimension(s).");
  return item(t);
}

// Element i of n from a to b, counted from the nearer end so that both come out exact.
template <class S>
S between(S a, S b, S step, int64_t i, int64_t n) {
  return i < n / 2 ? S(a + step * static_cast<S>(i)) : S(b - step * static_cast<S>(n - 1 - i));
}

// f(value, tag): what becomes of each evenly spaced value.
template <class F>
Tensor spaced(const char* name, const Scalar& start, const Scalar& end, int64_t steps, DType dtype, F&& f) {
  UT_CHECK_AS(NotImplemented, dtype != DType::Bool, "\"", name, "_cpu\" not implemented for 'Bool'");
  UT_CHECK(steps >= 0, "number of steps must be non-negative, got ", steps);
  Tensor out = undertow::empty(Dims{steps}, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using S = std::conditional_t<std::is_integral_v<T>, double, OpMath<T>>;
    S a = static_cast<S>(start.to<S>()), b = static_cast<S>(end.to<S>());
    if constexpr ((std::is_integral_v<T> && !std::is_same_v<T, bool>) ||
                  kIsHalf<T>) {  // ends are cut before the step is made
      a = static_cast<S>(start.to<T>());
      b = static_cast<S>(end.to<T>());
    }
    S step = steps > 1 ? S((b - a) / static_cast<S>(steps - 1)) : S(0);
    T* p = out.data_as<T>();
    parallel_for(0, steps, kParallelGrain, [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last; i++) p[i] = convert<T>(f(steps == 1 ? a : between(a, b, step, i, steps)));
    });
  });
  return out;
}

}  // namespace

Tensor arange(const Scalar& end, std::optional<DType> dtype) { return arange(Scalar(0), end, Scalar(1), dtype); }
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype) {
  bool whole = start.is_integral() && end.is_integral() && step.is_integral();
  DType t = dtype.value_or(whole ? DType::Int64 : default_dtype());
  check_ends(start, end, step);
  return sequence("arange", count_between(start, end, step, t), start, step, t);
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, std::optional<DType> dtype) {
  warn(
      "undertow.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
      "Python's range builtin. Instead, use "
      "undertow.arange, which produces values in [start, end).");
  check_ends(start, end, step);
  DType t = dtype.value_or(default_dtype());
  UT_CHECK(t == DType::Bool || !is_integral(t) || step.to_int() != 0, "step must be nonzero, but ", step, " as ",
           name(t), " is 0");
  double n = std::floor((end.to_double() - start.to_double()) / step.to_double()) + 1;
  return sequence("range", static_cast<int64_t>(n), start, step, t);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype) {
  return spaced("linspace", start, end, steps, space_dtype("linspace", start, end, dtype), [](auto v) { return v; });
}
Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, std::optional<DType> dtype) {
  return linspace(number_of("linspace", "start", start), number_of("linspace", "end", end), steps, dtype);
}
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, std::optional<DType> dtype) {
  return linspace(number_of("linspace", "start", start), end, steps, dtype);
}
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, std::optional<DType> dtype) {
  return linspace(start, number_of("linspace", "end", end), steps, dtype);
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, std::optional<DType> dtype) {
  DType t = space_dtype("logspace", start, end, dtype);
  if (steps == 1 && !start.is_complex() && t != DType::Bool)
    return full(Dims{1}, Scalar(std::pow(base, start.to_double())), t);  // the start is not cut to t
  return spaced("logspace", start, end, steps, t, [base](auto v) {
    using S = decltype(v);
    return S(std::pow(static_cast<S>(base), v));
  });
}
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base, std::optional<DType> dtype) {
  return logspace(number_of("logspace", "start", start), number_of("logspace", "end", end), steps, base, dtype);
}
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base, std::optional<DType> dtype) {
  return logspace(number_of("logspace", "start", start), end, steps, base, dtype);
}
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base, std::optional<DType> dtype) {
  return logspace(start, number_of("logspace", "end", end), steps, base, dtype);
}

}  // namespace undertow::fwd
