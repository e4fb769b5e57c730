// scalar_type.h: the dtypes by libtorch's names: ScalarType::Float, kFloat, kInt64.
#pragma once
#include <functional>
#include <iosfwd>
#include <string_view>

#include "core/tensor/dtype/dtype.h"

namespace undertow {

using Half = core::Half;
using BFloat16 = core::BFloat16;

// One dtype. A class, and not the core's enum, because libtorch's dtypes have both names (Float, kFloat32) and methods
// (dtype().itemsize()). It can be the subject of a switch, and its constants can be the cases.
class ScalarType {
 public:
  constexpr ScalarType() : dtype(core::DType::Float32) {}
  constexpr ScalarType(core::DType d) : dtype(d) {}
  constexpr operator core::DType() const { return dtype; }
  template <class Int>
    requires std::is_integral_v<Int>
  explicit constexpr operator Int() const {
    return static_cast<Int>(dtype);
  }
  constexpr bool operator==(const ScalarType&) const = default;
  constexpr bool operator==(core::DType d) const { return dtype == d; }

  size_t itemsize() const { return static_cast<size_t>(core::itemsize(dtype)); }
  std::string_view name() const { return core::name(dtype); }  // as in Python: "float32"
  constexpr ScalarType toScalarType() const { return *this; }

  static const ScalarType Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble,
      Bool, BFloat16, UInt16, UInt32, UInt64, Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz, Float8_e4m3fnuz,
      Float8_e8m0fnu;

  core::DType dtype;  // public, so that a ScalarType can be a template argument
};
// What Tensor::dtype() returns; libtorch has a second class for it.
using Dtype = ScalarType;

#define UT_SCALAR_TYPE(Name, Core) \
  inline constexpr ScalarType ScalarType::Name { core::DType::Core }
UT_SCALAR_TYPE(Byte, UInt8);
UT_SCALAR_TYPE(Char, Int8);
UT_SCALAR_TYPE(Short, Int16);
UT_SCALAR_TYPE(Int, Int32);
UT_SCALAR_TYPE(Long, Int64);
UT_SCALAR_TYPE(Half, Float16);
UT_SCALAR_TYPE(Float, Float32);
UT_SCALAR_TYPE(Double, Float64);
UT_SCALAR_TYPE(ComplexHalf, Complex32);
UT_SCALAR_TYPE(ComplexFloat, Complex64);
UT_SCALAR_TYPE(ComplexDouble, Complex128);
UT_SCALAR_TYPE(Bool, Bool);
UT_SCALAR_TYPE(BFloat16, BFloat16);
UT_SCALAR_TYPE(UInt16, UInt16);
UT_SCALAR_TYPE(UInt32, UInt32);
UT_SCALAR_TYPE(UInt64, UInt64);
UT_SCALAR_TYPE(Float8_e5m2, Float8_e5m2);
UT_SCALAR_TYPE(Float8_e4m3fn, Float8_e4m3fn);
UT_SCALAR_TYPE(Float8_e5m2fnuz, Float8_e5m2fnuz);
UT_SCALAR_TYPE(Float8_e4m3fnuz, Float8_e4m3fnuz);
UT_SCALAR_TYPE(Float8_e8m0fnu, Float8_e8m0fnu);
#undef UT_SCALAR_TYPE

inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                            kInt8 = ScalarType::Char, kShort = ScalarType::Short, kInt16 = ScalarType::Short,
                            kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
                            kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                            kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                            kFloat64 = ScalarType::Double, kBFloat16 = ScalarType::BFloat16, kBool = ScalarType::Bool,
                            kComplexHalf = ScalarType::ComplexHalf, kComplex32 = ScalarType::ComplexHalf,
                            kComplexFloat = ScalarType::ComplexFloat, kComplex64 = ScalarType::ComplexFloat,
                            kComplexDouble = ScalarType::ComplexDouble, kComplex128 = ScalarType::ComplexDouble,
                            kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64,
                            kFloat8_e5m2 = ScalarType::Float8_e5m2, kFloat8_e4m3fn = ScalarType::Float8_e4m3fn;

inline const char* toString(ScalarType t) { return core::long_name(t); }  // "Float", as in messages
inline size_t elementSize(ScalarType t) { return t.itemsize(); }
inline bool isFloatingType(ScalarType t) { return core::is_floating(t); }
inline bool isComplexType(ScalarType t) { return core::is_complex(t); }
inline bool isIntegralType(ScalarType t, bool includeBool = false) {
  return core::is_integral(t) && (includeBool || t != kBool);
}
inline ScalarType toRealValueType(ScalarType t) { return core::to_real(t); }
inline ScalarType toComplexType(ScalarType t) { return core::to_complex(t); }
std::ostream& operator<<(std::ostream& out, ScalarType t);

// The dtype of a C++ type: CppTypeToScalarType<float>::value.
template <class T>
struct CppTypeToScalarType {
  static constexpr ScalarType value{core::DTypeOf<T>::value};
  constexpr operator ScalarType() const { return value; }
};
template <>
struct CppTypeToScalarType<uint16_t> {
  static constexpr ScalarType value = ScalarType::UInt16;
};
template <>
struct CppTypeToScalarType<uint32_t> {
  static constexpr ScalarType value = ScalarType::UInt32;
};
template <>
struct CppTypeToScalarType<uint64_t> {
  static constexpr ScalarType value = ScalarType::UInt64;
};
template <>
struct CppTypeToScalarType<long long> {
  static constexpr ScalarType value = ScalarType::Long;
};

}  // namespace undertow

template <>
struct std::hash<undertow::ScalarType> {
  size_t operator()(undertow::ScalarType t) const noexcept { return static_cast<size_t>(t.dtype); }
};
