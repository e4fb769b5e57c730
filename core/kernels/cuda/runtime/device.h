// device.h: the GPUs of this machine and the current one of each thread.
#pragma once
#include <string>

#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

inline constexpr int kMaxDevices = 64;

struct DeviceState {
  CUdevice handle = 0;
  CUcontext context = nullptr;  // the primary context, which the CUDA runtime of other libraries uses too
  int capability = 0;           // 90 for compute capability 9.0
  int multiprocessors = 0;
  int max_shared_bytes = 0;  // per block, if asked for
};

int device_count();
// Raises for a number that names no device. The first call for a device creates its context.
const DeviceState& device_state(int device);
int current_device();  // of this thread, 0 at first
// Makes the device the current one of this thread, for CUDA and for us.
void set_current_device(int device);

// Sets the current device for a scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : before_(current_device()) {
    if (!is_bound(device)) set_current_device(device);
  }
  ~DeviceGuard() {
    if (current_device() != before_) set_current_device(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  // Is it the current device, with its context set on this thread?
  static bool is_bound(int device);
  int before_;
};

}  // namespace undertow::core::cuda
