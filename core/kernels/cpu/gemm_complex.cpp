// gemm_complex.cpp: products of complex matrices, as four real products on their real and imaginary parts.
// Built on gemm of the real type: a part of a complex matrix is a real matrix with twice the strides.
#include <algorithm>
#include <complex>

#include "core/base/parallel.h"
#include "core/kernels/cpu/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::cpu {
namespace {

struct Parts;

// Below this the four calls cost more than plain loops.
constexpr int64_t kLoopWork = 6 * 6 * 6;
constexpr int64_t kCombineGrain = 1 << 14;

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
  R* re = Scratch<Parts>::get<R>(2 * m * n);
  R* im = re + m * n;
  const R* a_re = reinterpret_cast<const R*>(a);
  const R* b_re = reinterpret_cast<const R*>(b);
  auto real_product = [&](R sign, const R* left, const R* right, R keep, R* out) {
    gemm<R>(m, n, k, sign, left, 2 * a_rs, 2 * a_cs, right, 2 * b_rs, 2 * b_cs, keep, out, n, 1);
  };
  real_product(R(1), a_re, b_re, R(0), re);
  real_product(R(-1), a_re + 1, b_re + 1, R(1), re);
  real_product(R(1), a_re, b_re + 1, R(0), im);
  real_product(R(1), a_re + 1, b_re, R(1), im);
  parallel_for(0, m, std::max<int64_t>(1, kCombineGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j)
        write(c[i * c_rs + j * c_cs], re[i * n + j], im[i * n + j], alpha, beta);
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
