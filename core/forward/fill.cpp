// fill.cpp: one value everywhere: fill_into, full and zeros of copy.h, and which numbers a type refuses.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/forward/copy.h"
#include "core/forward/elementwise_iter.h"

namespace undertow::fwd {

namespace {

// As C++ spells it in torch's message.
const char* cpp_name(DType t) {
  static constexpr const char* kNames[kNumDTypes] = {"bool", "uint8_t", "int8_t", "int16_t", "int", "int64_t", "c10::Half", "c10::BFloat16",
                                                     "float", "double", "c10::complex<float>", "c10::complex<double>"};
  return kNames[static_cast<int>(t)];
}
// Negative numbers wrap into unsigned types, and infinities go into every float; anything else must be in range.
template <class T>
void check_fits(const Scalar& value, DType dtype) {
  if constexpr (!kIsComplex<T> && !std::is_same_v<T, bool>) {
    double d = value.is_complex() ? value.to_complex().real() : value.to_double(), limit = 0;
    bool bad = value.is_complex() && value.to_complex().imag() != 0;
    if constexpr (std::is_integral_v<T>) {
      limit = static_cast<double>(std::numeric_limits<T>::max());
      bad |= value.is_integral() ? !(d <= limit && d >= (std::is_signed_v<T> ? -limit - 1 : -limit)) : !(d < limit + 1 && d > -limit - 2);
    } else if constexpr (!std::is_same_v<T, double>) {
      limit = std::is_same_v<T, Half> ? 65504.0 : static_cast<double>(std::numeric_limits<float>::max());
      bad |= std::isfinite(d) && std::abs(d) > limit;
    }
    UT_CHECK(!bad, "value cannot be converted to type ", cpp_name(dtype), " without overflow; it is ", value);
  }
}

// One value of a type as memory holds it.
struct Pattern {
  alignas(16) char bytes[16] = {};
  int64_t width;

  Pattern(const Scalar& value, const Tensor& dst) : width(dst.itemsize()) {
    dispatch(dst.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      check_fits<T>(value, dst.dtype());
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
  for (int64_t at = 0; at < 64; at += value.width) std::memcpy(line + at, value.bytes, static_cast<size_t>(value.width));
  int64_t at = 0;
  for (; at + 64 <= bytes; at += 64) std::memcpy(out + at, line, 64);
  std::memcpy(out + at, line, static_cast<size_t>(bytes - at));
}

constexpr int64_t kZeroGrain = int64_t{256} << 10;  // bytes; below this one thread is faster than waking another

}  // namespace

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
      if (zero) std::memset(p[0], 0, static_cast<size_t>(n * width));
      else fill_run(p[0], n * width, pattern);
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
  parallel_for(0, t.nbytes(), kZeroGrain, [data](int64_t begin, int64_t end) { std::memset(data + begin, 0, static_cast<size_t>(end - begin)); });
  return t;
}

}  // namespace undertow::fwd
