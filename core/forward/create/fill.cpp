// fill.cpp: fill_into, full and zeros of copy.h, and which numbers a dtype can hold.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/copy.h"

namespace undertow::fwd {

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

}  // namespace undertow::fwd
