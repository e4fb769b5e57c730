// sparse.h: what a sparse tensor consists of: tensors of indices and values in place of elements.
// Knows how the parts are kept; what operators compute with them is in undertow/sparse and autograd/sparse_grad.h.
//
// Note [Sparse Tensors]
// A sparse tensor is a TensorImpl with the flag kSparse and the sizes, dtype and device of the dense tensor that it
// represents. Its storage has no bytes: it owns a SparseParts, whose members are ordinary tensors without history. So
// an alias (detach, a saved tensor) shares the parts and the version counter as an alias of a dense tensor shares
// memory. History, hooks and .grad belong to the sparse tensor itself, as in torch.
//
// Nothing below the recorders reads its elements: kSparse is a bit of kDelegated, so a recorder passes the call to
// delegated::handler, the way batched tensors take, and a dense call pays nothing. The handler looks up the operator's
// sparse rule (the key `sparse` of its table entry) in undertow/sparse; an operator without one raises an error that
// names it and the layout. Two functions are in C++, because the engine needs them without Python: the sum of two
// gradients, and a gradient that consists of rows.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core {

struct SparseParts {
  Layout layout = Layout::SparseCoo;
  // COO: no index occurs twice, and they are sorted. Compressed layouts always have both properties.
  bool coalesced = false;
  // COO: (sparse_dim, nnz) int64. Compressed: the bounds of each row (CSR, BSR) or column (CSC, BSC).
  Tensor indices;
  Tensor plain_indices;  // compressed layouts: the column or row of each value; undefined for COO
  Tensor values;         // (nnz, dense sizes...)

  void note_few() { coalesced |= values.size(0) < 2; }  // one index has no duplicates
};

Tensor make_sparse(SparseParts parts, IntSpan sizes);
SparseParts& sparse_parts(const Tensor& t);  // t.is_sparse()
Layout layout_of(const Tensor& t);

}  // namespace undertow::core
