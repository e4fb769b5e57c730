// device_memory.h: memory on devices other than the CPU (for the CPU, see allocator.h).
// A backend provides the functions and storages call them. Knows nothing about tensors.
#pragma once
#include <cstddef>

#include "core/tensor/device.h"

namespace undertow::core {

struct DeviceMemory {
  // May return null if the device has no memory (meta).
  void* (*allocate)(size_t nbytes, Device device);
  void (*deallocate)(void* p, size_t nbytes, Device device);
  // At least one of the two pointers is on this device. Raises if the bytes do not exist.
  void (*copy)(void* dst, Device dst_device, const void* src, Device src_device, size_t nbytes);
};

// Raises a clear error if this build has no backend for the device. Declared here, defined in a higher layer:
// kernels/backends.cpp.
const DeviceMemory& device_memory(Device device);

}  // namespace undertow::core
