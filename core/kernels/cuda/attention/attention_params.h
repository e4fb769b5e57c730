// attention_params.h: the parameters of the kernels for attention. Included by the host and by device code, so it uses
// no other header; the includer has defined int64_t.
#pragma once

namespace undertow {

// A tensor of (batch, heads, rows, columns); strides in elements.
struct HeadMatrix {
  int64_t batch, head, row, column;
};

// Scores of `heads` heads at once, row-major (matrices, rows, keys): the first matrix is `first`, counted over batch
// and heads; matrix i belongs to query head (first + i) % key_heads * group + member of batch (first + i) / key_heads.
struct ScoreParams {
  int64_t first, key_heads, group, member, heads, queries;
  int64_t first_row, rows, keys;
  bool causal;
  HeadMatrix mask;
};

// The tensors of attention by tiles: all with contiguous rows of `width` elements.
struct FlashParams {
  int heads, group, queries, keys, width;
  float scale;
  HeadMatrix query, key, value, out, mask;
  HeadMatrix grad, grad_query, grad_key, grad_value;
};

}  // namespace undertow
