// sparse_grad.h: what the engine and the formulas of nodes do with sparse gradients, without Python. All functions are
// differentiable: if a graph is recorded, they use the operators, whose rules are in undertow/sparse.
#pragma once
#include "core/tensor/sparse.h"

namespace undertow::core::sparse {

// The gradient of a tensor with these sizes that has values[i] at indices[:, i] and is zero elsewhere.
Tensor gradient(const Tensor& indices, const Tensor& values, IntSpan sizes);
// The gradient of a table that has rows[i] added at row at[i]; the rows at padding_idx are left out, if it is not
// negative.
Tensor rows_gradient(const Tensor& rows, const Tensor& at, IntSpan sizes, int64_t padding_idx);
// The gradient of gather: grad at the positions that it read.
Tensor gather_gradient(const Tensor& grad, IntSpan sizes, int64_t dim, const Tensor& index);

// a + b, of which at least one is sparse. The sum of two COO tensors has the indices of both, one after the other; a
// sum with a dense tensor is dense.
Tensor add(const Tensor& a, const Tensor& b);
void add_in_place(const Tensor& a, const Tensor& b);
Tensor clone(const Tensor& t);
// True if nobody else has the tensor, its parts or their memory.
bool is_exclusive(const Tensor& t);

}  // namespace undertow::core::sparse
