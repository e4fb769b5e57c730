// gemm_complex.cpp: products of complex matrices, each as one real product. Built on gemm of the real type.
//
// Note [Complex As Real]
// A row (x, y, ...) of complex A lies in memory as the real row (Re x, Im x, Re y, Im y, ...). So A is a real matrix of 2k
// columns as it is, and C one of 2n columns, if their rows are contiguous. For the product to be that of complex numbers,
// row p of B becomes two real rows: B's own (Re, Im, ...), to meet Re x, and i times it, (-Im, Re, ...), to meet Im x.
#include <algorithm>
#include <complex>

#include "core/base/parallel.h"
#include "core/kernels/cpu/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::cpu {
namespace {

struct LeftRows;
struct BothRows;
struct Sums;

// Below this the copies cost more than plain loops.
constexpr int64_t kLoopWork = 6 * 6 * 6;
constexpr int64_t kMoveGrain = 1 << 13;

// C = alpha * sum + beta * C for one element, spelled out: operator* of std::complex calls a library function
// that looks for infinities.
template <class R>
void write(std::complex<R>& c, R re, R im, std::complex<R> alpha, std::complex<R> beta) {
  R out_re = alpha.real() * re - alpha.imag() * im;
  R out_im = alpha.real() * im + alpha.imag() * re;
  if (beta != std::complex<R>{}) {
    out_re += beta.real() * c.real() - beta.imag() * c.imag();
    out_im += beta.real() * c.imag() + beta.imag() * c.real();
  }
  c = {out_re, out_im};
}

template <class Purpose, class R>
const std::complex<R>* row_by_row(int64_t rows, int64_t cols, const std::complex<R>* a, int64_t rs, int64_t cs) {
  std::complex<R>* copy = Scratch<Purpose>::template get<std::complex<R>>(rows * cols);
  parallel_for(0, rows, std::max<int64_t>(1, kMoveGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t p = 0; p < cols; ++p) {
      for (int64_t i = begin; i < end; ++i) copy[i * cols + p] = a[i * rs + p * cs];
    }
  });
  return copy;
}

template <class R>
void run(int64_t m, int64_t n, int64_t k, std::complex<R> alpha, const std::complex<R>* a, int64_t a_rs,
         int64_t a_cs, const std::complex<R>* b, int64_t b_rs, int64_t b_cs, std::complex<R> beta,
         std::complex<R>* c, int64_t c_rs, int64_t c_cs) {
  if (m <= 0 || n <= 0) return;
  if (alpha == std::complex<R>{}) k = 0;
  if (m * n * k <= kLoopWork) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        R re = 0, im = 0;
        for (int64_t p = 0; p < k; ++p) {
          std::complex<R> x = a[i * a_rs + p * a_cs], y = b[p * b_rs + j * b_cs];
          re += x.real() * y.real() - x.imag() * y.imag();
          im += x.real() * y.imag() + x.imag() * y.real();
        }
        write(c[i * c_rs + j * c_cs], re, im, alpha, beta);
      }
    }
    return;
  }
  // B is built anew, and so had better be the smaller one: C^T = B^T A^T.
  if (n > m && c_cs != 1) return run(n, m, k, alpha, b, b_cs, b_rs, a, a_cs, a_rs, beta, c, c_cs, c_rs);
  if (a_cs != 1 && k > 1) {
    a = row_by_row<LeftRows>(m, k, a, a_rs, a_cs);
    a_rs = k;
  }
  R* right = Scratch<BothRows>::get<R>(4 * k * n);
  parallel_for(0, k, std::max<int64_t>(1, kMoveGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const std::complex<R>* from = b + p * b_rs;
      R *own = right + 4 * p * n, *turned = own + 2 * n;
      for (int64_t j = 0; j < n; ++j) {
        R re = from[j * b_cs].real(), im = from[j * b_cs].imag();
        own[2 * j] = re;
        own[2 * j + 1] = im;
        turned[2 * j] = -im;
        turned[2 * j + 1] = re;
      }
    }
  });
  const R* left = reinterpret_cast<const R*>(a);
  if (c_cs == 1 && alpha.imag() == 0 && beta.imag() == 0) {
    return gemm<R>(m, 2 * n, 2 * k, alpha.real(), left, 2 * a_rs, 1, right, 2 * n, 1, beta.real(), reinterpret_cast<R*>(c), 2 * c_rs, 1);
  }
  R* sums = Scratch<Sums>::get<R>(2 * m * n);
  gemm<R>(m, 2 * n, 2 * k, R(1), left, 2 * a_rs, 1, right, 2 * n, 1, R(0), sums, 2 * n, 1);
  parallel_for(0, m, std::max<int64_t>(1, kMoveGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) write(c[i * c_rs + j * c_cs], sums[2 * (i * n + j)], sums[2 * (i * n + j) + 1], alpha, beta);
    }
  });
}

}  // namespace

template <>
void gemm<std::complex<float>>(int64_t m, int64_t n, int64_t k, std::complex<float> alpha,
                               const std::complex<float>* a, int64_t a_rs, int64_t a_cs,
                               const std::complex<float>* b, int64_t b_rs, int64_t b_cs,
                               std::complex<float> beta, std::complex<float>* c, int64_t c_rs, int64_t c_cs) {
  run<float>(m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs);
}

template <>
void gemm<std::complex<double>>(int64_t m, int64_t n, int64_t k, std::complex<double> alpha,
                                const std::complex<double>* a, int64_t a_rs, int64_t a_cs,
                                const std::complex<double>* b, int64_t b_rs, int64_t b_cs,
                                std::complex<double> beta, std::complex<double>* c, int64_t c_rs,
                                int64_t c_cs) {
  run<double>(m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs);
}

}  // namespace undertow::cpu
