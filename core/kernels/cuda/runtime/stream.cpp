// stream.cpp: see stream.h.
#include "core/kernels/cuda/runtime/stream.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/base/interpreter_lock.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/runtime/event.h"
#include "core/tensor/storage/stream_fence.h"

namespace undertow::core::cuda {

namespace {

thread_local CUstream streams[kMaxDevices] = {};

// The streams that programs have used, besides the default one.
struct UsedStreams {
  std::mutex mutex;  // guards all
  std::vector<CUstream> all[kMaxDevices];
};
UsedStreams& used_streams() {
  static auto* used = new UsedStreams;  // never destroyed: streams live as long as the process
  return *used;
}

// Calls f for the streams of a device other than the current one that are not being captured.
template <class F>
void for_other_streams(int device, CUstream current, F&& f) {
  UsedStreams& used = used_streams();
  std::lock_guard lock(used.mutex);
  if (current && !is_capturing(nullptr)) f(CUstream{nullptr});
  for (CUstream s : used.all[device])
    if (s != current && !is_capturing(s)) f(s);
}

void enter_pass(Device device) {
  DeviceGuard guard(device.index);
  CUstream current = current_stream(device.index);
  if (is_capturing(current)) return;
  for_other_streams(device.index, current, [&](CUstream s) { wait_for_stream(device.index, current, s); });
}
void leave_pass(Device device) {
  DeviceGuard guard(device.index);
  CUstream current = current_stream(device.index);
  if (is_capturing(current)) return;
  Event done(device.index, kEventDisableTiming);
  done.record(current);
  for_other_streams(device.index, current, [&](CUstream s) { done.make_wait(s); });
}
constexpr StreamFence kFence = {.enter = enter_pass, .leave = leave_pass};

void note_used(int device, CUstream stream) {
  UsedStreams& used = used_streams();
  std::lock_guard lock(used.mutex);
  auto& known = used.all[device];
  if (std::find(known.begin(), known.end(), stream) == known.end()) known.push_back(stream);
  stream_fence.store(&kFence, std::memory_order_release);
}

}  // namespace

CUstream current_stream(int device) { return streams[device]; }
void set_current_stream(int device, CUstream stream) {
  if (stream) note_used(device, stream);
  streams[device] = stream;
}

void synchronize_stream(int device, CUstream stream) {
  DeviceGuard guard(device);
  {
    WithoutInterpreter free;  // other threads run meanwhile; one of them may end a collective that hangs
    check(driver().stream_synchronize(stream), "cuStreamSynchronize");
  }
  raise_device_errors(device);
}

void synchronize_device(int device) {
  DeviceGuard guard(device);
  check(driver().ctx_synchronize(), "cuCtxSynchronize");
  raise_device_errors(device);
}

CUstream pooled_stream(int device, int priority) {
  constexpr size_t kPerPriority = 32, kPriorities = 8;
  struct Pool {
    CUstream streams[kPerPriority] = {};
    size_t next = 0;
  };
  static std::mutex mutex;                                  // guards pools
  static auto* pools = new Pool[kMaxDevices][kPriorities];  // never destroyed: streams live as long as the process
  DeviceGuard guard(device);
  int least = 0, greatest = 0;
  check(driver().ctx_get_stream_priority_range(&least, &greatest), "cuCtxGetStreamPriorityRange");
  priority = std::clamp(priority, std::max(greatest, 1 - static_cast<int>(kPriorities)), std::min(least, 0));
  std::lock_guard lock(mutex);
  Pool& pool = pools[device][-priority];
  CUstream& stream = pool.streams[pool.next++ % kPerPriority];
  if (!stream)
    check(driver().stream_create_with_priority(&stream, kStreamNonBlocking, priority), "cuStreamCreateWithPriority");
  return stream;
}

bool is_idle(int device, CUstream stream) {
  DeviceGuard guard(device);
  CUresult result = driver().stream_query(stream);
  if (result == kNotReady) return false;
  check(result, "cuStreamQuery");
  return true;
}

bool is_capturing(CUstream stream) {
  int status = kCaptureNone;
  check(driver().stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status == kCaptureActive;
}

void wait_for_stream(int device, CUstream waiting, CUstream other) {
  if (waiting == other) return;
  DeviceGuard guard(device);
  Event event(device, kEventDisableTiming);
  event.record(other);
  event.make_wait(waiting);
}

}  // namespace undertow::core::cuda
