// load_backend.h: backends that are libraries of their own, loaded when a device of theirs is first asked for.
#pragma once
#include "core/kernels/backend.h"

namespace undertow::core {

// Loads the library of a device type and enters its backend into `backends`. Returns null if this installation has
// none. Thread-safe.
const Backend* load_backend(DeviceType type);
// What the library offers besides kernels: for CUDA a CudaControl (kernels/cuda_control.h). Loads it; null if there is
// none.
const void* backend_control(DeviceType type);

}  // namespace undertow::core
