// divide_and_conquer.h: eigenvalues of real tridiagonal and singular values of real bidiagonal matrices: what the
// reductions of eigh.cpp and svd.cpp leave. Diagonals are double, whatever the vectors are.
#pragma once
#include <cstdint>

namespace undertow::cpu {

// Matrices up to this size are diagonalised by rotations, larger ones halved.
inline constexpr int64_t kConquerLeaf = 28;

// The tridiagonal matrix with diagonal d and e[0 .. n-2] beside it: d becomes the eigenvalues, ascending, and q, n by
// n, the vectors; e is destroyed. R is float or double. False if one did not converge.
template <class R>
bool tridiagonal_vectors(int64_t n, double* d, double* e, R* q, int64_t ld);
// d becomes the eigenvalues, in no order.
bool tridiagonal_values(int64_t n, double* d, double* e);

// The upper bidiagonal matrix with diagonal d and e[0 .. n-2] above it = U diag(d) V^T: d becomes the singular values,
// ascending. u and v are n by n.
template <class R>
bool bidiagonal_vectors(int64_t n, double* d, double* e, R* u, int64_t ldu, R* v, int64_t ldv);
// d becomes the singular values, in no order.
bool bidiagonal_values(int64_t n, double* d, double* e);

// --- shared by the two ways of conquering ---

// Kinds of columns of two blocks on a diagonal.
enum ColumnKind : uint8_t { kTop = 0, kMixed = 1, kBottom = 2 };

// What is left of a merge after deflation: of n poles in d and z, in the ascending `order`, those in `kept` (ascending)
// enter the secular equation, and those in `gone` are done. Neighbours that are too close are turned so that one of
// them leaves: turn(i, j, c, s) must do that to columns, x_i' = c x_i - s x_j, x_j' = s x_i + c x_j. Returns how many
// are kept.
template <class Turn>
int64_t deflate(int64_t count, const int64_t* order, double* d, double* z, ColumnKind* kind, double weight,
                double tolerance, int64_t* kept, int64_t* gone, Turn&& turn);

}  // namespace undertow::cpu

#include <cmath>

namespace undertow::cpu {

template <class Turn>
int64_t deflate(int64_t count, const int64_t* order, double* d, double* z, ColumnKind* kind, double weight,
                double tolerance, int64_t* kept, int64_t* gone, Turn&& turn) {
  int64_t stay = 0, leave = 0, before = -1;
  for (int64_t p = 0; p < count; p++) {
    int64_t i = order[p];
    if (weight * std::abs(z[i]) <= tolerance) {
      gone[leave++] = i;
      continue;
    }
    if (before >= 0) {
      double size = std::hypot(z[i], z[before]), c = z[i] / size, s = z[before] / size, gap = d[i] - d[before];
      if (std::abs(gap * c * s) <= tolerance) {
        z[i] = size;
        z[before] = 0;
        turn(before, i, c, s);
        double low = d[before] * c * c + d[i] * s * s;
        d[i] = d[before] * s * s + d[i] * c * c;
        d[before] = low;
        if (kind[before] != kind[i]) kind[before] = kind[i] = kMixed;
        gone[leave++] = before;
      } else {
        kept[stay++] = before;
      }
    }
    before = i;
  }
  if (before >= 0) kept[stay++] = before;
  return stay;
}

}  // namespace undertow::cpu
