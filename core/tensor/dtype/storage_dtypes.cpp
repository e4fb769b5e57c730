// storage_dtypes.cpp: see storage_dtypes.h.
// build: small
#include "core/tensor/dtype/storage_dtypes.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace undertow::core {

namespace {

// A float of 8 bits: a sign, then exponent and mantissa. float8_e8m0fnu, a bare exponent, is not described by it.
struct Float8 {
  int mantissa_bits, bias;
  uint32_t greatest;   // the code of the greatest finite number
  uint32_t overflow;   // the code of what is greater
  bool unsigned_zero;  // "fnuz": one zero, one NaN of code 0x80, no infinity
};
constexpr Float8 kFormats[] = {
    {3, 7, 0x7e, 0x7e, false}, {2, 15, 0x7b, 0x7c, false}, {3, 8, 0x7f, 0x80, true}, {2, 16, 0x7f, 0x80, true}};

const Float8& format_of(DType t) { return kFormats[static_cast<int>(t) - static_cast<int>(DType::Float8_e4m3fn)]; }

// NaNs have torch's bits.
float decode(DType t, uint8_t code) {
  const float only_nan = std::bit_cast<float>(0x7f800001u);
  if (t == DType::Float8_e8m0fnu) return code == 0xff ? only_nan : std::ldexp(1.0f, int{code} - 127);
  const Float8& f = format_of(t);
  if (f.unsigned_zero && code == 0x80) return only_nan;
  uint32_t magnitude = code & 0x7f, sign = static_cast<uint32_t>(code & 0x80) << 24;
  uint32_t exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  if (magnitude > f.greatest) {
    uint32_t quiet = magnitude == f.overflow ? 0 : mantissa << (23 - f.mantissa_bits) | 0x400000;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet);
  }
  float v = std::ldexp(static_cast<float>(exponent ? mantissa + (1u << f.mantissa_bits) : mantissa),
                       std::max(static_cast<int>(exponent), 1) - f.bias - f.mantissa_bits);
  return sign ? -v : v;
}

uint8_t encode_exponent(uint32_t bits) {
  uint32_t exponent = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
  if (exponent == 0xff) return 0xff;
  // Ties go up, as in torch, except among numbers below the least power of two.
  bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
  return static_cast<uint8_t>(exponent + up);
}

uint8_t encode(DType t, float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v), sign = bits >> 24 & 0x80, a = bits & 0x7fffffff;
  if (t == DType::Float8_e8m0fnu) return encode_exponent(bits);
  const Float8& f = format_of(t);
  if (a > 0x7f800000) return static_cast<uint8_t>(f.unsigned_zero ? 0x80 : sign | 0x7f);
  int dropped = 23 - f.mantissa_bits;
  uint32_t code;
  if (static_cast<int>(a >> 23) <= 127 - f.bias) {  // below the least normal number: a multiple of the least one
    code = static_cast<uint32_t>(std::rint(std::bit_cast<float>(a) * std::ldexp(1.0f, f.bias - 1 + f.mantissa_bits)));
  } else {  // rounds to nearest even
    uint32_t rounded = a + (1u << (dropped - 1)) - 1 + (a >> dropped & 1);
    code = (rounded >> dropped) - (static_cast<uint32_t>(127 - f.bias) << f.mantissa_bits);
  }
  if (code > f.greatest) code = f.overflow;
  if (f.unsigned_zero && (code == 0 || code == 0x80)) return static_cast<uint8_t>(code);
  return static_cast<uint8_t>(sign | code);
}

const float* decoded(DType t) {
  static const auto* tables = [] {
    auto* made = new std::array<float, 5 * 256>;  // leaked: threads may convert while the process ends
    for (size_t i = 0; i < made->size(); i++)
      (*made)[i] = decode(static_cast<DType>(static_cast<size_t>(DType::Float8_e4m3fn) + i / 256),
                          static_cast<uint8_t>(i % 256));
    return made;
  }();
  return tables->data() + 256 * (static_cast<int>(t) - static_cast<int>(DType::Float8_e4m3fn));
}

// Float to unsigned as the vector instructions of x86 do it, which torch uses: what does not fit gives the least signed
// number, and the upper half of the range is reached by subtracting the middle first.
template <class Signed>
Signed truncated(double v) {
  constexpr double middle = -static_cast<double>(std::numeric_limits<Signed>::min());
  return v > -middle - 1 && v < middle ? static_cast<Signed>(v) : std::numeric_limits<Signed>::min();
}
template <class To>
To to_unsigned(double v) {
  if constexpr (sizeof(To) == 2) {
    return static_cast<To>(truncated<int32_t>(v));
  } else {
    using Signed = std::make_signed_t<To>;
    constexpr double middle = -static_cast<double>(std::numeric_limits<Signed>::min());
    constexpr To top = To{1} << (8 * sizeof(To) - 1);
    return v >= middle ? static_cast<To>(static_cast<To>(truncated<Signed>(v - middle)) ^ top)
                       : static_cast<To>(truncated<Signed>(v));
  }
}

template <class To, class From, class F>
void each(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n, F f) {
  for (int64_t i = 0; i < n; i++, out += out_stride, in += in_stride) {
    From v;
    std::memcpy(&v, in, sizeof(v));
    To made = f(v);
    std::memcpy(out, &made, sizeof(made));
  }
}
template <class To, class From>
void widen_as(void* out, const char* in, int64_t stride, int64_t n) {
  each<To, From>(static_cast<char*>(out), sizeof(To), in, stride, n, [](From v) { return static_cast<To>(v); });
}
template <class To>
void narrow_to_unsigned(char* out, int64_t stride, DType carrier, const void* from, int64_t n) {
  auto* in = static_cast<const char*>(from);
  if (carrier == DType::Int64)
    each<To, int64_t>(out, stride, in, 8, n, [](int64_t v) { return static_cast<To>(v); });
  else if (carrier == DType::Float32)
    each<To, float>(out, stride, in, 4, n, [](float v) { return to_unsigned<To>(v); });
  else
    each<To, double>(out, stride, in, 8, n, [](double v) { return to_unsigned<To>(v); });
}

struct ComplexHalf {
  Half real, imag;
};

}  // namespace

DType carrier_from(DType from, DType to) {
  if (from == DType::Complex32) return DType::Complex64;
  if (is_float8(from)) return DType::Float32;
  if (from != DType::UInt64 || is_integral(to)) return DType::Int64;
  return to == DType::Float64 || to == DType::Complex128 ? DType::Float64 : DType::Float32;
}

DType carrier_to(DType to, DType from) {
  if (to == DType::Complex32) return DType::Complex64;
  if (is_float8(to)) return DType::Float32;
  if (is_integral(from)) return DType::Int64;
  return from == DType::Float64 || from == DType::Complex128 ? DType::Float64 : DType::Float32;
}

void widen(DType carrier, void* out, DType from, const char* in, int64_t stride, int64_t n) {
  switch (from) {
    case DType::UInt16:
      return widen_as<int64_t, uint16_t>(out, in, stride, n);
    case DType::UInt32:
      return widen_as<int64_t, uint32_t>(out, in, stride, n);
    case DType::UInt64:
      if (carrier == DType::Float32) return widen_as<float, uint64_t>(out, in, stride, n);
      if (carrier == DType::Float64) return widen_as<double, uint64_t>(out, in, stride, n);
      return widen_as<int64_t, uint64_t>(out, in, stride, n);
    case DType::Complex32:
      return each<Complex64, ComplexHalf>(static_cast<char*>(out), sizeof(Complex64), in, stride, n,
                                          [](ComplexHalf v) { return Complex64(v.real, v.imag); });
    default: {
      const float* table = decoded(from);
      return each<float, uint8_t>(static_cast<char*>(out), sizeof(float), in, stride, n,
                                  [table](uint8_t code) { return table[code]; });
    }
  }
}

void narrow(DType to, char* out, int64_t stride, DType carrier, const void* in, int64_t n) {
  switch (to) {
    case DType::UInt16:
      return narrow_to_unsigned<uint16_t>(out, stride, carrier, in, n);
    case DType::UInt32:
      return narrow_to_unsigned<uint32_t>(out, stride, carrier, in, n);
    case DType::UInt64:
      return narrow_to_unsigned<uint64_t>(out, stride, carrier, in, n);
    case DType::Complex32:
      return each<ComplexHalf, Complex64>(out, stride, static_cast<const char*>(in), sizeof(Complex64), n,
                                          [](Complex64 v) { return ComplexHalf{Half(v.real()), Half(v.imag())}; });
    default:
      return each<uint8_t, float>(out, stride, static_cast<const char*>(in), sizeof(float), n,
                                  [to](float v) { return encode(to, v); });
  }
}

void write_element(DType t, const Scalar& value, void* to) {
  auto* out = static_cast<char*>(to);
  if (!is_storage(t)) {
    return dispatch(t, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v = value.to<T>();
      std::memcpy(out, &v, sizeof(v));
    });
  }
  DType carrier = carrier_to(t, value.is_integral() ? DType::Int64 : DType::Float64);
  alignas(16) char wide[16];
  write_element(carrier, value, wide);
  narrow(t, out, 0, carrier, wide, 1);
}

Scalar read_element(DType t, const void* from) {
  auto* in = static_cast<const char*>(from);
  if (is_storage(t)) {
    DType carrier = carrier_from(t, DType::Int64);
    alignas(16) char wide[16];
    widen(carrier, wide, t, in, 0, 1);
    Scalar v = read_element(carrier, wide);
    return t == DType::UInt64 ? Scalar(static_cast<unsigned long>(v.to_int())) : v;
  }
  return dispatch(t, [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    T v;
    std::memcpy(&v, in, sizeof(v));
    if constexpr (kIsComplex<T>)
      return Scalar(std::complex<double>(v.real(), v.imag()));
    else if constexpr (std::is_same_v<T, bool>)
      return Scalar(v);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<long>(v));
    else
      return Scalar(static_cast<double>(v));
  });
}

}  // namespace undertow::core
