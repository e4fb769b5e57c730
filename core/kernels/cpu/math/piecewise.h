// piecewise.h: a function of one variable as polynomials on small intervals, which are computed on first use from a
// slow definition of the function. Evaluation takes a few nanoseconds, whatever the function. Knows no particular
// function. Half a kilobyte of code serves them all; coefficients in the library would take more.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "core/kernels/cpu/math/piecewise_kernels.h"

namespace undertow::core::special {

class Piecewise {
 public:
  // In extended precision, so that the errors of its values disappear in the interpolation's.
  using Function = long double (*)(long double x);
  // How [from, to) is divided: each power of two of x + shift into 2^bits cells. Without a shift cells are proportional
  // to x; a shift of at least `to` makes them equally long. `from` and `to` are bounds of cells.
  struct Cells {
    double from, to, shift;
    int bits;
  };
  // zeros: divide by the distance from a simple zero in a cell, so that relative errors are small beside it. For
  // definitions whose own are.
  enum class Zeros : bool { Keep, DivideOut };

  Piecewise(Function definition, Cells cells, Zeros zeros = Zeros::Keep);
  Piecewise(const Piecewise&) = delete;
  Piecewise& operator=(const Piecewise&) = delete;

  // The same for n elements, apart from rounding: values[i] may differ from (*this)(x[i]) in the last place. The arrays
  // do not overlap.
  enum class For : bool { Float, Double };  // what values are rounded to later
  void values(const double* x, double* values, int64_t n, For result) const;
  // The definition itself is called outside [from, to), and for NaN.
  double operator()(double x) const {
    const uint64_t number = (std::bit_cast<uint64_t>(x + table_.shift) >> table_.drop) - table_.first;
    if (number >= table_.count) return static_cast<double>(definition_(x));
    const PiecewiseCell& c = cells_[number];
    const double* p = c.coefficients;
    const double t = x - c.centre, s = t * t;
    const double even = p[0] + s * (p[2] + s * (p[4] + s * (p[6] + s * (p[8] + s * p[10]))));
    const double odd = p[1] + s * (p[3] + s * (p[5] + s * (p[7] + s * (p[9] + s * p[11]))));
    return (even + t * odd) * ((c.with_zero * x - c.zero) - c.zero_rest);
  }

 private:
  static constexpr int kTerms = 12;
  PiecewiseCell make_cell(double low, double high, Zeros zeros) const;

  Function definition_;
  PiecewiseTable table_;
  std::vector<PiecewiseCell> cells_;
};

}  // namespace undertow::core::special
