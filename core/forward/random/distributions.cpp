// distributions.cpp: forward functions of ops/random.toml that fill a tensor from one distribution: checks, dtypes,
// ranges. Distributions whose parameters are in a tensor are in sample.cpp.
// build: small
#include <cmath>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/random/generator_for.h"
#include "core/kernels/random.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_random.h"

namespace undertow::core::fwd {

namespace {

// A complex tensor's memory as twice as many real numbers.
Tensor as_real_pairs(const Tensor& t) {
  Dims sizes(t.sizes()), strides;
  for (int64_t s : t.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return alias(t, sizes, strides, 2 * t.storage_offset(), to_real(t.dtype()));
}

// The largest number of a floating dtype, and how many bits of an integer it represents exactly.
double largest(DType t) {
  return t == DType::Float16    ? 65504.0
         : t == DType::BFloat16 ? 0x1.fep127
         : t == DType::Float32  ? 0x1.fffffep127
                                : 0x1.fffffffffffffp1023;
}
int exact_bits(DType t) { return t == DType::Float16 ? 11 : t == DType::BFloat16 ? 8 : t == DType::Float32 ? 24 : 53; }
int64_t largest_integer(DType t) {
  switch (t) {
    case DType::Bool:
      return 1;
    case DType::UInt8:
      return 255;
    case DType::Int8:
      return 127;
    case DType::Int16:
      return 32767;
    case DType::Int32:
      return INT32_MAX;
    case DType::Int64:
      return INT64_MAX;
    default:
      return int64_t{1} << exact_bits(t);
  }
}

void check_floating(const Tensor& t, const char* kernel) {
  if (!t.is_floating()) throw_not_implemented(kernel, t.dtype());
}
void check_real(const Tensor& t, const char* kernel) {
  if (t.is_complex()) throw_not_implemented(kernel, t.dtype());
}

void check_in_range(int64_t from, int64_t last, DType t) {
  auto within = [&](int64_t low, int64_t high) {
    UT_CHECK(from >= low && from <= high, "from is out of bounds for ", meta_name(t), ": ", from);
    UT_CHECK(last >= low && last <= high, "to - 1 is out of bounds for ", meta_name(t), ": ", last);
  };
  switch (t) {
    case DType::Bool:
      return within(0, 1);
    case DType::UInt8:
      return within(0, 255);
    case DType::Int8:
      return within(-128, 127);
    case DType::Int16:
      return within(-32768, 32767);
    case DType::Int32:
      return within(INT32_MIN, INT32_MAX);
    case DType::UInt16:
      return within(0, UINT16_MAX);
    case DType::UInt32:
      return within(0, UINT32_MAX);
    case DType::UInt64:
      return within(0, INT64_MAX);
    case DType::Int64:
      return;
    default:
      break;
  }
  int bits = exact_bits(t);
  if (t == DType::Float16) {
    UT_CHECK(from >= -65504 && from <= 65504, "from is out of bounds for c10::Half: ", from);
    UT_CHECK(last >= -65504 && last <= 65504, "to - 1 is out of bounds for c10::Half: ", last);
  }
  int64_t most = int64_t{1} << bits;
  auto exact = [&](const char* which, int64_t v) {
    if (v < -most || v > most)
      warn(str(which, " is out of bounds [-(2^", bits, "), 2^", bits, "]. Due to precision limitations ", cpp_name(t),
               " can support discrete uniform distribution only within this range."));
  };
  exact("from", from);
  exact("to - 1", last);
}

// Rounds a bound of the range to a float that is inside it: torch's update_from and update_to.
int64_t as_element(int64_t v, DType t) {
  return t == DType::Float16    ? static_cast<int64_t>(static_cast<float>(Half(static_cast<float>(v))))
         : t == DType::BFloat16 ? static_cast<int64_t>(static_cast<float>(BFloat16(static_cast<float>(v))))
         : t == DType::Float32  ? static_cast<int64_t>(static_cast<float>(v))
                                : static_cast<int64_t>(static_cast<double>(v));
}
int64_t step_at(int64_t v, DType t) {
  int digits = exact_bits(t);
  uint64_t a = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  int n = 0;
  while (a >>= 1) n++;
  return int64_t{1} << (n - digits + 1);
}
int64_t inner_from(int64_t from, DType t) {
  int64_t rounded = as_element(from + 1, t);
  return rounded < from ? rounded + step_at(from + 1, t) : from;
}
int64_t inner_to(int64_t to, DType t) {
  int64_t rounded = as_element(to - 1, t);
  return rounded >= to ? rounded - step_at(to - 1, t) : to;
}

void fill(const Tensor& out, Draw draw, double a, double b, Generator* g) {
  backend_of(out).random->fill(out, draw, a, b, generator_for(out, g));
}
void fill_integers(const Tensor& out, int64_t from, uint64_t range, Generator* g) {
  check_real(out, "random_from_to_kernel_cpu");
  if (is_wide_unsigned(out.dtype())) {
    Tensor drawn = empty_in_format(out, DType::Int64, MemoryFormat::Preserve);
    backend_of(out).random->integers(drawn, from, range, generator_for(out, g));
    return copy_into(out, drawn);
  }
  backend_of(out).random->integers(out, from, range, generator_for(out, g));
}

void check_floating_out(const char* what, const Tensor& t, const char* type) {
  UT_CHECK(t.is_floating(), what,
           " distribution is a continuous probability distribution. dtype must be a floating point but you specified ",
           type);
}

}  // namespace

void uniform_out(const Tensor& out, const Tensor&, double from, double to, Generator* g) {
  if (out.is_complex()) return uniform_out(as_real_pairs(out), out, from, to, g);
  check_floating(out, "check_uniform_bounds");
  double most = largest(out.dtype());
  UT_CHECK(from >= -most && from <= most, "from is out of bounds for ", meta_name(out.dtype()), ": ", from);
  UT_CHECK(to >= -most && to <= most, "to is out of bounds for ", meta_name(out.dtype()), ": ", to);
  UT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  UT_CHECK(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", long_name(out.dtype()),
           ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
  fill(out, Draw::Uniform, from, to, g);
}

void normal_out(const Tensor& out, const Tensor&, double mean, double std, Generator* g) {
  UT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (out.is_complex()) return normal_out(as_real_pairs(out), out, mean, std / std::sqrt(2.0), g);
  check_floating(out, "normal_kernel_cpu");
  fill(out, Draw::Normal, mean, std, g);
}

void log_normal_out(const Tensor& out, const Tensor&, double mean, double std, Generator* g) {
  UT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  check_floating(out, "log_normal_cpu");
  fill(out, Draw::LogNormal, mean, std, g);
}

void exponential_out(const Tensor& out, const Tensor&, double rate, Generator* g) {
  check_floating_out("Exponential", out, long_name(out.dtype()));
  UT_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  fill(out, Draw::Exponential, rate, 0, g);
}

void cauchy_out(const Tensor& out, const Tensor&, double median, double sigma, Generator* g) {
  UT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_floating_out("Cauchy", out, meta_name(out.dtype()));
  fill(out, Draw::Cauchy, median, sigma, g);
}

void geometric_out(const Tensor& out, const Tensor&, double p, Generator* g) {
  UT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  UT_CHECK_AS(NotImplemented, out.dtype() != DType::Bool, "\"geometric_cpu\" not implemented for 'Bool'");
  check_real(out, "geometric_cpu");
  fill(out, Draw::Geometric, p, 0, g);
}

void random_out(const Tensor& out, const Tensor&, Generator* g) {
  check_real(out, "random_kernel_cpu");
  backend_of(out).random->all_values(out, generator_for(out, g));
}
void random_out(const Tensor& out, const Tensor& self, int64_t to, Generator* g) { random_out(out, self, 0, to, g); }
void random_out(const Tensor& out, const Tensor&, int64_t from, std::optional<int64_t> to, Generator* g) {
  DType t = out.dtype();
  UT_CHECK(!is_complex(t), to ? "check_random_bounds" : "random_from_to_impl",
           " handles only integral, floating-point and boolean types");
  if (to) {
    UT_CHECK(from < *to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", *to);
    int64_t end = *to;
    if (is_floating(t)) {
      from = inner_from(from, t);
      end = inner_to(end, t);
      UT_CHECK(from < end,
               "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", from,
               " >= to=", end);
    }
    check_in_range(from, end - 1, t);
    return fill_integers(out, from, static_cast<uint64_t>(end) - static_cast<uint64_t>(from), g);
  }
  if (from != std::numeric_limits<int64_t>::min()) {
    int64_t last = largest_integer(t);
    if (is_floating(t)) from = inner_from(from, t);
    UT_CHECK(
        from <= last,
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from=",
        from, " > to_inc=", last);
    check_in_range(from, last, t);
    return fill_integers(out, from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1, g);
  }
  UT_CHECK_AS(NotImplemented, t != DType::Bool, "\"random_full_64_bits_range_kernel_cpu\" not implemented for 'Bool'");
  UT_CHECK(t == DType::Int64 || (is_floating(t) && t != DType::Float16),
           "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
  Tensor words = empty_on_device_of(out, out.sizes(), DType::Int64);
  backend_of(out).random->all_bits(words, generator_for(out, g));
  copy_into(out, words);
}

void bernoulli_out(const Tensor& out, const Tensor&, double p, Generator* g) {
  UT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_real(out, "bernoulli_scalar_cpu_");
  fill(out, Draw::Bernoulli, p, 0, g);
}

// Out of place: the same on a new tensor with self's layout.
#define UT_FRESH(name, params, ...)                 \
  Tensor name params {                              \
    Tensor out = allocate_like(self, self.dtype()); \
    name##_out(out, self, __VA_ARGS__);             \
    return out;                                     \
  }
UT_FRESH(uniform, (const Tensor& self, double from, double to, Generator* g), from, to, g)
UT_FRESH(normal, (const Tensor& self, double mean, double std, Generator* g), mean, std, g)
UT_FRESH(log_normal, (const Tensor& self, double mean, double std, Generator* g), mean, std, g)
UT_FRESH(exponential, (const Tensor& self, double rate, Generator* g), rate, g)
UT_FRESH(cauchy, (const Tensor& self, double median, double sigma, Generator* g), median, sigma, g)
UT_FRESH(geometric, (const Tensor& self, double p, Generator* g), p, g)
UT_FRESH(random, (const Tensor& self, Generator* g), g)
UT_FRESH(random, (const Tensor& self, int64_t to, Generator* g), to, g)
UT_FRESH(random, (const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g), from, to, g)
UT_FRESH(bernoulli, (const Tensor& self, double p, Generator* g), p, g)
#undef UT_FRESH

namespace {
Tensor uniform_in(Tensor t, Generator* g) {
  uniform_out(t, t, 0, 1, g);
  return t;
}
Tensor normal_in(Tensor t, double mean, double std, Generator* g) {
  normal_out(t, t, mean, std, g);
  return t;
}
Tensor integers_in(Tensor t, int64_t low, int64_t high, Generator* g) {
  random_out(t, t, low, std::optional<int64_t>(high), g);
  return t;
}
}  // namespace

Tensor rand(IntSpan size, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  return uniform_in(core::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), g);
}
Tensor randn(IntSpan size, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  return normal_in(core::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), 0, 1, g);
}
Tensor normal(double mean, double std, IntSpan size, Generator* g, std::optional<DType> dtype,
              std::optional<Device> device) {
  return normal_in(core::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), mean, std, g);
}
Tensor randint(int64_t high, IntSpan size, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  return randint(0, high, size, g, dtype, device);
}
Tensor randint(int64_t low, int64_t high, IntSpan size, Generator* g, std::optional<DType> dtype,
               std::optional<Device> device) {
  return integers_in(core::empty(size, dtype.value_or(DType::Int64), device.value_or(kCpu)), low, high, g);
}
Tensor rand_like(const Tensor& self, Generator* g, std::optional<DType> dtype, std::optional<MemoryFormat> format,
                 std::optional<Device> device) {
  return uniform_in(allocate_like(self, dtype.value_or(self.dtype()), format, device.value_or(self.device())), g);
}
Tensor randn_like(const Tensor& self, Generator* g, std::optional<DType> dtype, std::optional<MemoryFormat> format,
                  std::optional<Device> device) {
  return normal_in(allocate_like(self, dtype.value_or(self.dtype()), format, device.value_or(self.device())), 0, 1, g);
}
Tensor randint_like(const Tensor& self, int64_t high, Generator* g, std::optional<DType> dtype,
                    std::optional<MemoryFormat> format, std::optional<Device> device) {
  return randint_like(self, 0, high, g, dtype, format, device);
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, Generator* g, std::optional<DType> dtype,
                    std::optional<MemoryFormat> format, std::optional<Device> device) {
  return integers_in(allocate_like(self, dtype.value_or(self.dtype()), format, device.value_or(self.device())), low,
                     high, g);
}

Tensor randperm(int64_t n, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  DType t = dtype.value_or(DType::Int64);
  UT_CHECK(n >= 0, "n must be non-negative, got ", n);
  if (t == DType::Bool || is_complex(t)) throw_not_implemented("randperm", t);
  check_fits(Scalar(static_cast<long>(std::max<int64_t>(n - 1, 0))), t);
  auto exact = [&](DType which, int bits) {
    UT_CHECK(t != which || n <= (int64_t{1} << bits) + 1, "n cannot be greater than 2^", bits, "+1 for ", long_name(t),
             " type.");
  };
  exact(DType::Float16, 11);
  exact(DType::BFloat16, 8);
  exact(DType::Float32, 24);
  exact(DType::Float64, 53);
  Tensor out = core::empty(Dims{n}, t, device.value_or(kCpu));
  backend_of(out).random->permutation(out, generator_for(out, g));
  return out;
}

}  // namespace undertow::core::fwd
