// gemm.h: matrix products on raw strided pointers, for every element type.
// Knows only shapes and strides; nothing about tensors, dtypes or broadcasting rules.
#pragma once

#include <complex>
#include <cstdint>

namespace undertow::core::cpu {

// C = alpha * A B + beta * C, where C is m by n, A is m by k, B is k by n. Each has a row stride and a column stride in
// elements, of any size and sign, so a transpose swaps the strides; C must not overlap A or B. If beta == 0, C is not
// read, and NaN there is ignored; if k == 0 or alpha == 0, C is scaled by beta. T: float, double, std::complex of both,
// int8_t to int64_t, uint8_t (integers wrap around). The result is bitwise the same for any number of threads.
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

// C = alpha * A B + beta * D for a D of C's shape with its own strides (0 for a broadcast row or column), as if D were
// copied to C first, but each thread copies the elements it then adds to. Returns false and does nothing if that has no
// advantage. T: float, double.
template <class T>
bool gemm_onto(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_rs, int64_t a_cs, const T* b,
               int64_t b_rs, int64_t b_cs, T beta, const T* d, int64_t d_rs, int64_t d_cs, T* c, int64_t c_rs,
               int64_t c_cs);

// gemm on the bits of bfloat16 and float16: sums in float and rounds once at the end.
void gemm_bf16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
               const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs);
void gemm_f16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
              const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs);

// `batch` products; consecutive matrices are `_bs` elements apart. A stride of 0 repeats a or b.
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

}  // namespace undertow::core::cpu
