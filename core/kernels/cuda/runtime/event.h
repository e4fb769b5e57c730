// event.h: marks in streams, and the events of the backend's interface (DeviceEvents), which the engine uses.
#pragma once
#include "core/kernels/backend.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

CUevent create_event(int device, unsigned flags);

// An event that is destroyed with the scope. Streams that wait for it still do.
class Event {
 public:
  Event(int device, unsigned flags) : event_(create_event(device, flags)) {}
  ~Event() { driver().event_destroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(CUstream stream) const { check(driver().event_record(event_, stream), "cuEventRecord"); }
  void make_wait(CUstream stream) const { check(driver().stream_wait_event(stream, event_, 0), "cuStreamWaitEvent"); }

 private:
  CUevent event_;
};

bool is_reached(CUevent event);

extern const DeviceEvents device_events;

}  // namespace undertow::core::cuda
