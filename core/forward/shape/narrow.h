// narrow.h: the checks of narrow, narrow_copy, and of functions that cut a tensor into many parts.
#pragma once
#include "core/base/small_vector.h"

namespace undertow::core::fwd {

// The start of narrow along dim, counted from the front; raises unless start and start + length are in range.
int64_t narrow_start(IntSpan sizes, int64_t dim, int64_t start, int64_t length);
// Raises if this many views would not fit into memory.
void check_parts(const char* name, int64_t parts);

}  // namespace undertow::core::fwd
