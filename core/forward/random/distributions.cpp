// distributions.cpp: forward functions of ops/random.toml that fill a tensor from one distribution: checks, dtypes,
// layouts. The streams themselves are core/kernels/cpu/random/random.h; draws that read a tensor are in sample.cpp.
#include <cmath>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/random/fill.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_random.h"

namespace undertow::fwd {

namespace {

// A complex tensor's memory as real numbers, twice as many.
Tensor as_real_pairs(const Tensor& t) {
  Dims sizes(t.sizes()), strides;
  for (int64_t s : t.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return alias(t, sizes, strides, 2 * t.storage_offset(), to_real(t.dtype()));
}

template <class T>
constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max());
template <>
constexpr double kMost<random::Half> = 65504.0;
template <>
constexpr double kMost<random::BFloat16> = 0x1.fep127;

// How many bits of an integer a float type holds exactly.
template <class T>
constexpr int kExactBits = std::numeric_limits<T>::digits;
template <>
constexpr int kExactBits<random::Half> = 11;
template <>
constexpr int kExactBits<random::BFloat16> = 8;

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
    case DType::Int64:
      return;
    default:
      break;
  }
  int bits = t == DType::Float16 ? 11 : t == DType::BFloat16 ? 8 : t == DType::Float32 ? 24 : 53;
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

// Rounds an end of the range to a float that is inside it: torch's update_from and update_to.
int64_t as_element(int64_t v, DType t) {
  return t == DType::Float16    ? static_cast<int64_t>(static_cast<float>(Half(static_cast<float>(v))))
         : t == DType::BFloat16 ? static_cast<int64_t>(static_cast<float>(BFloat16(static_cast<float>(v))))
         : t == DType::Float32  ? static_cast<int64_t>(static_cast<float>(v))
                                : static_cast<int64_t>(static_cast<double>(v));
}
int64_t step_at(int64_t v, DType t) {
  int digits = t == DType::Float16 ? 11 : t == DType::BFloat16 ? 8 : t == DType::Float32 ? 24 : 53;
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

void fill_integers(const Tensor& t, int64_t from, uint64_t range, Generator* g) {
  dispatch_drawn(t.dtype(), "random_from_to_kernel_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(
        t, g, [&](random::RandomState& s, T* p, size_t n) { random::fill_random_from_to(s, p, n, from, range); });
  });
}

void refuse_not_floating(const char* what, const Tensor& t, const char* type) {
  UT_CHECK(t.is_floating(), what,
           " distribution is a continuous probability distribution. dtype must be a floating point but you specified ",
           type);
}

}  // namespace

void uniform_out(const Tensor& out, const Tensor&, double from, double to, Generator* g) {
  if (out.is_complex()) return uniform_out(as_real_pairs(out), out, from, to, g);
  dispatch_floating(out.dtype(), "check_uniform_bounds", [&](auto tag) {
    using T = typename decltype(tag)::type;
    UT_CHECK(from >= -kMost<T> && from <= kMost<T>, "from is out of bounds for ", meta_name(out.dtype()), ": ", from);
    UT_CHECK(to >= -kMost<T> && to <= kMost<T>, "to is out of bounds for ", meta_name(out.dtype()), ": ", to);
    UT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
    UT_CHECK(to - from <= kMost<T>, "uniform_ expects to-from <= std::numeric_limits<", long_name(out.dtype()),
             ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
    fill_in_memory_order<T>(out, g,
                            [&](random::RandomState& s, T* p, size_t n) { random::fill_uniform(s, p, n, from, to); });
  });
}

void normal_out(const Tensor& out, const Tensor&, double mean, double std, Generator* g) {
  UT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (out.is_complex()) return normal_out(as_real_pairs(out), out, mean, std / std::sqrt(2.0), g);
  dispatch_floating(out.dtype(), "normal_kernel_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Blocks of sixteen are for contiguous memory alone; otherwise every pair is drawn by itself.
    bool blocks = out.is_contiguous();
    fill_in_memory_order<T>(out, g, [&](random::RandomState& s, T* p, size_t n) {
      if (blocks) return random::fill_normal(s, p, n, mean, std);
      for (size_t i = 0; i < n; i += 8) random::fill_normal(s, p + i, std::min<size_t>(8, n - i), mean, std);
    });
  });
}

void log_normal_out(const Tensor& out, const Tensor&, double mean, double std, Generator* g) {
  UT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  dispatch_floating(out.dtype(), "log_normal_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(
        out, g, [&](random::RandomState& s, T* p, size_t n) { random::fill_log_normal(s, p, n, mean, std); });
  });
}

void exponential_out(const Tensor& out, const Tensor&, double rate, Generator* g) {
  refuse_not_floating("Exponential", out, long_name(out.dtype()));
  UT_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  dispatch_floating(out.dtype(), "exponential_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(out, g,
                            [&](random::RandomState& s, T* p, size_t n) { random::fill_exponential(s, p, n, rate); });
  });
}

void cauchy_out(const Tensor& out, const Tensor&, double median, double sigma, Generator* g) {
  UT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  refuse_not_floating("Cauchy", out, meta_name(out.dtype()));
  dispatch_floating(out.dtype(), "cauchy_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(
        out, g, [&](random::RandomState& s, T* p, size_t n) { random::fill_cauchy(s, p, n, median, sigma); });
  });
}

void geometric_out(const Tensor& out, const Tensor&, double p, Generator* g) {
  UT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  UT_CHECK_AS(NotImplemented, out.dtype() != DType::Bool, "\"geometric_cpu\" not implemented for 'Bool'");
  dispatch_drawn(out.dtype(), "geometric_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>)
      fill_in_memory_order<T>(out, g,
                              [&](random::RandomState& s, T* q, size_t n) { random::fill_geometric(s, q, n, p); });
  });
}

void random_out(const Tensor& out, const Tensor&, Generator* g) {
  dispatch_drawn(out.dtype(), "random_kernel_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(out, g, [&](random::RandomState& s, T* p, size_t n) { random::fill_random(s, p, n); });
  });
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
    int64_t last = dispatch_drawn(t, "random_from_to_range_calc", [&](auto tag) -> int64_t {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>)
        return static_cast<int64_t>(std::numeric_limits<T>::max());
      else
        return int64_t{1} << kExactBits<T>;
    });
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
  Tensor words = undertow::empty(out.sizes(), DType::Int64);
  {
    Generator& source = or_default(g);
    std::lock_guard lock(source.mutex);
    random::fill_random_full_range(source.state, words.data_as<int64_t>(), static_cast<size_t>(words.numel()));
  }
  copy_into(out, words);
}

void bernoulli_out(const Tensor& out, const Tensor&, double p, Generator* g) {
  UT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  dispatch_drawn(out.dtype(), "bernoulli_scalar_cpu_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_in_memory_order<T>(out, g,
                            [&](random::RandomState& s, T* q, size_t n) { random::fill_bernoulli(s, q, n, p); });
  });
}

// Out of place: the same on a fresh tensor of self's layout.
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
  return uniform_in(undertow::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), g);
}
Tensor randn(IntSpan size, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  return normal_in(undertow::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), 0, 1, g);
}
Tensor normal(double mean, double std, IntSpan size, Generator* g, std::optional<DType> dtype,
              std::optional<Device> device) {
  return normal_in(undertow::empty(size, dtype.value_or(default_dtype()), device.value_or(kCpu)), mean, std, g);
}
Tensor randint(int64_t high, IntSpan size, Generator* g, std::optional<DType> dtype, std::optional<Device> device) {
  return randint(0, high, size, g, dtype, device);
}
Tensor randint(int64_t low, int64_t high, IntSpan size, Generator* g, std::optional<DType> dtype,
               std::optional<Device> device) {
  return integers_in(undertow::empty(size, dtype.value_or(DType::Int64), device.value_or(kCpu)), low, high, g);
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
  UT_CHECK_AS(NotImplemented, t != DType::Bool && !is_complex(t), "\"randperm\" not implemented for '", long_name(t),
              "'");
  check_fits(Scalar(static_cast<long>(n)), t);
  auto exact = [&](DType which, int bits) {
    UT_CHECK(t != which || n <= (int64_t{1} << bits) + 1, "n cannot be greater than 2^", bits, "+1 for ", long_name(t),
             " type.");
  };
  exact(DType::Float16, 11);
  exact(DType::BFloat16, 8);
  exact(DType::Float32, 24);
  exact(DType::Float64, 53);
  Tensor out = undertow::empty(Dims{n}, t, device.value_or(kCpu));
  dispatch_drawn(t, "randperm", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      Generator& source = or_default(g);
      std::lock_guard lock(source.mutex);
      random::fill_permutation(source.state, out.data_as<T>(), n);
    }
  });
  return out;
}

}  // namespace undertow::fwd
