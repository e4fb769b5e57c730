// meta_backend.h: the device whose tensors have no memory: shapes, dtypes, strides and graphs without any computation.
#pragma once
#include "core/kernels/backend.h"

namespace undertow::core::meta {

extern const Backend backend;

}  // namespace undertow::core::meta
