// gemm_batched.cpp: many products at once: small products are distributed over threads; large ones are each divided
// among all threads. Knows only gemm's interface.
#include <algorithm>
#include <complex>

#include "core/base/parallel.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace undertow::core::cpu {
namespace {

// A product above this has enough work for all threads by itself.
constexpr int64_t kLargeWork = 256 * 256 * 256;
// Multiply-adds that justify a chunk: a few microseconds.
constexpr int64_t kChunkWork = 1 << 18;

template <class T, class Scalar, class One>
void run(One one, int64_t batch, int64_t m, int64_t n, int64_t k, Scalar alpha, const T* a, int64_t a_bs, int64_t a_rs,
         int64_t a_cs, const T* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, Scalar beta, T* c, int64_t c_bs,
         int64_t c_rs, int64_t c_cs) {
  if (batch <= 0 || m <= 0 || n <= 0) return;
  // If B is shared and the rows continue from matrix to matrix, this is one tall product.
  if (b_bs == 0 && a_bs == m * a_rs && c_bs == m * c_rs) {
    return one(batch * m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs);
  }
  auto products = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      one(m, n, k, alpha, a + i * a_bs, a_rs, a_cs, b + i * b_bs, b_rs, b_cs, beta, c + i * c_bs, c_rs, c_cs);
    }
  };
  int64_t work = m * n * std::max<int64_t>(k, 1);
  if (work >= kLargeWork) return products(0, batch);
  parallel_for(0, batch, std::max<int64_t>(1, kChunkWork / work), products);
}

}  // namespace

template <class T>
void bgemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_bs, int64_t a_rs,
           int64_t a_cs, const T* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, T beta, T* c, int64_t c_bs, int64_t c_rs,
           int64_t c_cs) {
  run<T, T>(gemm<T>, batch, m, n, k, alpha, a, a_bs, a_rs, a_cs, b, b_bs, b_rs, b_cs, beta, c, c_bs, c_rs, c_cs);
}

void bgemm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_bs,
                int64_t a_rs, int64_t a_cs, const uint16_t* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, float beta,
                uint16_t* c, int64_t c_bs, int64_t c_rs, int64_t c_cs) {
  run(gemm_bf16, batch, m, n, k, alpha, a, a_bs, a_rs, a_cs, b, b_bs, b_rs, b_cs, beta, c, c_bs, c_rs, c_cs);
}

void bgemm_f16(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_bs,
               int64_t a_rs, int64_t a_cs, const uint16_t* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, float beta,
               uint16_t* c, int64_t c_bs, int64_t c_rs, int64_t c_cs) {
  run(gemm_f16, batch, m, n, k, alpha, a, a_bs, a_rs, a_cs, b, b_bs, b_rs, b_cs, beta, c, c_bs, c_rs, c_cs);
}

#define UNDERTOW_INSTANTIATE_BGEMM(T)                                                                          \
  template void bgemm<T>(int64_t, int64_t, int64_t, int64_t, T, const T*, int64_t, int64_t, int64_t, const T*, \
                         int64_t, int64_t, int64_t, T, T*, int64_t, int64_t, int64_t);
UNDERTOW_INSTANTIATE_BGEMM(float)
UNDERTOW_INSTANTIATE_BGEMM(double)
UNDERTOW_INSTANTIATE_BGEMM(std::complex<float>)
UNDERTOW_INSTANTIATE_BGEMM(std::complex<double>)
UNDERTOW_INSTANTIATE_BGEMM(int8_t)
UNDERTOW_INSTANTIATE_BGEMM(uint8_t)
UNDERTOW_INSTANTIATE_BGEMM(int16_t)
UNDERTOW_INSTANTIATE_BGEMM(int32_t)
UNDERTOW_INSTANTIATE_BGEMM(int64_t)
#undef UNDERTOW_INSTANTIATE_BGEMM

}  // namespace undertow::core::cpu
