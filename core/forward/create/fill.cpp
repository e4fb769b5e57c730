// fill.cpp: one value everywhere: fill_into, full and zeros of copy.h, and which numbers a type refuses, in whose
// words.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/pointwise/elementwise_iter.h"

namespace undertow::fwd {

namespace {

// Negative numbers wrap into unsigned types, and infinities go into every float; anything else must be in range.
template <class T>
bool holds(const Scalar& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (kIsComplex<T>) {
    std::complex<double> z = value.to_complex();
    return holds<typename T::value_type>(Scalar(z.real())) && holds<typename T::value_type>(Scalar(z.imag()));
  } else {
    if (value.is_complex()) return value.to_complex().imag() == 0 && holds<T>(Scalar(value.to_complex().real()));
    if constexpr (std::is_integral_v<T>) {
      if (value.is_integral()) {
        int64_t v = value.to_int();
        if (std::is_unsigned_v<T> && v < 0) return -v <= static_cast<int64_t>(std::numeric_limits<T>::max());
        return static_cast<int64_t>(static_cast<T>(v)) == v;
      }
      double d = value.to_double();
      return d >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
             d <= static_cast<double>(std::numeric_limits<T>::max());
    } else {
      double d = value.to_double();
      if (!std::isfinite(d) || std::is_same_v<T, double>) return true;
      double most = std::is_same_v<T, Half>       ? 65504.0
                    : std::is_same_v<T, BFloat16> ? 0x1.fep127
                                                  : static_cast<double>(std::numeric_limits<float>::max());
      return std::fabs(d) <= most;
    }
  }
}

// One value of a type as memory holds it.
struct Pattern {
  alignas(16) char bytes[16] = {};
  int64_t width;

  Pattern(const Scalar& value, const Tensor& dst) : width(dst.itemsize()) {
    check_fits(value, dst.dtype());
    dispatch(dst.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v = value.to<T>();
      if constexpr (kIsComplex<T>) {
        if (dst.is_conj()) v = std::conj(v);
      }
      if constexpr (!std::is_same_v<T, bool>) {
        if (dst.is_neg()) v = T(-OpMath<T>(v));
      }
      std::memcpy(bytes, &v, sizeof(T));
    });
  }
  bool is_zero() const {
    for (char b : bytes)
      if (b) return false;
    return true;
  }
};

// Neighbouring elements: 64 bytes a step.
void fill_run(char* out, int64_t bytes, const Pattern& value) {
  alignas(64) char line[64];
  for (int64_t at = 0; at < 64; at += value.width)
    std::memcpy(line + at, value.bytes, static_cast<size_t>(value.width));
  int64_t at = 0;
  for (; at + 64 <= bytes; at += 64) std::memcpy(out + at, line, 64);
  std::memcpy(out + at, line, static_cast<size_t>(bytes - at));
}

constexpr int64_t kZeroGrain = int64_t{256} << 10;  // bytes; below this one thread is faster than waking another

}  // namespace

const char* cpp_name(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "bool";
    case DType::UInt8:
      return "uint8_t";
    case DType::Int8:
      return "int8_t";
    case DType::Int16:
      return "int16_t";
    case DType::Int32:
      return "int";
    case DType::Int64:
      return "int64_t";
    case DType::Float16:
      return "c10::Half";
    case DType::BFloat16:
      return "c10::BFloat16";
    case DType::Float32:
      return "float";
    case DType::Float64:
      return "double";
    case DType::Complex64:
      return "c10::complex<float>";
    case DType::Complex128:
      return "c10::complex<double>";
  }
  return "?";
}

const char* meta_name(DType dtype) {
  switch (dtype) {
    case DType::UInt8:
      return "unsigned char";
    case DType::Int8:
      return "signed char";
    case DType::Int16:
      return "short int";
    case DType::Int64:
      return "long int";
    default:
      return cpp_name(dtype);
  }
}

void check_fits(const Scalar& value, DType dtype) {
  bool ok = dispatch(dtype, [&](auto tag) { return holds<typename decltype(tag)::type>(value); });
  UT_CHECK(ok, "value cannot be converted to type ", cpp_name(dtype), " without overflow; it is ", value);
}

void fill_into(const Tensor& dst, const Scalar& value) {
  Pattern pattern(value, dst);
  bool zero = pattern.is_zero();
  ElementwiseIter iter;
  iter.add_output(dst, dst.dtype());
  iter.allow_internal_overlap();  // every write is of the same value
  iter.build();
  iter.for_each([&pattern, zero, dtype = dst.dtype()](char* const* p, const int64_t* s, int64_t n) {
    int64_t width = pattern.width;
    if (s[0] == width) {
      if (zero)
        std::memset(p[0], 0, static_cast<size_t>(n * width));
      else
        fill_run(p[0], n * width, pattern);
      return;
    }
    char* at = p[0];
    dispatch_width(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v;
      std::memcpy(&v, pattern.bytes, sizeof(T));
      for (int64_t i = 0; i < n; i++, at += s[0]) std::memcpy(at, &v, sizeof(T));
    });
  });
}

Tensor full(IntSpan sizes, const Scalar& value, DType dtype) {
  Tensor t = empty(sizes, dtype);
  fill_into(t, value);
  return t;
}
Tensor zeros(IntSpan sizes, DType dtype) {
  Tensor t = empty(sizes, dtype);
  char* data = t.data();
  parallel_for(0, t.nbytes(), kZeroGrain,
               [data](int64_t begin, int64_t end) { std::memset(data + begin, 0, static_cast<size_t>(end - begin)); });
  return t;
}

}  // namespace undertow::fwd
