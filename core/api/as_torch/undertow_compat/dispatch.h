// dispatch.h: AT_DISPATCH_*: runs a piece of code with `scalar_t` being the C++ type of a dtype.
#pragma once
#include <undertow_compat/errors.h>
#include <undertow_compat/names.h>

namespace undertow {
namespace detail {
inline ScalarType scalar_type(ScalarType t) { return t; }
template <core::DType D>
struct CppTypeOf;
#define UT_CPP_TYPE(D, T)            \
  template <>                        \
  struct CppTypeOf<core::DType::D> { \
    using type = T;                  \
  }
UT_CPP_TYPE(Bool, bool);
UT_CPP_TYPE(UInt8, uint8_t);
UT_CPP_TYPE(UInt16, uint16_t);
UT_CPP_TYPE(UInt32, uint32_t);
UT_CPP_TYPE(UInt64, uint64_t);
UT_CPP_TYPE(Int8, int8_t);
UT_CPP_TYPE(Int16, int16_t);
UT_CPP_TYPE(Int32, int32_t);
UT_CPP_TYPE(Int64, int64_t);
UT_CPP_TYPE(Float16, Half);
UT_CPP_TYPE(BFloat16, BFloat16);
UT_CPP_TYPE(Float32, float);
UT_CPP_TYPE(Float64, double);
UT_CPP_TYPE(Complex64, std::complex<float>);
UT_CPP_TYPE(Complex128, std::complex<double>);
#undef UT_CPP_TYPE
}  // namespace detail
namespace impl {
template <ScalarType T>
struct ScalarTypeToCPPType {
  using type = typename ::undertow::detail::CppTypeOf<T.dtype>::type;
};
template <ScalarType T>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<T>::type;
}  // namespace impl
}  // namespace undertow

#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...)                        \
  case enum_type: {                                                                  \
    using HINT [[maybe_unused]] = ::undertow::impl::ScalarTypeToCPPTypeT<enum_type>; \
    return __VA_ARGS__();                                                            \
  }
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                     \
  [&] {                                                                                         \
    const ::undertow::ScalarType undertow_dispatched = ::undertow::detail::scalar_type(TYPE);   \
    switch (undertow_dispatched) {                                                              \
      __VA_ARGS__                                                                               \
      default:                                                                                  \
        ::undertow::core::throw_error(::undertow::core::ErrorKind::NotImplemented,              \
                                      std::string("\"") + (NAME) + "\" not implemented for '" + \
                                          ::undertow::toString(undertow_dispatched) + "'");     \
    }                                                                                           \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                    \
  AT_DISPATCH_CASE(::undertow::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)          \
  AT_DISPATCH_CASE(::undertow::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                            \
  AT_DISPATCH_CASE(::undertow::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                  \
  AT_DISPATCH_CASE(::undertow::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::Int, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::undertow::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::undertow::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)           \
  AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)

// The dtypes of a family and N others, which come first: AT_DISPATCH_FLOATING_TYPES_AND2(kHalf, kBFloat16, TYPE, NAME,
// code).
#define UT_CASES1(T1, ...) AT_DISPATCH_CASE(T1, __VA_ARGS__)
#define UT_CASES2(T1, T2, ...) UT_CASES1(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__)
#define UT_CASES3(T1, T2, T3, ...) UT_CASES2(T1, T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__)
#define UT_CASES4(T1, T2, T3, T4, ...) UT_CASES3(T1, T2, T3, __VA_ARGS__) AT_DISPATCH_CASE(T4, __VA_ARGS__)
#define UT_CASES5(T1, T2, T3, T4, T5, ...) UT_CASES4(T1, T2, T3, T4, __VA_ARGS__) AT_DISPATCH_CASE(T5, __VA_ARGS__)
#define UT_CASES6(T1, T2, T3, T4, T5, T6, ...) \
  UT_CASES5(T1, T2, T3, T4, T5, __VA_ARGS__) AT_DISPATCH_CASE(T6, __VA_ARGS__)
#define UT_CASES7(T1, T2, T3, T4, T5, T6, T7, ...) \
  UT_CASES6(T1, T2, T3, T4, T5, T6, __VA_ARGS__) AT_DISPATCH_CASE(T7, __VA_ARGS__)
#define UT_CASES8(T1, T2, T3, T4, T5, T6, T7, T8, ...) \
  UT_CASES7(T1, T2, T3, T4, T5, T6, T7, __VA_ARGS__) AT_DISPATCH_CASE(T8, __VA_ARGS__)
#define UT_DISPATCH0(Family, TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__))
#define UT_DISPATCH1(Family, T1, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES1(T1, __VA_ARGS__))
#define UT_DISPATCH2(Family, T1, T2, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES2(T1, T2, __VA_ARGS__))
#define UT_DISPATCH3(Family, T1, T2, T3, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES3(T1, T2, T3, __VA_ARGS__))
#define UT_DISPATCH4(Family, T1, T2, T3, T4, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES4(T1, T2, T3, T4, __VA_ARGS__))
#define UT_DISPATCH5(Family, T1, T2, T3, T4, T5, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES5(T1, T2, T3, T4, T5, __VA_ARGS__))
#define UT_DISPATCH6(Family, T1, T2, T3, T4, T5, T6, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES6(T1, T2, T3, T4, T5, T6, __VA_ARGS__))
#define UT_DISPATCH7(Family, T1, T2, T3, T4, T5, T6, T7, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                          \
                     AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES7(T1, T2, T3, T4, T5, T6, T7, __VA_ARGS__))
#define UT_DISPATCH8(Family, T1, T2, T3, T4, T5, T6, T7, T8, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                              \
                     AT_DISPATCH_CASE_##Family(__VA_ARGS__) UT_CASES8(T1, T2, T3, T4, T5, T6, T7, T8, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES(...) UT_DISPATCH0(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) UT_DISPATCH1(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) UT_DISPATCH2(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) UT_DISPATCH3(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(...) UT_DISPATCH4(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) UT_DISPATCH0(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) UT_DISPATCH1(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) UT_DISPATCH2(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) UT_DISPATCH3(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND4(...) UT_DISPATCH4(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) UT_DISPATCH0(INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) UT_DISPATCH1(INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(...) UT_DISPATCH0(COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND(...) UT_DISPATCH1(COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) UT_DISPATCH0(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(...) UT_DISPATCH1(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) UT_DISPATCH2(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(...) UT_DISPATCH3(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(...) UT_DISPATCH4(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(...) UT_DISPATCH5(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(...) UT_DISPATCH6(FLOATING_AND_COMPLEX_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) UT_DISPATCH0(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) UT_DISPATCH1(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) UT_DISPATCH2(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) UT_DISPATCH3(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(...) UT_DISPATCH4(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(...) UT_DISPATCH5(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(...) UT_DISPATCH6(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(...) UT_DISPATCH7(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(...) UT_DISPATCH8(ALL_TYPES_AND_COMPLEX, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(...) UT_DISPATCH0(REDUCED_FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::undertow::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND(::undertow::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                        \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                        \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::undertow::ScalarType::Int, index_t, __VA_ARGS__) \
                         AT_PRIVATE_CASE_TYPE_USING_HINT(::undertow::ScalarType::Long, index_t, __VA_ARGS__))
