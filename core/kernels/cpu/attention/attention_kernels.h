// attention_kernels.h: the operations of scaled dot-product attention on a tile of scores between its matrix products,
// compiled once per instruction set. Knows rows of float or double; no heads, no products.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// A tile: `rows` rows of n scores, `stride` elements apart. Row i uses columns below `ends + i` (at most n); the others
// become zero. `mask`, unless null, is added to the scores, with its own strides.
template <class T>
struct ScoreTile {
  T* scores;
  int64_t stride, rows, n, ends;
  const T* mask;
  int64_t mask_row, mask_column;
};

template <class T>
struct AttentionLoops {
  // Scores become probabilities times the row's sum of exponentials. The reciprocal of that sum goes to `inverse_sums`
  // and its logarithm to `lse`: the product with the probabilities has fewer columns to divide. A row of only minus
  // infinity becomes zeros.
  void (*softmax)(const ScoreTile<T>& tile, T* lse, T* inverse_sums);
  // Multiplies each of `rows` rows of n contiguous elements by its own factor.
  void (*scale_rows)(T* data, int64_t stride, int64_t rows, int64_t n, const T* factors);
  // The dot products of the rows of a and b, n contiguous elements each.
  void (*row_dots)(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t rows, int64_t n, T* dots);
  // The same probabilities, recomputed from the lse that softmax wrote.
  void (*softmax_from_lse)(const ScoreTile<T>& tile, const T* lse);
  // grad = p * (grad - delta): the gradient of the scores from that of the probabilities p, which have the same stride.
  void (*softmax_backward)(const T* p, T* grad, int64_t stride, int64_t rows, int64_t n, const T* delta);
};

UNDERTOW_FOR_EACH_ISA(const AttentionLoops<float>& attention_float(); const AttentionLoops<double>& attention_double();)

}  // namespace undertow::core::cpu
