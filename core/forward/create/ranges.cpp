// ranges.cpp: arange, range, linspace and logspace: sizes from ends and step, and the values in between.
// build: small
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/create.h"
#include "core/tensor/dtype/promotion.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_create.h"

namespace undertow::core::fwd {

namespace {

void check_ends(const Scalar& start, const Scalar& end, const Scalar& step) {
  for (const Scalar* s : {&start, &end, &step})
    UT_CHECK(!s->is_complex(), "value cannot be converted to type double without overflow");
  double a = start.to_double(), b = end.to_double(), s = step.to_double();
  UT_CHECK(s > 0 || s < 0, "step must be nonzero");
  UT_CHECK(std::isfinite(a) && std::isfinite(b), "unsupported range: ", start, " -> ", end);
  UT_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and lower bound inconsistent with step sign: start ",
           start, ", end ", end, ", step ", step);
}

Tensor sequence(const char* name, int64_t n, const Scalar& start, const Scalar& step, DType dtype,
                std::optional<Device> device) {
  UT_CHECK_AS(NotImplemented, dtype != DType::Bool && !is_complex(dtype), "\"", name, "_cpu\" not implemented for '",
              long_name(dtype), "'");
  Tensor out = core::empty(Dims{n}, dtype, device.value_or(kCpu));
  backend_of(out).create->arange(out, start, step);
  return out;
}

int64_t count_between(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  if (dtype == DType::Int64) {
    int64_t s = step.to_int(), sign = s > 0 ? 1 : -1;
    UT_CHECK_VALUE(s != 0, "step must be nonzero, but ", step, " as int64 is 0");
    int64_t distance;  // exact where doubles are not
    UT_CHECK(!__builtin_sub_overflow(end.to_int(), start.to_int(), &distance) &&
                 !__builtin_add_overflow(distance, s - sign, &distance),
             "invalid size, possible overflow?");
    return distance / s;
  }
  double n = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  UT_CHECK(n >= 0 && n <= 9.2e18, "invalid size, possible overflow?");
  return static_cast<int64_t>(n);
}

DType space_dtype(const char* name, const Scalar& start, const Scalar& end, std::optional<DType> dtype) {
  DType natural = start.is_complex() || end.is_complex() ? default_complex_dtype() : default_dtype();
  if (!dtype) return natural;
  UT_CHECK(!core::is_complex(natural) || core::is_complex(*dtype), "undertow.", name, "(): inferred dtype ",
           cpp_name(natural), " can't be safely cast to passed dtype ", long_name(*dtype));
  return *dtype;
}

Scalar number_of(const char* name, const char* which, const Tensor& t) {
  UT_CHECK(t.dim() == 0, name, " only supports 0-dimensional start and end tensors, but got ", which, " with ", t.dim(),
           " dimension(s).");
  // A value of the same kind: there is no element.
  if (!has_elements(t)) return t.is_complex() ? Scalar(std::complex<double>()) : Scalar(0.0);
  return item(t);
}
// The result is on the device of the tensor that gives an end, unless a device is given.
std::optional<Device> device_or_that_of(std::optional<Device> device, const Tensor& end) {
  return device ? device : std::optional<Device>(end.device());
}

Tensor empty_spaced(const char* name, int64_t steps, DType dtype, std::optional<Device> device) {
  UT_CHECK_AS(NotImplemented, dtype != DType::Bool, "\"", name, "_cpu\" not implemented for 'Bool'");
  UT_CHECK(steps >= 0, "number of steps must be non-negative, got ", steps);
  return core::empty(Dims{steps}, dtype, device.value_or(kCpu));
}

}  // namespace

using OptDType = std::optional<DType>;
using OptDevice = std::optional<Device>;

Tensor arange(const Scalar& end, OptDType dtype, OptDevice device) {
  return arange(Scalar(0), end, Scalar(1), dtype, device);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptDevice device) {
  bool whole = start.is_integral() && end.is_integral() && step.is_integral();
  DType t = dtype.value_or(whole ? DType::Int64 : default_dtype());
  check_ends(start, end, step);
  return sequence("arange", count_between(start, end, step, t), start, step, t, device);
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, OptDType dtype, OptDevice device) {
  warn(
      "undertow.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
      "Python's range builtin. Instead, use "
      "undertow.arange, which produces values in [start, end).");
  check_ends(start, end, step);
  DType t = dtype.value_or(default_dtype());
  UT_CHECK(t == DType::Bool || !is_integral(t) || step.to_int() != 0, "step must be nonzero, but ", step, " as ",
           name(t), " is 0");
  double n = std::floor((end.to_double() - start.to_double()) / step.to_double()) + 1;
  return sequence("range", static_cast<int64_t>(n), start, step, t, device);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, OptDType dtype, OptDevice device) {
  Tensor out = empty_spaced("linspace", steps, space_dtype("linspace", start, end, dtype), device);
  backend_of(out).create->linspace(out, start, end);
  return out;
}
Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, OptDType dtype, OptDevice device) {
  return linspace(number_of("linspace", "start", start), number_of("linspace", "end", end), steps, dtype,
                  device_or_that_of(device, start));
}
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, OptDType dtype, OptDevice device) {
  return linspace(number_of("linspace", "start", start), end, steps, dtype, device_or_that_of(device, start));
}
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, OptDType dtype, OptDevice device) {
  return linspace(start, number_of("linspace", "end", end), steps, dtype, device_or_that_of(device, end));
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base, OptDType dtype, OptDevice device) {
  DType t = space_dtype("logspace", start, end, dtype);
  if (steps == 1 && !start.is_complex() && t != DType::Bool)  // the start is not rounded to t
    return full(Dims{1}, Scalar(std::pow(base, start.to_double())), t, device.value_or(kCpu));
  Tensor out = empty_spaced("logspace", steps, t, device);
  backend_of(out).create->logspace(out, start, end, base);
  return out;
}
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base, OptDType dtype, OptDevice device) {
  return logspace(number_of("logspace", "start", start), number_of("logspace", "end", end), steps, base, dtype,
                  device_or_that_of(device, start));
}
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base, OptDType dtype, OptDevice device) {
  return logspace(number_of("logspace", "start", start), end, steps, base, dtype, device_or_that_of(device, start));
}
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base, OptDType dtype, OptDevice device) {
  return logspace(start, number_of("logspace", "end", end), steps, base, dtype, device_or_that_of(device, end));
}

}  // namespace undertow::core::fwd
