// dtype.h: the element types, their properties, and dispatch from a run-time DType to a C++ type.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/error.h"
#include "core/tensor/dtype/half.h"

namespace undertow::core {

// Note [Storage DTypes]
// Tensors of some dtypes are stored, moved, compared and converted, but few operators compute with them in torch, so
// they have no kernels of their own: is_storage(t). Code that only moves elements treats them by their width
// (dispatch_width), and storage_dtypes.h converts their elements. `dispatch` and every entry of a backend's table that
// does not opt in (kernel.h) raise torch's "not implemented for 'UInt16'". What torch computes with them is computed in
// a carrier, a wider dtype with kernels, and converted back: `storage` of a table entry, and forward/copy/carriers.h.
//
// The order matters: integers, floats, complex numbers, and within one kind the later dtype is usually the wider one.
enum class DType : uint8_t {
  Bool,
  UInt8,
  UInt16,  // storage, as the next two
  UInt32,
  UInt64,
  Int8,
  Int16,
  Int32,
  Int64,
  Float8_e4m3fn,  // storage, as the next four
  Float8_e5m2,
  Float8_e4m3fnuz,
  Float8_e5m2fnuz,
  Float8_e8m0fnu,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex32,  // storage
  Complex64,
  Complex128
};
inline constexpr int kNumDTypes = 21;

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

struct DTypeInfo {
  uint8_t itemsize;
  const char* name;       // as in Python
  const char* long_name;  // as in torch's messages ("Float")
};
inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {{1, "bool", "Bool"},
                                                     {1, "uint8", "Byte"},
                                                     {2, "uint16", "UInt16"},
                                                     {4, "uint32", "UInt32"},
                                                     {8, "uint64", "UInt64"},
                                                     {1, "int8", "Char"},
                                                     {2, "int16", "Short"},
                                                     {4, "int32", "Int"},
                                                     {8, "int64", "Long"},
                                                     {1, "float8_e4m3fn", "Float8_e4m3fn"},
                                                     {1, "float8_e5m2", "Float8_e5m2"},
                                                     {1, "float8_e4m3fnuz", "Float8_e4m3fnuz"},
                                                     {1, "float8_e5m2fnuz", "Float8_e5m2fnuz"},
                                                     {1, "float8_e8m0fnu", "Float8_e8m0fnu"},
                                                     {2, "float16", "Half"},
                                                     {2, "bfloat16", "BFloat16"},
                                                     {4, "float32", "Float"},
                                                     {8, "float64", "Double"},
                                                     {4, "complex32", "ComplexHalf"},
                                                     {8, "complex64", "ComplexFloat"},
                                                     {16, "complex128", "ComplexDouble"}};

inline int64_t itemsize(DType t) { return kDTypeInfo[static_cast<int>(t)].itemsize; }
inline const char* name(DType t) { return kDTypeInfo[static_cast<int>(t)].name; }
inline const char* long_name(DType t) { return kDTypeInfo[static_cast<int>(t)].long_name; }
inline bool is_complex(DType t) { return t >= DType::Complex32; }
inline bool is_floating(DType t) { return t >= DType::Float8_e4m3fn && t <= DType::Float64; }
inline bool is_integral(DType t) { return t <= DType::Int64; }  // includes bool
inline bool is_differentiable(DType t) { return t >= DType::Float8_e4m3fn; }
inline bool is_wide_unsigned(DType t) { return t >= DType::UInt16 && t <= DType::UInt64; }
inline bool is_float8(DType t) { return t >= DType::Float8_e4m3fn && t <= DType::Float8_e8m0fnu; }
// See Note [Storage DTypes]. One bit test, because every call of a kernel asks it.
inline bool is_storage(DType t) {
  constexpr uint32_t bits = 7u << static_cast<int>(DType::UInt16) | 31u << static_cast<int>(DType::Float8_e4m3fn) |
                            1u << static_cast<int>(DType::Complex32);
  return bits >> static_cast<int>(t) & 1;
}
inline bool is_reduced_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
// The groups of storage dtypes, as bits: a kernel or operator says which of them it supports.
inline constexpr uint8_t kUnsignedStorage = 1, kComplexStorage = 2, kFloat8Storage = 4, kAnyStorage = 7;
inline uint8_t storage_group(DType t) {
  return is_wide_unsigned(t) ? kUnsignedStorage : t == DType::Complex32 ? kComplexStorage : kFloat8Storage;
}
inline DType to_real(DType t) {
  return t == DType::Complex64    ? DType::Float32
         : t == DType::Complex128 ? DType::Float64
         : t == DType::Complex32  ? DType::Float16
                                  : t;
}
inline DType to_complex(DType t) {
  return is_complex(t)         ? t
         : t == DType::Float64 ? DType::Complex128
         : t == DType::Float16 ? DType::Complex32
                               : DType::Complex64;
}
void append_text(std::string& out, DType t);
// Raises torch's error for an operator that does not compute with t; `op` may be null.
[[noreturn]] void throw_not_implemented(const char* op, DType t);

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

// dispatch(t, [&](auto tag) { using T = typename decltype(tag)::type; ... }) for every dtype with kernels of its own.
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
    default:
      throw_not_implemented(nullptr, t);
  }
}

// The same for code that depends only on the element size (copies, gathers): five cases, for all dtypes.
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

}  // namespace undertow::core
