// stream_api.cpp: the driver's functions about streams and events.
#include "events.h"
#include "graphs.h"

using namespace emulator;

namespace emulator {

Handles<Event>& events() {
  static auto& all = *new Handles<Event>("event");
  return all;
}

namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;
// The work that a query asks about is finished at this query, so that a program must expect "not ready".
constexpr int kPolls = 3;
constexpr unsigned kDisableTiming = 2;

CUresult create_stream(CUstream* out, unsigned flags, int priority) {
  if (flags > 1) fail(CUDA_ERROR_INVALID_VALUE, "unknown flags %u", flags);
  auto stream =
      std::make_shared<Stream>(Stream{.device = current_device().ordinal,
                                      .flags = flags,
                                      .priority = std::max(kGreatestPriority, std::min(kLeastPriority, priority))});
  add_stream(stream);
  *out = static_cast<CUstream>(streams().add(stream));
  return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  const auto& first = events().get(start);
  const auto& last = events().get(end);
  for (const auto* event : {&first, &last}) {
    if ((*event)->flags & kDisableTiming) fail(CUDA_ERROR_INVALID_HANDLE, "the event was created without timing");
    if (!(*event)->last) fail(CUDA_ERROR_INVALID_HANDLE, "the event was never recorded");
    if (!(*event)->last->done) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = static_cast<float>(last->last->milliseconds - first->last->milliseconds);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace emulator

EMULATOR_API(CUresult) cuStreamCreate(CUstream* out, unsigned flags) {
  return call("cuStreamCreate", Needs::kContext, [&] { return create_stream(out, flags, kLeastPriority); });
}
EMULATOR_API(CUresult) cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return call("cuStreamCreateWithPriority", Needs::kContext, [&] { return create_stream(out, flags, priority); });
}

EMULATOR_API(CUresult) cuStreamDestroy_v2(CUstream handle) {
  return call("cuStreamDestroy", Needs::kInit, [&] {
    auto stream = streams().remove(handle);
    stream->destroyed = true;  // what is queued still runs, as on a device
    refuse_captured(stream->capture, "destroying a captured stream");
  });
}

EMULATOR_API(CUresult) cuStreamQuery(CUstream handle) {
  return call("cuStreamQuery", Needs::kContext, [&] {
    const auto& stream = stream_of(handle);
    refuse_captured(stream->capture, "a query");
    if (stream->pending.empty()) return CUDA_SUCCESS;
    if (an_operation_waits() || ++stream->polls < kPolls) return CUDA_ERROR_NOT_READY;
    run_stream(stream);
    return CUDA_SUCCESS;
  });
}

EMULATOR_API(CUresult) cuStreamSynchronize(CUstream handle) {
  return call("cuStreamSynchronize", Needs::kContext, [&] {
    const auto stream = stream_of(handle);
    refuse_captured(stream->capture, "a synchronization");
    run_stream(stream);
    return devices()[static_cast<size_t>(stream->device)].broken;
  });
}

EMULATOR_API(CUresult) cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  return call("cuStreamWaitEvent", Needs::kContext, [&] {
    const auto& stream = stream_of(handle);
    const auto& event = events().get(event_handle);
    if (auto capture = event->capture.lock()) return join_capture(stream, capture, event->capture_tail);
    if (stream->capture) {
      stream->capture->invalid = true;
      fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a captured stream waits for an event from outside the capture");
    }
    if (!event->last) return;  // as the driver does: an event that was never recorded is over
    enqueue(stream, {.name = "wait for an event", .run = {}, .waits_for = event->last});
  });
}

EMULATOR_API(CUresult) cuStreamGetPriority(CUstream handle, int* priority) {
  return call("cuStreamGetPriority", Needs::kContext, [&] { *priority = stream_of(handle)->priority; });
}
EMULATOR_API(CUresult) cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return call("cuStreamGetFlags", Needs::kContext, [&] { *flags = stream_of(handle)->flags; });
}
EMULATOR_API(CUresult) cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call("cuCtxGetStreamPriorityRange", Needs::kContext, [&] {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
  });
}

EMULATOR_API(CUresult) cuCtxSynchronize() {
  return call("cuCtxSynchronize", Needs::kContext, [&] {
    refuse_in_capture("a synchronization");
    run_device(current_device());
  });
}

EMULATOR_API(CUresult) cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return call("cuLaunchHostFunc", Needs::kContext, [&] {
    auto run = [function, data] {
      in_host_function = true;
      function(data);
      in_host_function = false;
    };
    enqueue(stream_of(handle), {.name = "host function", .run = run});
  });
}

EMULATOR_API(CUresult) cuEventCreate(CUevent* out, unsigned flags) {
  return call("cuEventCreate", Needs::kContext, [&] {
    if (flags > 7) fail(CUDA_ERROR_INVALID_VALUE, "unknown flags %u", flags);
    *out = static_cast<CUevent>(
        events().add(std::make_shared<Event>(Event{.device = current_device().ordinal, .flags = flags})));
  });
}

EMULATOR_API(CUresult) cuEventDestroy_v2(CUevent handle) {
  return call("cuEventDestroy", Needs::kInit, [&] { events().remove(handle); });
}

EMULATOR_API(CUresult) cuEventRecord(CUevent handle, CUstream stream_handle) {
  return call("cuEventRecord", Needs::kContext, [&] {
    const auto& event = events().get(handle);
    const auto& stream = stream_of(stream_handle);
    if (event->device != stream->device) {
      fail(CUDA_ERROR_INVALID_HANDLE, "an event of device %d is recorded in a stream of device %d", event->device,
           stream->device);
    }
    if (stream->capture) {
      event->capture = stream->capture;
      event->capture_tail = stream->capture_tail;
      return;
    }
    event->capture.reset();
    event->polls = 0;
    event->last = std::make_shared<RecordPoint>();
    enqueue(stream, {.name = "record of an event", .run = {}, .records = event->last});
  });
}

EMULATOR_API(CUresult) cuEventQuery(CUevent handle) {
  return call("cuEventQuery", Needs::kContext, [&] {
    const auto& event = events().get(handle);
    if (event->capture.lock()) fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a captured stream");
    if (!event->last || event->last->done) return CUDA_SUCCESS;
    if (an_operation_waits() || ++event->polls < kPolls) return CUDA_ERROR_NOT_READY;
    run_record(*event->last);
    return CUDA_SUCCESS;
  });
}

EMULATOR_API(CUresult) cuEventSynchronize(CUevent handle) {
  return call("cuEventSynchronize", Needs::kContext, [&] {
    const auto& event = events().get(handle);
    if (event->capture.lock()) fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a captured stream");
    if (event->last) run_record(*event->last);
    return devices()[static_cast<size_t>(event->device)].broken;
  });
}

EMULATOR_API(CUresult) cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime", Needs::kContext, [&] { return elapsed(milliseconds, start, end); });
}
EMULATOR_API(CUresult) cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime", Needs::kContext, [&] { return elapsed(milliseconds, start, end); });
}
