// device_errors.h: mistakes that only device code sees (an index out of range) become errors on the host.
//
// Note [Errors From Device Code]
// A kernel that finds a bad value writes it into a slot in pinned host memory, once, and continues with a harmless
// value; the context stays usable. The host looks at the slot whenever it has waited for the device anyway: at a copy
// to the host, item() and synchronize(). The error names the operator; it is raised later than the call that caused it.
#pragma once
#include <cstdint>

#include "core/kernels/cuda/device/errors_params.h"

namespace undertow::core::cuda {

using undertow::DeviceErrorSlot;

// The slot of a device, as a kernel's parameter.
DeviceErrorSlot* device_error_slot(int device);
// Raises what a kernel reported, if any, and empties the slot. The caller has waited for the device.
void raise_device_errors(int device);

}  // namespace undertow::core::cuda
