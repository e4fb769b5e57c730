// scalar.h: a number of any kind as an argument: Scalar(2), Scalar(0.5), Scalar(true).
#pragma once
#include <iosfwd>
#include <type_traits>

#include <undertow/types/scalar_type.h>

#include "core/tensor/dtype/scalar.h"

namespace undertow {

class Scalar : public core::Scalar {
 public:
  Scalar() = default;
  Scalar(const core::Scalar& s) : core::Scalar(s) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value) : core::Scalar(from(value)) {}
  Scalar(Half value) : core::Scalar(static_cast<double>(static_cast<float>(value))) {}
  Scalar(BFloat16 value) : core::Scalar(static_cast<double>(static_cast<float>(value))) {}
  template <class T>
  Scalar(std::complex<T> z) : core::Scalar(std::complex<double>(z)) {}

  bool isIntegral(bool includeBool = false) const { return is_integral() && (includeBool || !is_bool()); }
  bool isFloatingPoint() const { return is_floating(); }
  bool isComplex() const { return is_complex(); }
  bool isBoolean() const { return is_bool(); }
  // As in libtorch, the widest dtype of the kind: a float is Double here.
  ScalarType type() const {
    return is_complex() ? kComplexDouble : is_floating() ? kDouble : is_bool() ? kBool : kLong;
  }
  template <class T>
  bool equal(T value) const {
    return is_complex() ? to_complex() == std::complex<double>(value) : to<T>() == value;
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  std::complex<double> toComplexDouble() const { return to_complex(); }
  Scalar operator-() const { return core::Scalar::operator-(); }
  Scalar conj() const { return core::Scalar::conj(); }

 private:
  template <class T>
  static core::Scalar from(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return core::Scalar(value);
    else if constexpr (std::is_floating_point_v<T>)
      return core::Scalar(static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<T>)
      return core::Scalar(static_cast<unsigned long>(value));
    else
      return core::Scalar(static_cast<long>(value));
  }
};
std::ostream& operator<<(std::ostream& out, const Scalar& s);

}  // namespace undertow
