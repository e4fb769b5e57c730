// piecewise_kernels.h: the coefficients of piecewise.h, and their evaluation for arrays, compiled once per instruction
// set.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::special {

// Two cache lines: vector loads read a cell as 16 doubles, in this order.
struct alignas(64) PiecewiseCell {
  double centre;
  double with_zero, zero, zero_rest;  // the factor x - (zero + zero_rest), or 0 x - (-1 + 0)
  double coefficients[12];
};

struct PiecewiseTable {
  const PiecewiseCell* cells;
  double shift;
  int drop;  // bits of a double below those that select a cell
  uint64_t first, count;
};

}  // namespace undertow::core::special

namespace undertow::core::cpu {

// With all coefficients, and with the eight that matter for a float: the others contribute less than 1e-9 of the value.
// They return whether any x is outside the table; its value is then arbitrary. Null if the instruction set has none.
struct PiecewiseKernels {
  using Evaluate = bool (*)(const special::PiecewiseTable& table, const double* x, double* values, int64_t n);
  Evaluate for_double = nullptr, for_float = nullptr;
};
UNDERTOW_FOR_EACH_ISA(PiecewiseKernels evaluate_piecewise();)

}  // namespace undertow::core::cpu
