// meta_backend.h: the device whose tensors have no memory: shapes, dtypes, strides and graphs without any computation.
#pragma once
#include "core/kernels/backend.h"

namespace undertow::meta {

extern const Backend backend;

}  // namespace undertow::meta
