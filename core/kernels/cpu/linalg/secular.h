// secular.h: eigenvalues and eigenvectors of a diagonal matrix with a rank-one update, the core of divide and conquer.
// In double throughout, also for float: it is a small part of the work, and one solver then serves all.
#pragma once
#include <cstdint>
#include <vector>

namespace undertow::core::cpu {

// D + rho z z^T with rho > 0 and D = diag(poles) ascending and distinct. With `squares`, D^2 + z z^T for poles[0] = 0
// and the rest positive (rho is 1 then): the squares of the singular values of a matrix with first row z and diagonal
// D.
struct Secular {
  int64_t k;
  const double *poles, *z;
  double rho;
  bool squares;
};
// The k roots (singular values if `squares`), ascending; gaps[i + j * k] becomes pole i minus root j, or the difference
// of their squares, without cancellation; fitted becomes the z for which the roots are exact (Gu and Eisenstat), so
// that vectors computed from it are orthogonal.
void solve_secular(const Secular& problem, double* roots, double* gaps, double* fitted);

}  // namespace undertow::core::cpu
