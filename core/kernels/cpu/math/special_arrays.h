// special_arrays.h: special functions of blocks of doubles: a table of polynomials (piecewise.h) between two vectorised
// loops, which are compiled once per instruction set.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::special {

class Piecewise;

// The tables, computed on first use. Each function of |x| or x in special_math.h is its table times a simple factor.
const Piecewise& lgamma_table();  // lgamma(x) / ((x - 1) (x - 2))
const Piecewise& digamma_table();
const Piecewise& i0e_table();
const Piecewise& i1e_table();  // i1e(x) / x

inline constexpr int64_t kSpecialBlock = 256, kSpecialStep = 8;

}  // namespace undertow::core::special

namespace undertow::core::cpu {

// The loops before and after the tables, for at most kSpecialBlock elements, a multiple of kSpecialStep.
struct SpecialLoops {
  void (*magnitudes)(const double* x, double* a, int64_t n);
  // y = log|Gamma(x)| from the table's values at |x|.
  void (*lgamma)(const double* x, const double* values, double* y, int64_t n);
  // b: where digamma's table is read for x. Returns whether any x is a pole, for which y is arbitrary.
  bool (*digamma_arguments)(const double* x, double* b, int64_t n);
  void (*digamma)(const double* x, const double* values, double* y, int64_t n);
  void (*times)(const double* x, const double* values, double* y, int64_t n);
  void (*times_exp)(const double* x, const double* values, double* y, int64_t n);        // e^|x| values
  void (*times_x_and_exp)(const double* x, const double* values, double* y, int64_t n);  // x e^|x| values
  void (*widen)(const float* x, double* y, int64_t n);
  void (*narrow)(const double* x, float* y, int64_t n);
};
UNDERTOW_FOR_EACH_ISA(const SpecialLoops& special_loops();)

}  // namespace undertow::core::cpu
