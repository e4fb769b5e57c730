// piecewise.cpp: see piecewise.h. Interpolates at Chebyshev nodes: the error is close to that of the best polynomial.
// build: small
#include "core/kernels/cpu/math/piecewise.h"

#include <cmath>
#include <numbers>

namespace undertow::core::cpu {
static PiecewiseKernels chosen_kernels() { return UNDERTOW_CHOOSE_ISA(evaluate_piecewise()); }
}  // namespace undertow::core::cpu

namespace undertow::core::special {

Piecewise::Piecewise(Function definition, Cells cells, Zeros zeros)
    : definition_(definition),
      table_{.cells = nullptr, .shift = cells.shift, .drop = 52 - cells.bits, .first = 0, .count = 0} {
  auto number = [&](double x) { return std::bit_cast<uint64_t>(x + table_.shift) >> table_.drop; };
  auto bound = [&](uint64_t n) { return std::bit_cast<double>(n << table_.drop) - table_.shift; };
  table_.first = number(cells.from);
  table_.count = number(cells.to) - table_.first;
  cells_.reserve(table_.count);
  for (uint64_t i = 0; i < table_.count; i++)
    cells_.push_back(make_cell(bound(table_.first + i), bound(table_.first + i + 1), zeros));
  table_.cells = cells_.data();
}

void Piecewise::values(const double* x, double* values, int64_t n, For result) const {
  static const cpu::PiecewiseKernels kernels = cpu::chosen_kernels();
  const auto evaluate = result == For::Float ? kernels.for_float : kernels.for_double;
  if (!evaluate) {
    for (int64_t i = 0; i < n; i++) values[i] = (*this)(x[i]);
    return;
  }
  if (!evaluate(table_, x, values, n)) return;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t number = (std::bit_cast<uint64_t>(x[i] + table_.shift) >> table_.drop) - table_.first;
    if (number >= table_.count) values[i] = static_cast<double>(definition_(x[i]));
  }
}

PiecewiseCell Piecewise::make_cell(double low, double high, Zeros zeros) const {
  using Wide = long double;
  PiecewiseCell c{0.5 * (low + high), 0, -1, 0, {}};
  const Wide at_low = zeros == Zeros::DivideOut ? definition_(low) : 0;
  if (at_low * definition_(high) < 0) {
    double below = low, above = high;
    for (double middle; middle = 0.5 * (below + above), middle != below && middle != above;)
      (definition_(middle) * at_low > 0 ? below : above) = middle;
    const Wide y = definition_(below), slope = (definition_(above) - y) / (above - below);
    c.with_zero = 1, c.zero = below, c.zero_rest = static_cast<double>(-y / slope);
  }
  // Newton's divided differences at the Chebyshev nodes, as they are after rounding, then powers of t = x - centre.
  Wide t[kTerms], difference[kTerms], powers[kTerms] = {};
  for (int k = 0; k < kTerms; k++) {
    const double x = c.centre + 0.5 * (high - low) * std::cos(std::numbers::pi * (k + 0.5) / kTerms);
    t[k] = static_cast<Wide>(x) - c.centre;
    difference[k] = definition_(x) / ((static_cast<Wide>(c.with_zero) * x - c.zero) - c.zero_rest);
  }
  for (int j = 1; j < kTerms; j++)
    for (int k = kTerms; k-- > j;) difference[k] = (difference[k] - difference[k - 1]) / (t[k] - t[k - j]);
  for (int k = kTerms; k-- > 0;) {
    for (int i = kTerms - 1; i > 0; i--) powers[i] = powers[i - 1] - t[k] * powers[i];
    powers[0] = difference[k] - t[k] * powers[0];
  }
  for (int i = 0; i < kTerms; i++) c.coefficients[i] = static_cast<double>(powers[i]);
  return c;
}

}  // namespace undertow::core::special
