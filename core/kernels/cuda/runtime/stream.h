// stream.h: the stream that each thread issues its work to, per device.
#pragma once
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

CUstream current_stream(int device);
void set_current_stream(int device, CUstream stream);
// Returns when the work issued to the stream is done, and raises what device code has reported (device_errors.h).
void synchronize_stream(int device, CUstream stream);
void synchronize_device(int device);

// A stream that does not wait for the default stream, from a pool of 32 per device and priority; then the first again.
// Priorities are those of CUDA: 0 is the usual one, lower numbers come first; others are brought into the range.
CUstream pooled_stream(int device, int priority);
// Has all issued work been done?
bool is_idle(int device, CUstream stream);
bool is_capturing(CUstream stream);
// Work issued to `waiting` from now on starts after what `other` has now.
void wait_for_stream(int device, CUstream waiting, CUstream other);

}  // namespace undertow::core::cuda
