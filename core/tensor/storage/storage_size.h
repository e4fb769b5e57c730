// storage_size.h: how many elements and bytes a layout needs, with torch's errors where 64 bits do not hold them.
#pragma once
#include "core/tensor/layout.h"

namespace undertow::core {

// The number of elements; raises torch's error on overflow. A 0 before the product grows too large makes it 0, as in
// torch.
int64_t checked_numel(IntSpan sizes);
// Number of bytes that a storage must have for these elements. Raises torch's error on overflow.
size_t storage_bytes(IntSpan sizes, IntSpan strides, int64_t offset, int64_t itemsize);
// The same for a contiguous tensor.
size_t storage_bytes(IntSpan sizes, int64_t offset, int64_t itemsize);

}  // namespace undertow::core
