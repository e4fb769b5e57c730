// piecewise.h: a function of one variable as polynomials on small intervals, which are computed on first use from a
// slow definition of the function. Evaluation takes a few nanoseconds, whatever the function. Knows no particular
// function. Half a kilobyte of code serves them all; coefficients in the library would take more.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

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

  bool covers(double x) const { return cell_number(x) < count_; }
  // The definition itself is called outside [from, to), and for NaN.
  double operator()(double x) const {
    const uint64_t number = cell_number(x);
    if (number >= count_) return static_cast<double>(definition_(x));
    const Cell& c = cells_[number];
    const double* p = c.coefficients;
    const double t = x - c.centre, s = t * t;
    const double even = p[0] + s * (p[2] + s * (p[4] + s * (p[6] + s * (p[8] + s * p[10]))));
    const double odd = p[1] + s * (p[3] + s * (p[5] + s * (p[7] + s * (p[9] + s * p[11]))));
    return (even + t * odd) * ((c.with_zero * x - c.zero) - c.zero_rest);
  }

 private:
  static constexpr int kTerms = 12;
  struct alignas(64) Cell {
    double centre;
    double with_zero, zero, zero_rest;  // the factor x - (zero + zero_rest), or 0 x - (-1 + 0)
    double coefficients[kTerms];
  };

  uint64_t cell_number(double x) const { return (std::bit_cast<uint64_t>(x + shift_) >> drop_) - first_; }
  Cell make_cell(double low, double high, Zeros zeros) const;

  Function definition_;
  double shift_;
  int drop_;  // bits of a double below those that select a cell
  uint64_t first_, count_;
  std::vector<Cell> cells_;
};

}  // namespace undertow::core::special
