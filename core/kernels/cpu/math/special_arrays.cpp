// special_arrays.cpp: see special_arrays.h. Arrays of floats are computed in double, block by block.
// build: small
#include "core/kernels/cpu/math/special_arrays.h"

#include <algorithm>
#include <cmath>

#include "core/kernels/cpu/math/piecewise.h"
#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::cpu {
static const SpecialLoops& chosen_loops() {
  static const SpecialLoops& chosen = UNDERTOW_CHOOSE_ISA(special_loops());
  return chosen;
}
}  // namespace undertow::core::cpu

namespace undertow::core::special {

namespace {

using cpu::chosen_loops;

void widen(const float* x, double* y, int64_t n) { chosen_loops().widen(x, y, n); }
void widen(const double* x, double* y, int64_t n) { std::copy_n(x, n, y); }
void narrow(const double* x, float* y, int64_t n) { chosen_loops().narrow(x, y, n); }
void narrow(const double* x, double* y, int64_t n) { std::copy_n(x, n, y); }

template <class T>
constexpr Piecewise::For result_of = sizeof(T) == 8 ? Piecewise::For::Double : Piecewise::For::Float;

// Calls f(x, y, count) for blocks of doubles that do not overlap. The last one is filled up with ones.
template <class T, class F>
void in_blocks(const T* x, T* y, size_t n, F&& f) {
  double in[kSpecialBlock], out[kSpecialBlock];
  T rest[kSpecialStep];
  for (size_t start = 0; start < n; start += kSpecialBlock) {
    const int64_t count = static_cast<int64_t>(std::min<size_t>(kSpecialBlock, n - start));
    const int64_t whole = count & -kSpecialStep, padded = (count + kSpecialStep - 1) & -kSpecialStep;
    std::fill_n(std::copy_n(x + start + whole, count - whole, rest), padded - count, T(1));
    widen(x + start, in, whole);
    widen(rest, in + whole, padded - whole);
    f(static_cast<const double*>(in), out, padded);
    narrow(out, y + start, whole);
    narrow(out + whole, rest, padded - whole);
    std::copy_n(rest, count - whole, y + start + whole);
  }
}

using Finish = void (*)(const double* x, const double* values, double* y, int64_t n);
// finish(x, table(|x|)).
template <class T>
void even_array(const Piecewise& table, Finish finish, const T* x, T* y, size_t n) {
  in_blocks(x, y, n, [&](const double* in, double* out, int64_t count) {
    double a[kSpecialBlock], values[kSpecialBlock];
    chosen_loops().magnitudes(in, a, count);
    table.values(a, finish ? values : out, count, result_of<T>);
    if (finish) finish(in, values, out, count);
  });
}

}  // namespace

// The table's errors of 2 units in the last place do not show in a float.
template <>
void lgamma_array(const float* x, float* y, size_t n) {
  even_array(lgamma_table(), chosen_loops().lgamma, x, y, n);
}
template <>
void lgamma_array(const double* x, double* y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = lgamma(x[i]);
}

template <class T>
void digamma_array(const T* x, T* y, size_t n) {
  in_blocks(x, y, n, [](const double* in, double* out, int64_t count) {
    double b[kSpecialBlock], values[kSpecialBlock];
    const bool poles = chosen_loops().digamma_arguments(in, b, count);
    digamma_table().values(b, values, count, result_of<T>);
    chosen_loops().digamma(in, values, out, count);
    for (int64_t i = 0; poles && i < count; i++)
      if (in[i] <= 0 && std::trunc(in[i]) == in[i]) out[i] = digamma(in[i]);
  });
}
template <class T>
void i0_array(const T* x, T* y, size_t n) {
  even_array(i0e_table(), chosen_loops().times_exp, x, y, n);
}
template <class T>
void i0e_array(const T* x, T* y, size_t n) {
  even_array(i0e_table(), nullptr, x, y, n);
}
template <class T>
void i1_array(const T* x, T* y, size_t n) {
  even_array(i1e_table(), chosen_loops().times_x_and_exp, x, y, n);
}
template <class T>
void i1e_array(const T* x, T* y, size_t n) {
  even_array(i1e_table(), chosen_loops().times, x, y, n);
}

#define UNDERTOW_ARRAYS(name)                             \
  template void name(const float* x, float* y, size_t n); \
  template void name(const double* x, double* y, size_t n);
UNDERTOW_ARRAYS(digamma_array)
UNDERTOW_ARRAYS(i0_array)
UNDERTOW_ARRAYS(i0e_array)
UNDERTOW_ARRAYS(i1_array)
UNDERTOW_ARRAYS(i1e_array)
#undef UNDERTOW_ARRAYS

}  // namespace undertow::core::special
