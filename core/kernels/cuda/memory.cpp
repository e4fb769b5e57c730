// memory.cpp: see memory.h.
#include "core/kernels/cuda/memory.h"

#include <optional>

#include "core/base/interpreter_lock.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/allocator.h"
#include "core/kernels/cuda/runtime/pinned_memory.h"
#include "core/kernels/cuda/runtime/stream.h"
#include "core/tensor/storage/asynchronous_copies.h"

namespace undertow::core::cuda {

namespace {

void* allocate_on(size_t nbytes, Device device) { return allocate(nbytes, device.index); }
void deallocate_on(void* p, size_t, Device device) { deallocate(p, device.index); }

Device resolve(Device device) {
  if (device.index < 0) device.index = static_cast<int8_t>(current_device());
  device_state(device.index);  // raises if there is no such device
  return device;
}

}  // namespace

void copy_memory(void* dst, Device dst_device, const void* src, Device src_device, size_t nbytes) {
  if (nbytes == 0) return;
  auto to = reinterpret_cast<CUdeviceptr>(dst), from = reinterpret_cast<CUdeviceptr>(src);
  Device gpu = dst_device.is_cpu() ? src_device : dst_device;
  DeviceGuard guard(gpu.index);
  CUstream stream = current_stream(gpu.index);
  if (!dst_device.is_cpu() && !src_device.is_cpu() && dst_device != src_device) {
    check(driver().memcpy_peer_async(to, device_state(dst_device.index).context, from,
                                     device_state(src_device.index).context, nbytes, stream),
          "a copy between devices");
    return;
  }
  const void* host = dst_device.is_cpu() ? dst : src_device.is_cpu() ? src : nullptr;
  const bool pinned = host && is_pinned(host);
  std::optional<WithoutInterpreter> free;
  if (dst_device.is_cpu() && !pinned) free.emplace();  // the driver waits until it has filled pageable memory
  check(driver().memcpy_async(to, from, nbytes, stream), "a copy");
  // The driver has read pageable memory when it returns; pinned memory it reads later.
  if (pinned && copies_may_be_asynchronous())
    note_pinned_use(host, gpu.index, stream);
  else if (pinned || dst_device.is_cpu())
    synchronize_stream(gpu.index, stream);
}

const DeviceMemory device_memory_functions = {
    .allocate = allocate_on, .deallocate = deallocate_on, .copy = copy_memory, .resolve = resolve};

}  // namespace undertow::core::cuda
