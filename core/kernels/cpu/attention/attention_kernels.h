// attention_kernels.h: what scaled dot-product attention does to a tile of scores between its matrix products, compiled
// once per instruction set. Knows rows of float or double; no heads, no products.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

// A tile: `rows` rows of n scores, `stride` elements apart. Row i counts up to column `ends + i` (all n where that is
// more); what lies beyond becomes zero. `mask`, where not null, is added to the scores, by its own strides.
template <class T>
struct ScoreTile {
  T* scores;
  int64_t stride, rows, n, ends;
  const T* mask;
  int64_t mask_row, mask_column;
};

template <class T>
struct AttentionLoops {
  // Scores become probabilities times the row's sum of exponentials, whose reciprocal goes to `shares` and whose
  // logarithm to `lse`: what is multiplied by the probabilities has fewer columns to divide. A row of nothing but minus
  // infinity becomes zeros.
  void (*softmax)(const ScoreTile<T>& tile, T* lse, T* shares);
  // Each of `rows` rows of n contiguous elements times its own factor.
  void (*scale_rows)(T* data, int64_t stride, int64_t rows, int64_t n, const T* factors);
  // The dot products of the rows of a and b, n contiguous elements each.
  void (*row_dots)(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t rows, int64_t n, T* dots);
  // The same probabilities, from the lse that softmax wrote.
  void (*softmax_again)(const ScoreTile<T>& tile, const T* lse);
  // grad = p * (grad - delta): the gradient of the scores from that of the probabilities p, which has the same stride.
  void (*softmax_backward)(const T* p, T* grad, int64_t stride, int64_t rows, int64_t n, const T* delta);
};

UNDERTOW_FOR_EACH_ISA(const AttentionLoops<float>& attention_float(); const AttentionLoops<double>& attention_double();)

}  // namespace undertow::cpu
