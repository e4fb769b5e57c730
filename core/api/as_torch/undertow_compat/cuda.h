// cuda.h: torch::cuda is undertow::cuda; the names that only torch has.
#pragma once
#include <undertow/cuda.h>

#include <undertow_compat/names.h>

namespace undertow {
inline bool hasCUDA() { return cuda::is_available(); }
}  // namespace undertow
