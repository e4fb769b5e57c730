// memory.h: the backend's memory functions (DeviceMemory).
#pragma once
#include "core/tensor/storage/device_memory.h"

namespace undertow::core::cuda {

extern const DeviceMemory device_memory_functions;
// Copies bytes between two devices, one of which is a GPU, in the order of its current stream. Returns when the bytes
// are there if the other side is pageable host memory.
void copy_memory(void* dst, Device dst_device, const void* src, Device src_device, size_t nbytes);

}  // namespace undertow::core::cuda
