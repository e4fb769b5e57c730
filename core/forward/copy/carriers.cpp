// carriers.cpp: see carriers.h.
// build: small
#include "core/forward/copy/carriers.h"

#include "core/forward/copy/copy.h"
#include "core/tensor/dtype/storage_dtypes.h"
#include "generated/fwd_logic.h"
#include "generated/fwd_matmul.h"

namespace undertow::core::fwd {

Tensor to_carrier(const Tensor& t) {
  return is_storage(t.dtype()) ? to_dtype(t, carrier_from(t.dtype(), DType::Int64)) : t;
}

Tensor mm_in_carrier(const Tensor& self, const Tensor& mat2) {
  return to_dtype(mm(to_carrier(self), to_carrier(mat2)), self.dtype());
}
Tensor addmm_in_carrier(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                        const Scalar& alpha) {
  return to_dtype(addmm(to_carrier(self), to_carrier(mat1), to_carrier(mat2), beta, alpha), self.dtype());
}

namespace {
// Maps the order of uint64 to that of int64 of the same bits, and back.
Tensor flip_top_bit(const Tensor& t) { return bitwise_xor(t, Scalar(std::numeric_limits<long>::min())); }
}  // namespace

Tensor to_ordered_carrier(const Tensor& t) {
  if (!is_wide_unsigned(t.dtype())) return t;
  Tensor carried = to_dtype(t, DType::Int64);
  return t.dtype() == DType::UInt64 ? flip_top_bit(carried) : carried;
}

Tensor from_ordered_carrier(const Tensor& t, DType dtype) {
  return to_dtype(dtype == DType::UInt64 ? flip_top_bit(t) : t, dtype);
}

}  // namespace undertow::core::fwd
