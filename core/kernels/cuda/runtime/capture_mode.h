// capture_mode.h: calls of the driver that a stream capture on this thread would forbid.
#pragma once
#include "core/kernels/cuda/driver/driver.h"

namespace undertow::core::cuda {

// Within its scope, this thread may allocate memory and load modules while a stream is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { driver().thread_exchange_stream_capture_mode(&mode_); }
  ~RelaxedCapture() { driver().thread_exchange_stream_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = kCaptureModeRelaxed;  // the previous one after the exchange
};

}  // namespace undertow::core::cuda
