// indefinite.cpp: symmetric and Hermitian indefinite matrices: A = L D L^T with 1x1 and 2x2 blocks in D (Bunch and
// Kaufman), in LAPACK's format of factors and pivots, and solving systems with it. Only in double precision, whatever
// the dtype: one instantiation for real and one for complex matrices. See batches.h.
// build: small
#include <cmath>
#include <complex>

#include "core/kernels/cpu/linalg/batch.h"
#include "core/kernels/cpu/linalg/batches.h"

namespace undertow::core::cpu {

namespace {

using Complex = std::complex<double>;

double size_of(double x) { return std::fabs(x); }
double larger(double x, double y) { return x >= y ? x : y; }  // y if it is NaN
double size_of(Complex x) { return std::fabs(x.real()) + std::fabs(x.imag()); }

// A column-major matrix whose lower triangle is read and written. `mirrored` is the element mirrored across the
// diagonal.
template <class T>
struct Lower {
  T* data;
  int64_t n;
  bool hermitian;

  T& operator()(int64_t i, int64_t j) const { return data[i + j * n]; }
  T mirrored(T x) const {
    if constexpr (std::is_same_v<T, Complex>)
      return hermitian ? std::conj(x) : x;
    else
      return x;
  }
  T diagonal(int64_t i) const {
    if constexpr (std::is_same_v<T, Complex>)
      return hermitian ? T((*this)(i, i).real()) : (*this)(i, i);
    else
      return (*this)(i, i);
  }
};

// The row of the largest element of column j in rows [begin, end); begin if the range is empty.
template <class T>
int64_t largest(const Lower<T>& a, int64_t j, int64_t begin, int64_t end) {
  int64_t best = begin;
  for (int64_t i = begin + 1; i < end; i++)
    if (size_of(a(i, j)) > size_of(a(best, j))) best = i;
  return best;
}

// Swaps rows and columns k and p > k of the remaining matrix from column `from` on.
template <class T>
void exchange(const Lower<T>& a, int64_t from, int64_t k, int64_t p) {
  for (int64_t i = p + 1; i < a.n; i++) std::swap(a(i, k), a(i, p));
  for (int64_t i = k + 1; i < p; i++) {
    T moved = a.mirrored(a(i, k));
    a(i, k) = a.mirrored(a(p, i));
    a(p, i) = moved;
  }
  a(p, k) = a.mirrored(a(p, k));
  std::swap(a(k, k), a(p, p));
  for (int64_t j = from; j < k; j++) std::swap(a(k, j), a(p, j));
}

// The pivot of column k: (row to exchange with, block size). The block size is 0 if the column is zero, or NaN at the
// end, as in LAPACK.
template <class T>
std::pair<int64_t, int64_t> choose(const Lower<T>& a, int64_t k) {
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  const double here = size_of(a.diagonal(k));
  if (k + 1 == a.n) return {k, here > 0 ? 1 : 0};
  const int64_t top = largest(a, k, k + 1, a.n);
  const double below = size_of(a(top, k));
  if (here == 0 && below == 0) return {k, 0};
  if (here >= alpha * below) return {k, 1};
  double row = 0;
  for (int64_t j = k; j < top; j++) row = larger(row, size_of(a(top, j)));
  if (top + 1 < a.n) row = larger(row, size_of(a(largest(a, top, top + 1, a.n), top)));
  if (here >= alpha * below * (below / row)) return {k, 1};
  if (size_of(a.diagonal(top)) >= alpha * row) return {top, 1};
  return {top, 2};
}

template <class T>
int32_t factor(const Lower<T>& a, int32_t* pivots) {
  const int64_t n = a.n;
  int32_t info = 0;
  for (int64_t k = 0; k < n;) {
    auto [p, block] = choose(a, k);
    if (block == 0) {
      if (!info) info = static_cast<int32_t>(k + 1);
      a(k, k) = a.diagonal(k);
      pivots[k] = static_cast<int32_t>(k + 1);
      k++;
      continue;
    }
    const int64_t last = k + block - 1;
    if (p != last) exchange(a, k, last, p);
    if (block == 1) {
      const T pivot = a(k, k) = a.diagonal(k);
      for (int64_t j = k + 1; j < n; j++) {
        const T scaled = a.mirrored(a(j, k)) / pivot;
        for (int64_t i = j; i < n; i++) a(i, j) -= a(i, k) * scaled;
        a(j, j) = a.diagonal(j);
      }
      for (int64_t i = k + 1; i < n; i++) a(i, k) /= pivot;
      pivots[k] = static_cast<int32_t>(p + 1);
    } else {
      const T d11 = a(k, k) = a.diagonal(k), d22 = a(k + 1, k + 1) = a.diagonal(k + 1), d21 = a(k + 1, k),
              d12 = a.mirrored(d21);
      const T r11 = d11 / d12, r22 = d22 / d21,
              scale = T(1) / (r11 * r22 - T(1));  // divided by d21 first: the determinant may overflow
      for (int64_t j = k + 2; j < n; j++) {
        const T x = a(j, k), y = a(j, k + 1);
        const T w0 = scale * (r22 * x - y) / d12, w1 = scale * (r11 * y - x) / d21;
        for (int64_t i = j; i < n; i++) a(i, j) -= a(i, k) * a.mirrored(w0) + a(i, k + 1) * a.mirrored(w1);
        a(j, j) = a.diagonal(j);
        a(j, k) = w0, a(j, k + 1) = w1;
      }
      pivots[k] = pivots[k + 1] = static_cast<int32_t>(-(p + 1));
    }
    k += block;
  }
  for (int64_t j = 1; j < n; j++)
    for (int64_t i = 0; i < j; i++) a(i, j) = T(0);
  return info;
}

template <class T>
void exchange_rows(T* b, int64_t n, int64_t columns, int64_t i, int64_t j) {
  if (i != j)
    for (int64_t c = 0; c < columns; c++) std::swap(b[i + c * n], b[j + c * n]);
}

// b = A^-1 b for columns b, from A's factors.
template <class T>
void solve(const Lower<T>& a, const int32_t* pivots, T* b, int64_t columns) {
  const int64_t n = a.n;
  auto eliminate = [&](int64_t j, int64_t from) {  // eliminates with column j of L
    for (int64_t c = 0; c < columns; c++)
      for (int64_t i = from; i < n; i++) b[i + c * n] -= a(i, j) * b[j + c * n];
  };
  auto eliminate_transposed = [&](int64_t j, int64_t from) {  // the same with L^T
    for (int64_t c = 0; c < columns; c++)
      for (int64_t i = from; i < n; i++) b[j + c * n] -= a.mirrored(a(i, j)) * b[i + c * n];
  };
  for (int64_t k = 0; k < n;) {
    if (pivots[k] > 0) {
      exchange_rows(b, n, columns, k, pivots[k] - 1);
      eliminate(k, k + 1);
      for (int64_t c = 0; c < columns; c++) b[k + c * n] /= a(k, k);
      k++;
      continue;
    }
    exchange_rows(b, n, columns, k + 1, -pivots[k] - 1);
    eliminate(k, k + 2);
    eliminate(k + 1, k + 2);
    const T d21 = a(k + 1, k), d12 = a.mirrored(d21), r11 = a(k, k) / d12, r22 = a(k + 1, k + 1) / d21,
            scale = T(1) / (r11 * r22 - T(1));
    for (int64_t c = 0; c < columns; c++) {
      const T x = b[k + c * n] / d12, y = b[k + 1 + c * n] / d21;
      b[k + c * n] = scale * (r22 * x - y);
      b[k + 1 + c * n] = scale * (r11 * y - x);
    }
    k += 2;
  }
  for (int64_t k = n - 1; k >= 0;) {
    eliminate_transposed(k, k + 1);
    if (pivots[k] > 0) {
      exchange_rows(b, n, columns, k, pivots[k] - 1);
      k--;
      continue;
    }
    if (k > 0) eliminate_transposed(k - 1, k + 1);
    exchange_rows(b, n, columns, k, -pivots[k] - 1);
    k -= 2;
  }
}

// Pivots are row numbers, or a negative row number twice for a 2x2 block.
bool are_pivots(const int32_t* p, int64_t n) {
  for (int64_t k = 0; k < n; k += p[k] > 0 ? 1 : 2)
    if (p[k] == 0 || p[k] > n || p[k] < -n || (p[k] < 0 && (k + 1 == n || p[k + 1] != p[k]))) return false;
  return true;
}

template <class F>
void of_kind(DType dtype, F&& f) {
  if (is_complex(dtype))
    f(Complex());
  else
    f(double());
}

}  // namespace

void ldl_factor(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) {
  const int64_t n = a.size(-1);
  of_kind(a.dtype(), [&]<class T>(T) {
    for_each_matrix(info.numel(), n * n * n, [&](int64_t i) {
      info.data_as<int32_t>()[i] =
          factor<T>({a.data_as<T>() + i * n * n, n, hermitian}, pivots.data_as<int32_t>() + i * n);
    });
  });
}

void ldl_solve(const Tensor& x, const Tensor& a, const Tensor& pivots, bool hermitian) {
  const int64_t n = a.size(-1), columns = x.size(-1), count = batch_count(x);
  const int32_t* p = pivots.data_as<int32_t>();
  for (int64_t i = 0; i < count; i++)
    UT_CHECK(are_pivots(p + i * n, n), "undertow.linalg.ldl_solve: pivots are not those of a factored matrix of ", n,
             " rows: expected row numbers from 1, or two equal negative ones for a 2x2 block");
  of_kind(a.dtype(), [&]<class T>(T) {
    for_each_matrix(count, n * n * columns, [&](int64_t i) {
      solve<T>({a.data_as<T>() + i * n * n, n, hermitian}, p + i * n, x.data_as<T>() + i * n * columns, columns);
    });
  });
}

}  // namespace undertow::core::cpu
