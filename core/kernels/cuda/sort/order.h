// order.h: the order of keys on the device, for sorts and for writes in index order.
#pragma once
#include "core/kernels/cuda/compile/kernel.h"

namespace undertow::core::cuda {

// The positions, as uint32, that sort n keys: row-major UInt32 or UInt64. Stable. Only the bits from `first_bit` to
// `end_bit` are compared.
Tensor order_of_keys(const Launcher& on, const Tensor& keys, int first_bit, int end_bit);
// Sorts each row of n elements of the row-major `in` separately, into row-major tensors. Stable.
void sort_long_rows(const Launcher& on, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t n,
                    bool descending);

// Keys of up to this many bytes of elements are 32 bits wide, others 64.
inline DType key_dtype(DType t) { return itemsize(t) == 8 ? DType::UInt64 : DType::UInt32; }

// Rows of at most this many elements are sorted in shared memory.
inline constexpr int64_t kShortRow = 2048;

}  // namespace undertow::core::cuda
