// normalization.h: what the normalisations share: the types they compute in.
#pragma once
#include <initializer_list>

#include "core/forward/copy/copy.h"
#include "core/kernels/normalization.h"

namespace undertow::fwd {

// Computed in `wide`. Statistics are kept in `stats`: the input's type, or float where half-typed input has float
// parameters.
struct NormalizationTypes {
  DType wide, stats;
};
// Refuses types that torch refuses; `kernel` is the name its message uses. Parameters may be undefined.
NormalizationTypes normalization_types(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                                       const char* kernel);

// t in the wide type, row-major; an undefined t stays so.
inline Tensor widened(const Tensor& t, DType wide) { return t.defined() ? contiguous(to_dtype(t, wide)) : t; }
// A result nobody asked for.
inline Tensor not_wanted(const Tensor& like) { return empty_beside(like, Dims{0}, like.dtype()); }

}  // namespace undertow::fwd
