// device.cpp: see device.h.
#include "core/kernels/cuda/runtime/device.h"

#include <atomic>
#include <mutex>

#include "core/kernels/cuda/driver/driver.h"

namespace undertow::core::cuda {

namespace {

struct ThreadDevice {
  int current = 0;
  int bound = -1;  // the device whose context we made current on this thread
};
thread_local ThreadDevice thread_device;

std::mutex states_mutex;  // guards the creation of states
DeviceState states[kMaxDevices];
std::atomic<bool> ready[kMaxDevices];  // atomic: read on every launch, without the lock

int attribute(const DeviceState& s, DeviceAttribute which) {
  int value = 0;
  check(driver().device_get_attribute(&value, which, s.handle), "cuDeviceGetAttribute");
  return value;
}

}  // namespace

int device_count() {
  if (!is_available()) return 0;
  int count = 0;
  check(driver().device_get_count(&count), "cuDeviceGetCount");
  return count < kMaxDevices ? count : kMaxDevices;
}

const DeviceState& device_state(int device) {
  if (device >= 0 && device < kMaxDevices && ready[device].load(std::memory_order_acquire)) return states[device];
  driver();  // raises if there is none
  UT_CHECK_AS(Accelerator, device >= 0 && device < device_count(), "CUDA error: invalid device ordinal: device ",
              device, " was asked for, and this machine has ", device_count());
  std::lock_guard lock(states_mutex);
  DeviceState& s = states[device];
  if (ready[device].load(std::memory_order_relaxed)) return s;
  check(driver().device_get(&s.handle, device), "cuDeviceGet");
  check(driver().device_primary_ctx_retain(&s.context, s.handle), "cuDevicePrimaryCtxRetain");
  s.capability = attribute(s, DeviceAttribute::ComputeCapabilityMajor) * 10 +
                 attribute(s, DeviceAttribute::ComputeCapabilityMinor);
  s.multiprocessors = attribute(s, DeviceAttribute::MultiprocessorCount);
  s.max_shared_bytes = attribute(s, DeviceAttribute::MaxSharedMemoryPerBlockOptin);
  ready[device].store(true, std::memory_order_release);
  return s;
}

int current_device() { return thread_device.current; }

void set_current_device(int device) {
  const DeviceState& s = device_state(device);
  check(driver().ctx_set_current(s.context), "cuCtxSetCurrent");
  thread_device = {device, device};
}

bool DeviceGuard::is_bound(int device) { return thread_device.bound == device && thread_device.current == device; }

}  // namespace undertow::core::cuda
