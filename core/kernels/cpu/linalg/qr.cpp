// qr.cpp: Householder QR and products with its Q, in blocks of reflections (I - V T V^H), which are matrix products.
// build: small
#include "core/base/parallel.h"
#include "core/kernels/cpu/linalg/reflections.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

struct BlockWork;

constexpr int64_t kBlock = 32;      // reflections applied together
constexpr int64_t kUnblocked = 24;  // below this size, plain reflections
constexpr int64_t kChunkNumbers = 1 << 15;

// A block of k <= kBlock reflections of length m: V with explicit zeros and ones, V^H, and T.
template <class T>
struct Block {
  int64_t m, k;
  // v: m by k; v_adjoint: V^H, k by m, column-major, complex numbers only; t: k by k; work: 2 k by columns.
  T *v, *v_adjoint, *t, *work;

  static int64_t room(int64_t m, int64_t columns) {
    return 2 * m * kBlock + kBlock * kBlock * 2 + 2 * kBlock * columns;
  }

  Block(int64_t rows, int64_t count, const T* from, int64_t ld, const T* tau, T* memory)
      : m(rows),
        k(count),
        v(memory),
        v_adjoint(v + m * kBlock),
        t(v_adjoint + m * kBlock),
        work(t + 2 * kBlock * kBlock) {
    for (int64_t j = 0; j < k; j++) {
      std::fill(v + j * m, v + j * m + j, T(0));
      v[j + j * m] = T(1);
      std::copy(from + j + 1 + j * ld, from + m + j * ld, v + j + 1 + j * m);
    }
    if constexpr (!std::is_floating_point_v<T>)
      for (int64_t i = 0; i < m * k; i++) v_adjoint[i] = std::conj(v[i]);
    else
      v_adjoint = v;
    // T = [T' -T' (V'^H v) tau; 0 tau], column by column.
    T* gram = t + kBlock * kBlock;
    gemm<T>(k, k, m, T(1), v_adjoint, m, 1, v, 1, m, T(0), gram, 1, k);
    for (int64_t j = 0; j < k; j++) {
      for (int64_t i = 0; i < k; i++) t[i + j * k] = T(0);
      t[j + j * k] = tau[j];
      for (int64_t p = 0; p < j; p++) {
        T f = -tau[j] * gram[p + j * k];
        for (int64_t i = 0; i <= p; i++) t[i + j * k] += t[i + p * k] * f;
      }
    }
  }

  // c = (I - V T V^H) c, or with T^H if adjoint.
  void apply(bool adjoint, int64_t columns, T* c, int64_t ld) {
    if (columns <= 0) return;
    T *first = work, *second = work + kBlock * columns;
    gemm<T>(k, columns, m, T(1), v_adjoint, m, 1, c, 1, ld, T(0), first, 1, k);
    if (adjoint) {
      T* flipped = t + kBlock * kBlock;
      for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < k; i++) flipped[i + j * k] = conj_of(t[j + i * k]);
      gemm<T>(k, columns, k, T(1), flipped, 1, k, first, 1, k, T(0), second, 1, k);
    } else {
      gemm<T>(k, columns, k, T(1), t, 1, k, first, 1, k, T(0), second, 1, k);
    }
    gemm<T>(m, columns, k, T(-1), v, 1, m, second, 1, k, T(1), c, 1, ld);
  }
};

template <class T>
void factor_columns(int64_t m, int64_t n, T* a, int64_t ld, T* tau) {
  for (int64_t i = 0; i < std::min(m, n); i++) {
    T* x = a + i + i * ld;
    tau[i] = reflection(m - i, x);
    reflect_left(m - i, n - i - 1, x, conj_of(tau[i]), x + ld, ld);
  }
}

}  // namespace

template <class T>
void dots_shared(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y) {
  const int64_t grain = std::max<int64_t>(4, kChunkNumbers / std::max<int64_t>(1, m) / 4 * 4);
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    dense_kernels<T>().dots(m, end - begin, a + begin * ld, ld, x, y + begin);
  });
}

template <class T>
void combine_shared(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y) {
  const int64_t grain = std::max<int64_t>(64, kChunkNumbers / std::max<int64_t>(1, n) / 64 * 64);
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    dense_kernels<T>().combine(end - begin, n, a + begin, ld, x, y + begin);
  });
}

template <class T>
void apply_reflections(Application how, int64_t m, int64_t columns, int64_t k, const T* v, int64_t ldv, const T* tau,
                       T* c, int64_t ldc) {
  T* memory = Scratch<BlockWork>::get<T>(Block<T>::room(m, columns));
  if (k <= kUnblocked) {
    for (int64_t step = 0; step < k; step++) {
      int64_t i = how.adjoint ? step : k - 1 - step, skipped = how.skip_zeros ? i : 0;
      memory[0] = T(1);
      std::copy_n(v + i * (ldv + 1) + 1, m - i - 1, memory + 1);
      dense_kernels<T>().reflect(m - i, columns - skipped, memory, how.adjoint ? conj_of(tau[i]) : tau[i],
                                 c + i + skipped * ldc, ldc);
    }
    return;
  }
  int64_t blocks = (k + kBlock - 1) / kBlock;
  for (int64_t b = 0; b < blocks; b++) {
    int64_t i = (how.adjoint ? b : blocks - 1 - b) * kBlock, skipped = how.skip_zeros ? i : 0;
    Block<T> block(m - i, std::min(kBlock, k - i), v + i * (ldv + 1), ldv, tau + i, memory);
    block.apply(how.adjoint, columns - skipped, c + i + skipped * ldc, ldc);
  }
}

template <class T>
void qr_factor(int64_t m, int64_t n, T* a, int64_t ld, T* tau) {
  int64_t k = std::min(m, n);
  if (k <= kUnblocked) return factor_columns(m, n, a, ld, tau);
  T* memory = Scratch<BlockWork>::get<T>(Block<T>::room(m, n));
  for (int64_t i = 0; i < k; i += kBlock) {
    int64_t width = std::min(kBlock, k - i);
    T* panel = a + i * (ld + 1);
    factor_columns(m - i, width, panel, ld, tau + i);
    if (i + width < n)
      Block<T>(m - i, width, panel, ld, tau + i, memory).apply(true, n - i - width, panel + width * ld, ld);
  }
}

template <class T>
void form_q(int64_t m, int64_t columns, int64_t k, T* q, int64_t ld, const T* tau) {
  for (int64_t j = k; j < columns; j++) {
    std::fill(q + j * ld, q + j * ld + m, T(0));
    q[j + j * ld] = T(1);
  }
  if (k > kUnblocked) {
    std::vector<T> v(static_cast<size_t>(m * k));
    for (int64_t j = 0; j < k; j++) {
      std::copy_n(q + j * ld, m, v.data() + j * m);
      std::fill(q + j * ld, q + j * ld + m, T(0));
      q[j + j * ld] = T(1);
    }
    return apply_reflections<T>({.adjoint = false, .skip_zeros = true}, m, columns, k, v.data(), m, tau, q, ld);
  }
  for (int64_t i = k - 1; i >= 0; i--) {
    T* v = q + i + i * ld;
    reflect_left(m - i, columns - i - 1, v, tau[i], v + ld, ld);
    for (int64_t r = 1; r < m - i; r++) v[r] *= -tau[i];
    v[0] = T(1) - tau[i];
    std::fill(q + i * ld, v, T(0));
  }
}

#define UT_DENSE_QR(T)                                                                                        \
  template void dots_shared<T>(int64_t, int64_t, const T*, int64_t, const T*, T*);                            \
  template void combine_shared<T>(int64_t, int64_t, const T*, int64_t, const T*, T*);                         \
  template void apply_reflections<T>(Application, int64_t, int64_t, int64_t, const T*, int64_t, const T*, T*, \
                                     int64_t);                                                                \
  template void qr_factor<T>(int64_t, int64_t, T*, int64_t, T*);                                              \
  template void form_q<T>(int64_t, int64_t, int64_t, T*, int64_t, const T*);
UT_DENSE_QR(float)
UT_DENSE_QR(double)
UT_DENSE_QR(std::complex<float>)
UT_DENSE_QR(std::complex<double>)
#undef UT_DENSE_QR

}  // namespace undertow::core::cpu
