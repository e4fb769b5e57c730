// factorizations.h: factorizations of one dense matrix on raw pointers: LU, Cholesky, Householder, eigenvalues,
// singular values. Matrices are column-major with a leading dimension, as in LAPACK. T is float, double or std::complex
// of both, R its real type. Knows nothing about tensors or batches. Threads work together on a large matrix, except
// within a batch that is already divided among them.
#pragma once
#include <complex>
#include <cstdint>

namespace undertow::core::cpu {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealPart<T>::type;

// a = P L U in place, with partial pivoting; row i was exchanged with row pivots[i], counted from 1. Returns the
// number, from 1, of the first zero pivot, or 0.
template <class T>
int64_t lu_factor(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots);
// How to read a triangular matrix.
struct Triangle {
  bool upper, unit;  // unit: the diagonal is not read and taken to be ones
};
// b = a^-1 b for a triangular n by n matrix. Both have any strides: a transpose swaps them.
template <class T>
void solve_triangular(Triangle shape, int64_t n, int64_t columns, const T* a, int64_t a_rs, int64_t a_cs, T* b,
                      int64_t b_rs, int64_t b_cs);
// a = a^-1 for an upper triangular matrix; the elements below the diagonal become zero.
template <class T>
void invert_upper(int64_t n, T* a, int64_t ld);
// The inverse of a matrix from the factors of lu_factor.
template <class T>
void invert_factored(int64_t n, const T* lu, int64_t ld, const int32_t* pivots, T* out, int64_t ldo);
// a = L L^H in place; only the lower triangle is read, the upper one is set to zero. Returns the number, from 1, of the
// first leading minor that is not positive, or 0.
template <class T>
int64_t cholesky(int64_t n, T* a, int64_t ld);

// a = Q R by Householder reflections I - tau v v^H: R on and above the diagonal, v below it, with an implicit leading
// one.
template <class T>
void qr_factor(int64_t m, int64_t n, T* a, int64_t ld, T* tau);
// The first `columns` columns of Q from k reflections. q has the reflectors in its first k columns, and is overwritten.
template <class T>
void form_q(int64_t m, int64_t columns, int64_t k, T* q, int64_t ld, const T* tau);

// The least-squares solution of a x = b for m >= n, in the first n rows of b; or with `adjoint` the minimum-norm
// solution of a^H x = b for b of n rows, in all m rows. a is overwritten. Returns false, with b unchanged, unless the
// singular values of a are certain to be greater than limit times the largest.
template <class T>
bool least_squares(bool adjoint, int64_t m, int64_t n, int64_t columns, T* a, int64_t ld, T* b, int64_t ldb,
                   Real<T> limit);

// The eigenvalues of a Hermitian matrix, ascending; a becomes the eigenvectors if requested, otherwise it is undefined.
// Only the lower triangle is read. Returns false if an eigenvalue did not converge.
template <class T>
bool eigh(int64_t n, T* a, int64_t ld, Real<T>* values, bool vectors);
// The eigenvalues of any square complex matrix and, unless v is null, its unit eigenvectors. a is overwritten. Returns
// false if an eigenvalue did not converge.
template <class R>
bool eig(int64_t n, std::complex<R>* a, int64_t ld, std::complex<R>* values, std::complex<R>* v, int64_t ldv);

// a = U S V^H for m >= n; S descending. u is m by u_columns (n or m), v is n by n; neither is computed if u is null. a
// is overwritten. Returns false if the rotations did not converge.
template <class T>
bool svd(int64_t m, int64_t n, T* a, int64_t ld, Real<T>* s, T* u, int64_t ldu, int64_t u_columns, T* v, int64_t ldv);

}  // namespace undertow::core::cpu
