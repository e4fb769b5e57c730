// device_errors.cpp: see device_errors.h.
#include "core/kernels/cuda/runtime/device_errors.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/capture_mode.h"
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

namespace {
std::mutex slots_mutex;                            // guards the creation of slots
std::atomic<DeviceErrorSlot*> slots[kMaxDevices];  // atomic: read on every launch that may report, without the lock
}  // namespace

DeviceErrorSlot* device_error_slot(int device) {
  DeviceErrorSlot* slot = slots[device].load(std::memory_order_acquire);
  if (UT_LIKELY(slot)) return slot;
  std::lock_guard lock(slots_mutex);
  slot = slots[device].load(std::memory_order_relaxed);
  if (slot) return slot;
  DeviceGuard guard(device);
  RelaxedCapture relaxed;
  void* memory = nullptr;
  // Mapped and portable: with unified addressing the device uses the same address.
  check(driver().mem_host_alloc(&memory, sizeof(DeviceErrorSlot), kHostAllocPortable | kHostAllocMapped),
        "cuMemHostAlloc");
  std::memset(memory, 0, sizeof(DeviceErrorSlot));
  slot = static_cast<DeviceErrorSlot*>(memory);
  slots[device].store(slot, std::memory_order_release);
  return slot;
}

void raise_device_errors(int device) {
  DeviceErrorSlot* slot = slots[device].load(std::memory_order_acquire);
  if (UT_LIKELY(!slot)) return;
  auto* complete = reinterpret_cast<volatile uint32_t*>(&slot->complete);
  if (UT_LIKELY(!*complete)) return;
  DeviceErrorSlot report = *slot;
  std::memset(slot, 0, sizeof(*slot));
  reinterpret_cast<void (*)(int64_t, int64_t, int64_t)>(report.raise)(report.values[0], report.values[1],
                                                                      report.values[2]);
}

}  // namespace undertow::core::cuda
