// scalar.h: a Python number as an argument of an operator. It is never converted to a tensor.
#pragma once
#include <complex>
#include <cstdint>

#include "core/tensor/dtype/dtype.h"

namespace undertow::core {

class Scalar {
 public:
  // UInt: an integer from 2^63 on, which has no other form; as an operand it has dtype int64, and wraps.
  enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };
  Scalar() : kind_(Kind::Int) { v_.i = 0; }
  Scalar(bool b) : kind_(Kind::Bool) { v_.i = b; }
  Scalar(int i) : kind_(Kind::Int) { v_.i = i; }
  Scalar(long i) : kind_(Kind::Int) { v_.i = i; }
  Scalar(long long i) : kind_(Kind::Int) { v_.i = i; }
  explicit Scalar(unsigned long i) : kind_(i >> 63 ? Kind::UInt : Kind::Int) { v_.i = static_cast<int64_t>(i); }
  Scalar(double d) : kind_(Kind::Float) { v_.d = d; }
  Scalar(std::complex<double> z) : kind_(Kind::Complex) {
    v_.z[0] = z.real();
    v_.z[1] = z.imag();
  }

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral() const { return kind_ <= Kind::UInt; }
  bool is_floating() const { return kind_ == Kind::Float; }
  bool is_complex() const { return kind_ == Kind::Complex; }

  template <class T>
  T to() const {
    switch (kind_) {
      case Kind::Bool:
      case Kind::Int:
        return convert<T>(v_.i);
      case Kind::UInt:
        return convert<T>(static_cast<uint64_t>(v_.i));
      case Kind::Float:
        return convert<T>(v_.d);
      case Kind::Complex:
        return convert<T>(std::complex<double>(v_.z[0], v_.z[1]));
    }
    __builtin_unreachable();
  }
  double to_double() const { return to<double>(); }
  int64_t to_int() const { return to<int64_t>(); }
  std::complex<double> to_complex() const { return to<std::complex<double>>(); }

  bool equals(double d) const { return kind_ == Kind::Complex ? (v_.z[1] == 0 && v_.z[0] == d) : to_double() == d; }
  // The dtype that torch gives a tensor of this number if the default dtype is float32.
  DType default_dtype() const {
    switch (kind_) {
      case Kind::Bool:
        return DType::Bool;
      case Kind::Int:
      case Kind::UInt:
        return DType::Int64;
      case Kind::Float:
        return DType::Float32;
      default:
        return DType::Complex64;
    }
  }
  Scalar operator-() const {
    switch (kind_) {
      case Kind::Float:
        return Scalar(-v_.d);
      case Kind::Complex:
        return Scalar(std::complex<double>(-v_.z[0], -v_.z[1]));
      default:
        return Scalar(static_cast<long>(-v_.i));
    }
  }
  Scalar conj() const { return is_complex() ? Scalar(std::complex<double>(v_.z[0], -v_.z[1])) : *this; }

 private:
  Kind kind_;
  union {
    int64_t i;
    double d;
    double z[2];
  } v_;
};
void append_text(std::string& out, const Scalar& s);

}  // namespace undertow::core
