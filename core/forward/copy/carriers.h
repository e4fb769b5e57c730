// carriers.h: computes with a storage dtype in a wider dtype that has kernels. See Note [Storage DTypes].
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::core::fwd {

// t itself, or its values in the dtype that carries its storage dtype.
Tensor to_carrier(const Tensor& t);
// Storage dtypes of which torch multiplies matrices: floats of 8 bits with a mantissa.
inline bool computes_products(DType t) { return is_float8(t) && t != DType::Float8_e8m0fnu; }
Tensor mm_in_carrier(const Tensor& self, const Tensor& mat2);
Tensor addmm_in_carrier(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                        const Scalar& alpha);
// Unsigned integers as int64 in the same order, and back; tensors of other dtypes unchanged.
Tensor to_ordered_carrier(const Tensor& t);
Tensor from_ordered_carrier(const Tensor& t, DType dtype);

}  // namespace undertow::core::fwd
