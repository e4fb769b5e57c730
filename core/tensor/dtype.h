// dtype.h: the element types, their properties, and dispatch from a run-time DType to a C++ type.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/error.h"
#include "core/tensor/half.h"

namespace undertow {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128
};
inline constexpr int kNumDTypes = 12;

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

struct DTypeInfo {
  uint8_t itemsize;
  const char* name;       // as in Python
  const char* long_name;  // as in torch's messages ("Float")
};
inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {{1, "bool", "Bool"},
                                                     {1, "uint8", "Byte"},
                                                     {1, "int8", "Char"},
                                                     {2, "int16", "Short"},
                                                     {4, "int32", "Int"},
                                                     {8, "int64", "Long"},
                                                     {2, "float16", "Half"},
                                                     {2, "bfloat16", "BFloat16"},
                                                     {4, "float32", "Float"},
                                                     {8, "float64", "Double"},
                                                     {8, "complex64", "ComplexFloat"},
                                                     {16, "complex128", "ComplexDouble"}};

inline int64_t itemsize(DType t) { return kDTypeInfo[static_cast<int>(t)].itemsize; }
inline const char* name(DType t) { return kDTypeInfo[static_cast<int>(t)].name; }
inline const char* long_name(DType t) { return kDTypeInfo[static_cast<int>(t)].long_name; }
inline bool is_complex(DType t) { return t >= DType::Complex64; }
inline bool is_floating(DType t) { return t >= DType::Float16 && t <= DType::Float64; }
inline bool is_integral(DType t) { return t <= DType::Int64; }  // includes bool
inline bool is_differentiable(DType t) { return t >= DType::Float16; }
inline bool is_reduced_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
inline DType to_real(DType t) {
  return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t;
}
inline DType to_complex(DType t) {
  return is_complex(t) ? t : t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}
void append_text(std::string& out, DType t);

// The type used for arithmetic on T.
template <class T>
struct OpMathOf {
  using type = T;
};
template <>
struct OpMathOf<Half> {
  using type = float;
};
template <>
struct OpMathOf<BFloat16> {
  using type = float;
};
template <class T>
using OpMath = typename OpMathOf<T>::type;

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool kIsComplex = IsComplex<T>::value;
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class T>
struct DTypeOf;
#define UT_DTYPE_OF(T, D)                    \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::D; \
  }
UT_DTYPE_OF(bool, Bool);
UT_DTYPE_OF(uint8_t, UInt8);
UT_DTYPE_OF(int8_t, Int8);
UT_DTYPE_OF(int16_t, Int16);
UT_DTYPE_OF(int32_t, Int32);
UT_DTYPE_OF(int64_t, Int64);
UT_DTYPE_OF(Half, Float16);
UT_DTYPE_OF(BFloat16, BFloat16);
UT_DTYPE_OF(float, Float32);
UT_DTYPE_OF(double, Float64);
UT_DTYPE_OF(Complex64, Complex64);
UT_DTYPE_OF(Complex128, Complex128);
#undef UT_DTYPE_OF

template <class T>
struct TypeTag {
  using type = T;
};

// dispatch(t, [&](auto tag) { using T = typename decltype(tag)::type; ... }) for every dtype.
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(TypeTag<bool>{});
    case DType::UInt8:
      return f(TypeTag<uint8_t>{});
    case DType::Int8:
      return f(TypeTag<int8_t>{});
    case DType::Int16:
      return f(TypeTag<int16_t>{});
    case DType::Int32:
      return f(TypeTag<int32_t>{});
    case DType::Int64:
      return f(TypeTag<int64_t>{});
    case DType::Float16:
      return f(TypeTag<Half>{});
    case DType::BFloat16:
      return f(TypeTag<BFloat16>{});
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    case DType::Complex64:
      return f(TypeTag<Complex64>{});
    case DType::Complex128:
      return f(TypeTag<Complex128>{});
  }
  __builtin_unreachable();
}

// The same for code that depends only on the element size (copies, gathers): instantiates five cases instead of twelve.
struct Bytes16 {
  uint64_t a, b;
};
template <class F>
decltype(auto) dispatch_width(DType t, F&& f) {
  switch (itemsize(t)) {
    case 1:
      return f(TypeTag<uint8_t>{});
    case 2:
      return f(TypeTag<uint16_t>{});
    case 4:
      return f(TypeTag<uint32_t>{});
    case 8:
      return f(TypeTag<uint64_t>{});
    default:
      return f(TypeTag<Bytes16>{});
  }
}

// Value conversion between any two element types, with the semantics of torch's casts: complex to real drops the
// imaginary part, and conversion to bool means "is not zero".
template <class To, class From>
inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>)
      return To(static_cast<typename To::value_type>(v.real()), static_cast<typename To::value_type>(v.imag()));
    else if constexpr (std::is_same_v<To, bool>)
      return v != From(0);
    else
      return convert<To>(v.real());
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(static_cast<OpMath<From>>(v)), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return static_cast<OpMath<From>>(v) != OpMath<From>(0);
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_integral_v<To> && (std::is_floating_point_v<From> || kIsHalf<From>)) {
    // Through int64, so that a negative float wraps around when converted to unsigned, as in torch on x86.
    return static_cast<To>(static_cast<int64_t>(static_cast<OpMath<From>>(v)));
  } else {
    return static_cast<To>(static_cast<OpMath<From>>(v));
  }
}

}  // namespace undertow
