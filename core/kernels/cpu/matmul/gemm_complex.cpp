// gemm_complex.cpp: products of complex matrices, each computed as one real product. Built on gemm of the real type.
//
// Note [Complex As Real]
// A row (x, y, ...) of complex A is stored as the real row (Re x, Im x, Re y, Im y, ...). So without any copy A is a
// real matrix of 2k columns, and C one of 2n columns, if their rows are contiguous. To get the complex product, row p
// of B becomes two real rows: B's own (Re, Im, ...), which is multiplied by Re x, and i times it, (-Im, Re, ...), which
// is multiplied by Im x.
#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

static_assert(std::endian::native == std::endian::little, "two_rows splits the bits of a number");

namespace undertow::core::cpu {
namespace {

struct LeftRows;
struct BothRows;
struct Sums;

// Below this, the copies cost more than plain loops.
constexpr int64_t kLoopWork = 6 * 6 * 6;
constexpr int64_t kMoveGrain = 1 << 13;
// Complex multiply-adds that justify more than one chunk; columns and minimum rows of a chunk; enough chunks for a few
// threads.
constexpr int64_t kChunkWork = 1 << 16;
constexpr int64_t kChunkCols = 32;
constexpr int64_t kMinRows = 48;
constexpr int64_t kEnoughChunks = 8;

// C = alpha * sum + beta * C for one element, written out because operator* of std::complex calls a library function
// that checks for infinities.
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

// A row of complex numbers, and i times it. Complex floats are moved as one integer each, which halves the number of
// instructions.
inline void two_rows(int64_t n, const std::complex<float>* from, int64_t step, std::complex<float>* own,
                     std::complex<float>* times_i) {
  for (int64_t j = 0; j < n; ++j) {
    uint64_t bits;
    std::memcpy(&bits, from + j * step, 8);
    uint64_t swapped = (bits << 32 | bits >> 32) ^ 0x80000000u;  // the real part, -Im, is the lower half
    std::memcpy(static_cast<void*>(own + j), &bits, 8);
    std::memcpy(static_cast<void*>(times_i + j), &swapped, 8);
  }
}
inline void two_rows(int64_t n, const std::complex<double>* from, int64_t step, std::complex<double>* own,
                     std::complex<double>* times_i) {
  for (int64_t j = 0; j < n; ++j) {
    std::complex<double> x = from[j * step];
    own[j] = x;
    times_i[j] = {-x.imag(), x.real()};
  }
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
void run(int64_t m, int64_t n, int64_t k, std::complex<R> alpha, const std::complex<R>* a, int64_t a_rs, int64_t a_cs,
         const std::complex<R>* b, int64_t b_rs, int64_t b_cs, std::complex<R> beta, std::complex<R>* c, int64_t c_rs,
         int64_t c_cs) {
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
  // B is rebuilt, so it should be the smaller operand: C^T = B^T A^T.
  if (n > m && c_cs != 1) return run(n, m, k, alpha, b, b_cs, b_rs, a, a_cs, a_rs, beta, c, c_cs, c_rs);
  if (a_cs != 1 && k > 1) {
    a = row_by_row<LeftRows>(m, k, a, a_rs, a_cs);
    a_rs = k;
  }
  // A chunk of C builds the part of the new B that it needs: see Note [Private Panels].
  int64_t cols = m * n * k < kChunkWork ? n : std::min(n, kChunkCols), across = (n + cols - 1) / cols;
  int64_t down = m * n * k < kChunkWork ? 1 : std::max<int64_t>(1, std::min(m / kMinRows, kEnoughChunks / across)),
          rows = (m + down - 1) / down;
  bool plain = c_cs == 1 && alpha.imag() == 0 && beta.imag() == 0;
  parallel_for(0, down * across, 1, [&](int64_t begin, int64_t end) {
    std::complex<R>* right = Scratch<BothRows>::get<std::complex<R>>(2 * k * cols);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t i = chunk % down * rows, j = chunk / down * cols, height = std::min(rows, m - i),
              width = std::min(cols, n - j);
      if (height <= 0) continue;
      for (int64_t p = 0; p < k; ++p) {
        const std::complex<R>* from = b + p * b_rs + j * b_cs;
        std::complex<R>*own = right + 2 * p * width, *times_i = own + width;
        if (b_cs == 1) {
          two_rows(width, from, 1, own, times_i);
        } else {
          two_rows(width, from, b_cs, own, times_i);
        }
      }
      const R *left = reinterpret_cast<const R*>(a + i * a_rs), *both = reinterpret_cast<const R*>(right);
      std::complex<R>* to = c + i * c_rs + j * c_cs;
      if (plain) {
        gemm<R>(height, 2 * width, 2 * k, alpha.real(), left, 2 * a_rs, 1, both, 2 * width, 1, beta.real(),
                reinterpret_cast<R*>(to), 2 * c_rs, 1);
        continue;
      }
      R* sums = Scratch<Sums>::get<R>(2 * height * width);
      gemm<R>(height, 2 * width, 2 * k, R(1), left, 2 * a_rs, 1, both, 2 * width, 1, R(0), sums, 2 * width, 1);
      for (int64_t r = 0; r < height; ++r) {
        for (int64_t q = 0; q < width; ++q, sums += 2) write(to[r * c_rs + q * c_cs], sums[0], sums[1], alpha, beta);
      }
    }
  });
}

}  // namespace

template <>
void gemm<std::complex<float>>(int64_t m, int64_t n, int64_t k, std::complex<float> alpha, const std::complex<float>* a,
                               int64_t a_rs, int64_t a_cs, const std::complex<float>* b, int64_t b_rs, int64_t b_cs,
                               std::complex<float> beta, std::complex<float>* c, int64_t c_rs, int64_t c_cs) {
  run<float>(m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs);
}

template <>
void gemm<std::complex<double>>(int64_t m, int64_t n, int64_t k, std::complex<double> alpha,
                                const std::complex<double>* a, int64_t a_rs, int64_t a_cs,
                                const std::complex<double>* b, int64_t b_rs, int64_t b_cs, std::complex<double> beta,
                                std::complex<double>* c, int64_t c_rs, int64_t c_cs) {
  run<double>(m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs);
}

}  // namespace undertow::core::cpu
