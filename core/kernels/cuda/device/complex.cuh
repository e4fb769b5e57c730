// complex.cuh: complex numbers for device code.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re, im;
  Complex() = default;
  UT_DEVICE Complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
  template <class U>
  UT_DEVICE explicit Complex(const Complex<U>& z) : re(static_cast<T>(z.re)), im(static_cast<T>(z.im)) {}
  UT_DEVICE T real() const { return re; }
  UT_DEVICE T imag() const { return im; }
  UT_DEVICE Complex operator-() const { return {-re, -im}; }
  UT_DEVICE Complex operator+() const { return *this; }
  friend UT_DEVICE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend UT_DEVICE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend UT_DEVICE Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Scaled by the larger part of the divisor, so that nothing overflows.
  friend UT_DEVICE Complex operator/(Complex a, Complex b) {
    T x = b.re < 0 ? -b.re : b.re, y = b.im < 0 ? -b.im : b.im;
    if (x >= y) {
      if (x == T(0) && y == T(0)) return {a.re / x, a.im / y};
      T ratio = b.im / b.re, scale = T(1) / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    T ratio = b.re / b.im, scale = T(1) / (b.re * ratio + b.im);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
  UT_DEVICE Complex& operator+=(Complex b) { return *this = *this + b; }
  UT_DEVICE Complex& operator-=(Complex b) { return *this = *this - b; }
  UT_DEVICE Complex& operator*=(Complex b) { return *this = *this * b; }
  friend UT_DEVICE bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  friend UT_DEVICE bool operator!=(Complex a, Complex b) { return !(a == b); }
};

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<Complex<T>> = true;
template <class T>
struct RealOfType {
  using type = T;
};
template <class T>
struct RealOfType<Complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealOfType<T>::type;

template <class T>
UT_DEVICE Complex<T> conj(Complex<T> z) {
  return {z.re, -z.im};
}

}  // namespace undertow
