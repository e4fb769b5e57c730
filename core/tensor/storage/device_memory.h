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
  // The device with its number filled in, the current one if none was given; raises if there is no such device. Null if
  // devices of this type have no numbers.
  Device (*resolve)(Device device) = nullptr;
};

// Raises a clear error if this build has no backend for the device. Declared here, defined in a higher layer:
// kernels/backends.cpp.
const DeviceMemory& device_memory(Device device);

// "cuda" becomes "cuda:0" if that is the current device. Tensors have resolved devices only.
inline Device resolve_device(Device device) {
  if (device.is_cpu()) return device;
  auto resolve = device_memory(device).resolve;
  return resolve ? resolve(device) : device;
}

}  // namespace undertow::core
