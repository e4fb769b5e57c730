// device_memory.h: memory on devices other than the CPU, whose memory is allocator.h's.
// A backend provides the functions, storages call them. Knows nothing of tensors.
#pragma once
#include <cstddef>

#include "core/tensor/device.h"

namespace undertow {

struct DeviceMemory {
  // May return null where the device has no memory at all (meta).
  void* (*allocate)(size_t nbytes, Device device);
  void (*deallocate)(void* p, size_t nbytes, Device device);
  // Between two places, at least one of them on this device. Raises where the bytes do not exist.
  void (*copy)(void* dst, Device dst_device, const void* src, Device src_device, size_t nbytes);
};

// Raises a clear error where this build has no backend for the device. Declared here, defined above (see STYLE 2):
// kernels/backends.cpp.
const DeviceMemory& device_memory(Device device);

}  // namespace undertow
