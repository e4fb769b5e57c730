// loaded_tensor.h: tensors over bytes from a file, checked. Knows no format.
#pragma once
#include <undertow/tensor.h>

#include "core/tensor/storage/storage.h"

namespace undertow::formats {

inline constexpr size_t kMostDimensions = 64;

// A tensor on a storage from a file. Raises unless its layout is valid and inside the storage.
Tensor tensor_over(const core::Ref<core::Storage>& storage, core::DType dtype, int64_t offset, core::IntSpan sizes,
                   core::IntSpan strides);
// Raises for bytes other than 0 and 1, because kernels assume these values for bool.
void check_bools(const core::Storage& storage);

}  // namespace undertow::formats
