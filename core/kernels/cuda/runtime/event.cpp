// event.cpp: see event.h.
#include "core/kernels/cuda/runtime/event.h"

#include "core/kernels/cuda/runtime/stream.h"

namespace undertow::core::cuda {

CUevent create_event(int device, unsigned flags) {
  DeviceGuard guard(device);
  CUevent event = nullptr;
  check(driver().event_create(&event, flags), "cuEventCreate");
  return event;
}

bool is_reached(CUevent event) {
  CUresult result = driver().event_query(event);
  if (result == kNotReady) return false;
  check(result, "cuEventQuery");
  return true;
}

namespace {
void record(void* event, Device device) {
  DeviceGuard guard(device.index);
  check(driver().event_record(static_cast<CUevent>(event), current_stream(device.index)), "cuEventRecord");
}
void wait(void* event, Device device) {
  DeviceGuard guard(device.index);
  check(driver().stream_wait_event(current_stream(device.index), static_cast<CUevent>(event), 0), "cuStreamWaitEvent");
}
}  // namespace

const DeviceEvents device_events = {
    .create = [](Device device) -> void* { return create_event(device.index, kEventDisableTiming); },
    .destroy = [](void* event) { driver().event_destroy(static_cast<CUevent>(event)); },
    .record = record,
    .wait = wait,
    .query = [](void* event) { return is_reached(static_cast<CUevent>(event)); },
    .synchronize = [](Device device) { synchronize_device(device.index); },
};

}  // namespace undertow::core::cuda
