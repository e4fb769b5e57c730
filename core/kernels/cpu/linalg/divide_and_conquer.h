// divide_and_conquer.h: eigenvalues of real tridiagonal and singular values of real bidiagonal matrices, the output of
// the reductions in eigh.cpp and svd.cpp. Diagonals are double, whatever the type of the vectors.
#pragma once
#include <cstdint>

namespace undertow::core::cpu {

// Matrices up to this size are diagonalised by rotations; larger ones are divided in half.
inline constexpr int64_t kConquerLeaf = 28;

// The tridiagonal matrix with diagonal d and off-diagonal e[0 .. n-2]: d becomes the eigenvalues, ascending, and q, n
// by n, the eigenvectors; e is overwritten. R is float or double. Returns false if an eigenvalue did not converge.
template <class R>
bool tridiagonal_vectors(int64_t n, double* d, double* e, R* q, int64_t ld);
// d becomes the eigenvalues, unsorted.
bool tridiagonal_values(int64_t n, double* d, double* e);

// The upper bidiagonal matrix with diagonal d and superdiagonal e[0 .. n-2] = U diag(d) V^T: d becomes the singular
// values, ascending. u and v are n by n.
template <class R>
bool bidiagonal_vectors(int64_t n, double* d, double* e, R* u, int64_t ldu, R* v, int64_t ldv);
// d becomes the singular values, unsorted.
bool bidiagonal_values(int64_t n, double* d, double* e);

// --- Shared by both algorithms

// Kinds of columns of a block-diagonal matrix with two blocks.
enum ColumnKind : uint8_t { kTop = 0, kMixed = 1, kBottom = 2 };

// Deflates a merge: of n poles in d and z, in the ascending `order`, those in `active` (ascending) enter the secular
// equation, and those in `deflated` have converged. Neighbours that are too close are rotated so that one of them is
// deflated: rotate(i, j, c, s) must apply the rotation to columns, x_i' = c x_i - s x_j, x_j' = s x_i + c x_j. Returns
// how many are active.
template <class Rotate>
int64_t deflate(int64_t count, const int64_t* order, double* d, double* z, ColumnKind* kind, double weight,
                double tolerance, int64_t* active, int64_t* deflated, Rotate&& rotate);

}  // namespace undertow::core::cpu

#include <cmath>

namespace undertow::core::cpu {

template <class Rotate>
int64_t deflate(int64_t count, const int64_t* order, double* d, double* z, ColumnKind* kind, double weight,
                double tolerance, int64_t* active, int64_t* deflated, Rotate&& rotate) {
  int64_t num_active = 0, num_deflated = 0, before = -1;
  for (int64_t p = 0; p < count; p++) {
    int64_t i = order[p];
    if (weight * std::abs(z[i]) <= tolerance) {
      deflated[num_deflated++] = i;
      continue;
    }
    if (before >= 0) {
      double size = std::hypot(z[i], z[before]), c = z[i] / size, s = z[before] / size, gap = d[i] - d[before];
      if (std::abs(gap * c * s) <= tolerance) {
        z[i] = size;
        z[before] = 0;
        rotate(before, i, c, s);
        double low = d[before] * c * c + d[i] * s * s;
        d[i] = d[before] * s * s + d[i] * c * c;
        d[before] = low;
        if (kind[before] != kind[i]) kind[before] = kind[i] = kMixed;
        deflated[num_deflated++] = before;
      } else {
        active[num_active++] = before;
      }
    }
    before = i;
  }
  if (before >= 0) active[num_active++] = before;
  return num_active;
}

}  // namespace undertow::core::cpu
