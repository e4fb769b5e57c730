// fold.h: reduces a tensor over any set of dimensions with one operation: sizes and dtypes of the result.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/reduce.h"

namespace undertow::core::fwd {

// Sizes after reducing the dims in mask.
Dims reduced_sizes(IntSpan sizes, uint64_t mask, bool keepdim);
// The number of elements reduced into each output.
int64_t reduced_count(IntSpan sizes, uint64_t mask);

// A new row-major tensor. Half dtypes are reduced in float and returned as halves; sums of integers are int64; any and
// all give bool, count_nonzero int64. An empty reduction gives the operation's identity element (the caller rejects
// empty Max and Min). `name` is used in the error if a dtype does not support the operation.
Tensor fold(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name);
// The same, but half dtypes give float results, for further computation.
Tensor fold_wide(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name);

}  // namespace undertow::core::fwd
