// gemm_tile.h: a kernel's tile of C, and the general way to write one.
// For *.isa.cpp files only. See Note [One Namespace Per Instruction Set].
#pragma once

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

template <class T>
struct Tile {
  int64_t k, cols;
  const T* a;
  int64_t a_rs, a_cs;
  const T* b;
  int64_t b_rs;
  T alpha, beta;
  T* c;
  int64_t c_rs, c_cs;
  bool padded = false;  // b has whole vectors, whatever the value of cols
};

// Writes a tile of a column-major C: squares of lanes, transposed in registers.
template <class T>
void write_columns(const Tile<T>& t, int64_t rows, const T* sums, int64_t width) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t i = 0; i < rows; i += kL) {
    Partial<T> part(min64(kL, rows - i));
    for (int64_t j = 0; j < t.cols; j += kL) {
      Vec<T> square[kL];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kL; ++r) square[r] = load(sums + min64(i + r, rows - 1) * width + j);
      transpose<T>(square);
      T* c = t.c + i + j * t.c_cs;
#pragma GCC unroll 16
      for (int64_t r = 0; r < kL; ++r) {
        if (j + r >= t.cols) break;
        Vec<T> value = square[r] * t.alpha;
        if (t.beta != T{}) value += part.load(c + r * t.c_cs) * t.beta;
        part.store(c + r * t.c_cs, value);
      }
    }
  }
}

// Writes a tile that does not fill its vectors, or has no unit column stride: `sums` holds it, `width` elements per
// row. Not inlined: it is the rare case of every tile instance.
template <class T>
__attribute__((noinline)) void write_from_memory(const Tile<T>& t, int64_t rows, const T* sums, int64_t width) {
  constexpr int64_t kL = kLanes<T>;
  if constexpr (sizeof(T) >= 4) {  // whole vectors of sums are read, so rows must be padded to them
    if (t.c_rs == 1 && t.c_cs != 1 && rows > 4 && width % kL == 0) return write_columns(t, rows, sums, width);
  }
  for (int64_t i = 0; i < rows; ++i, sums += width) {
    T* c = t.c + i * t.c_rs;
    int64_t j = 0;
    if (t.c_cs == 1 && t.cols > 4) {  // a vector load of a few elements just stored would wait for their stores
      for (; j < t.cols; j += kL) {
        Partial<T> part(min64(kL, t.cols - j));
        Vec<T> value = load(sums + j) * t.alpha;
        if (t.beta != T{}) value += part.load(c + j) * t.beta;
        part.store(c + j, value);
      }
    }
    for (; j < t.cols; ++j) {
      T value = static_cast<T>(1u * t.alpha * sums[j]);  // 1u: small integers must not become int
      c[j * t.c_cs] = t.beta == T{} ? value : static_cast<T>(value + 1u * t.beta * c[j * t.c_cs]);
    }
  }
}

}  // namespace
}  // namespace undertow::core::cpu
