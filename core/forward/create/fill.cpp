// fill.cpp: fill_into, full and zeros of copy.h, and which numbers a dtype can hold.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/copy.h"

namespace undertow::core::fwd {

namespace {

// Negative numbers wrap in unsigned types, and infinities fit every float; anything else must be in range.
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
        if (value.kind() == Scalar::Kind::UInt) return false;
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

// The same for a storage dtype.
bool storage_holds(const Scalar& value, DType dtype) {
  if (dtype == DType::Complex32) {
    std::complex<double> z = value.to_complex();
    return holds<Half>(Scalar(z.real())) && holds<Half>(Scalar(z.imag()));
  }
  if (value.is_complex())
    return value.to_complex().imag() == 0 && storage_holds(Scalar(value.to_complex().real()), dtype);
  if (is_wide_unsigned(dtype)) {
    uint64_t most = std::numeric_limits<uint64_t>::max() >> (64 - 8 * itemsize(dtype));
    if (!value.is_integral()) return value.to_double() >= 0 && value.to_double() <= static_cast<double>(most);
    bool negative = value.kind() == Scalar::Kind::Int && value.to_int() < 0;
    return (negative ? 0 - value.to<uint64_t>() : value.to<uint64_t>()) <= most;
  }
  double d = value.to_double(), most = 57344;
  if (std::isinf(d)) return dtype == DType::Float8_e5m2;
  if (dtype == DType::Float8_e8m0fnu) return std::isnan(d) || d == 0 || (d >= 0x1p-127 && d <= 0x1p127);
  if (dtype == DType::Float8_e4m3fn) most = 448;
  if (dtype == DType::Float8_e4m3fnuz) most = 240;
  return !(std::fabs(d) > most);
}

}  // namespace

const char* cpp_name(DType dtype) {
  constexpr const char* names[kNumDTypes] = {"bool",
                                             "uint8_t",
                                             "uint16_t",
                                             "uint32_t",
                                             "uint64_t",
                                             "int8_t",
                                             "int16_t",
                                             "int",
                                             "int64_t",
                                             "c10::Float8_e4m3fn",
                                             "c10::Float8_e5m2",
                                             "c10::Float8_e4m3fnuz",
                                             "c10::Float8_e5m2fnuz",
                                             "c10::Float8_e8m0fnu",
                                             "c10::Half",
                                             "c10::BFloat16",
                                             "float",
                                             "double",
                                             "c10::complex<c10::Half>",
                                             "c10::complex<float>",
                                             "c10::complex<double>"};
  return names[static_cast<int>(dtype)];
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
  bool ok = is_storage(dtype) ? storage_holds(value, dtype)
                              : dispatch(dtype, [&](auto tag) { return holds<typename decltype(tag)::type>(value); });
  UT_CHECK(ok, "value cannot be converted to type ", cpp_name(dtype), " without overflow; it is ", value);
}

void fill_into(const Tensor& dst, const Scalar& value) {
  check_fits(value, dst.dtype());
  backend_of(dst).copy->fill(dst, value);
}

Tensor full(IntSpan sizes, const Scalar& value, DType dtype, Device device) {
  Tensor t = empty(sizes, dtype, device);
  fill_into(t, value);
  return t;
}
Tensor zeros(IntSpan sizes, DType dtype, Device device) {
  Tensor t = empty(sizes, dtype, device);
  backend_of(t).copy->zero(t);
  return t;
}

}  // namespace undertow::core::fwd
