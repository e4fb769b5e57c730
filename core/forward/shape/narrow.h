// narrow.h: the checks of narrow and narrow_copy.
#pragma once
#include "core/base/small_vector.h"

namespace undertow::fwd {

// The start of narrow along dim, counted from the front; raises unless start and start + length are in range.
int64_t narrow_start(IntSpan sizes, int64_t dim, int64_t start, int64_t length);

}  // namespace undertow::fwd
