// gemm.h: matrix products on raw strided pointers, for every element type.
// Knows shapes and strides only; nothing of tensors, dtypes or broadcasting rules.
#pragma once

#include <complex>
#include <cstdint>

namespace undertow::cpu {

// C = alpha * A B + beta * C, where C is m by n, A is m by k, B is k by n. Each has a row stride and a column
// stride in elements, of any size and sign, so a transpose is a swap of strides; C must not overlap A or B.
// With beta == 0, C is not read, and NaN there is ignored; with k == 0 or alpha == 0, C is scaled by beta. T:
// float, double, std::complex of both, int8_t to int64_t, uint8_t (integers wrap around). Bitwise the same
// result with any number of threads.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_rs, int64_t a_cs, const T* b, int64_t b_rs,
          int64_t b_cs, T beta, T* c, int64_t c_rs, int64_t c_cs);

template <>
void gemm<std::complex<float>>(int64_t m, int64_t n, int64_t k, std::complex<float> alpha, const std::complex<float>* a,
                               int64_t a_rs, int64_t a_cs, const std::complex<float>* b, int64_t b_rs, int64_t b_cs,
                               std::complex<float> beta, std::complex<float>* c, int64_t c_rs, int64_t c_cs);
template <>
void gemm<std::complex<double>>(int64_t m, int64_t n, int64_t k, std::complex<double> alpha,
                                const std::complex<double>* a, int64_t a_rs, int64_t a_cs,
                                const std::complex<double>* b, int64_t b_rs, int64_t b_cs, std::complex<double> beta,
                                std::complex<double>* c, int64_t c_rs, int64_t c_cs);

// C = alpha * A B + beta * D for a D of C's shape, with strides of its own (0 for a row or column that repeats): as if
// D were copied to C first, but by the thread that then adds to it. False, and nothing done, where that has no
// advantage. T: float, double.
template <class T>
bool gemm_onto(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_rs, int64_t a_cs, const T* b,
               int64_t b_rs, int64_t b_cs, T beta, const T* d, int64_t d_rs, int64_t d_cs, T* c, int64_t c_rs,
               int64_t c_cs);

// gemm on the bits of bfloat16 and float16: sums in float, rounds once at the end.
void gemm_bf16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
               const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs);
void gemm_f16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
              const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs);

// `batch` products, the matrices of one `_bs` elements after those of the one before. A stride of 0 repeats a
// or b.
template <class T>
void bgemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_bs, int64_t a_rs,
           int64_t a_cs, const T* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, T beta, T* c, int64_t c_bs, int64_t c_rs,
           int64_t c_cs);
void bgemm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_bs,
                int64_t a_rs, int64_t a_cs, const uint16_t* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, float beta,
                uint16_t* c, int64_t c_bs, int64_t c_rs, int64_t c_cs);
void bgemm_f16(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_bs,
               int64_t a_rs, int64_t a_cs, const uint16_t* b, int64_t b_bs, int64_t b_rs, int64_t b_cs, float beta,
               uint16_t* c, int64_t c_bs, int64_t c_rs, int64_t c_cs);

}  // namespace undertow::cpu
