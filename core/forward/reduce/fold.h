// fold.h: reduces a tensor over any set of dimensions with one folding operation: sizes and dtypes of the result.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/reduce.h"

namespace undertow::fwd {

// Sizes after reducing the dims of mask.
Dims reduced_sizes(IntSpan sizes, uint64_t mask, bool keepdim);
// How many elements fall onto one output.
int64_t reduced_count(IntSpan sizes, uint64_t mask);

// A fresh row-major tensor. Half types are folded as floats, and given back as halves; int sums come as int64; the
// tests give bool or int64. Folding nothing gives the operation's neutral element (the caller refuses Max and Min of
// nothing). `name` is for the message where a dtype has no such operation.
Tensor fold(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name);
// The same, but the accumulators of half types stay floats, for those who go on computing.
Tensor fold_wide(Fold op, const Tensor& in, uint64_t mask, bool keepdim, const char* name);

}  // namespace undertow::fwd
