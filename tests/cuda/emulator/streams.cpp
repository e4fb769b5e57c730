// streams.cpp: which pending operation runs next. See Note [Order Of Operations].
#include "streams.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "graphs.h"
#include "memory.h"

namespace emulator {
namespace {

constexpr size_t kLongQueue = 512;

using Goals = std::map<Stream*, uint64_t>;  // run what was queued up to this ticket, inclusive

std::vector<std::shared_ptr<Stream>>& all_streams() {
  static auto& all = *new std::vector<std::shared_ptr<Stream>>;
  return all;
}

uint64_t new_ticket() {
  static uint64_t last = 0;
  return ++last;
}

Stream& legacy_of(const Stream& stream) { return *devices()[static_cast<size_t>(stream.device)].legacy; }

bool may_run(const Stream& stream) {
  const Operation& next = stream.pending.front();
  if (next.waits_for && !next.waits_for->done) return false;
  if (stream.blocking()) {
    const Stream& legacy = legacy_of(stream);
    return legacy.pending.empty() || legacy.pending.front().ticket > next.ticket;
  }
  if (!stream.legacy) return true;
  return std::none_of(all_streams().begin(), all_streams().end(), [&](const auto& other) {
    return other->device == stream.device && other->blocking() && !other->pending.empty() &&
           other->pending.front().ticket < next.ticket;
  });
}

// Adds what the goals depend on.
void add_dependencies(Goals& goals) {
  std::vector<Stream*> unread;
  for (const auto& goal : goals) unread.push_back(goal.first);
  auto raise = [&](Stream* stream, uint64_t ticket) {
    uint64_t& goal = goals[stream];
    if (goal >= ticket) return;
    goal = ticket;
    unread.push_back(stream);
  };
  while (!unread.empty()) {
    Stream* stream = unread.back();
    unread.pop_back();
    const uint64_t goal = goals[stream];
    for (const Operation& operation : stream->pending) {
      if (operation.ticket > goal) break;
      if (operation.waits_for && !operation.waits_for->done)
        raise(operation.waits_for->stream, operation.waits_for->ticket);
      if (stream->blocking()) raise(&legacy_of(*stream), operation.ticket);
      if (!stream->legacy) continue;
      for (const auto& other : all_streams()) {
        if (other->device == stream->device && other->blocking()) raise(other.get(), operation.ticket);
      }
    }
  }
}

void run_next(Stream& stream) {
  Operation operation = std::move(stream.pending.front());
  stream.pending.pop_front();
  if (settings().trace) say("runs " + operation.name);
  if (operation.run) {
    try {
      operation.run();
    } catch (const Failure& failure) {
      say(operation.name + ": " + failure.message);
      devices()[static_cast<size_t>(stream.device)].broken = failure.code;
      drop_pending(stream.device);
    }
  }
  if (operation.records) {
    operation.records->done = true;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    operation.records->milliseconds = std::chrono::duration<double, std::milli>(now).count();
  }
}

bool reached(const Goals& goals) {
  return std::all_of(goals.begin(), goals.end(), [](const auto& goal) {
    return goal.first->pending.empty() || goal.first->pending.front().ticket > goal.second;
  });
}

// Always makes progress: whatever an operation waits for was queued before it.
void run_until(Goals goals) {
  let_it_finish();
  const bool only_needed = settings().seed == 0;
  if (only_needed) add_dependencies(goals);
  if (reached(goals)) return;
  DeviceMemoryAccess access;
  std::vector<Stream*> ready;
  while (!reached(goals)) {
    let_it_finish();
    if (reached(goals)) break;
    ready.clear();
    for (const auto& stream : all_streams()) {
      if (stream->pending.empty() || !may_run(*stream)) continue;
      if (only_needed) {
        auto goal = goals.find(stream.get());
        if (goal == goals.end() || stream->pending.front().ticket > goal->second) continue;
      }
      ready.push_back(stream.get());
    }
    auto queued = [](const Stream* stream) { return stream->pending.front().ticket; };
    Stream* next = only_needed ? *std::max_element(ready.begin(), ready.end(),
                                                   [&](auto a, auto b) { return queued(a) < queued(b); })
                               : ready[random_number() % ready.size()];
    run_next(*next);
  }
  std::erase_if(all_streams(), [](const auto& stream) { return stream->destroyed && stream->pending.empty(); });
}

}  // namespace

uint64_t random_number() {
  static std::mt19937_64 engine(settings().seed);
  return engine();
}

Handles<Stream>& streams() {
  static auto& all = *new Handles<Stream>("stream");
  return all;
}

std::shared_ptr<Stream> make_legacy_stream(int device) {
  auto stream = std::make_shared<Stream>(Stream{.device = device, .flags = 0, .priority = 0, .legacy = true});
  add_stream(stream);
  return stream;
}

void add_stream(const std::shared_ptr<Stream>& stream) { all_streams().push_back(stream); }

const std::shared_ptr<Stream>& stream_of(CUstream handle) {
  constexpr uintptr_t kLegacyHandle = 1;
  constexpr uintptr_t kPerThreadHandle = 2;
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (!value || value == kLegacyHandle) return current_device().legacy;
  if (value == kPerThreadHandle) fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator has no default stream per thread");
  return streams().get(handle);
}

void enqueue(const std::shared_ptr<Stream>& stream, Operation operation) {
  if (stream->capture) return capture_operation(*stream, std::move(operation));
  if (stream->legacy) refuse_legacy_stream_in_capture(stream->device);
  operation.ticket = new_ticket();
  if (operation.records) {
    operation.records->stream = stream.get();
    operation.records->ticket = operation.ticket;
  }
  stream->polls = 0;
  if (settings().trace) say("queues " + operation.name);
  stream->pending.push_back(std::move(operation));
  if (stream->pending.size() > kLongQueue) run_until({{stream.get(), stream->pending[kLongQueue / 2].ticket}});
}

void run_stream(const std::shared_ptr<Stream>& stream) {
  if (!stream->pending.empty()) run_until({{stream.get(), stream->pending.back().ticket}});
}

void run_record(const RecordPoint& point) {
  if (!point.done) run_until({{point.stream, point.ticket}});
}

void run_device(const Device& device) {
  Goals goals;
  for (const auto& stream : all_streams()) {
    if (stream->device == device.ordinal && !stream->pending.empty())
      goals[stream.get()] = stream->pending.back().ticket;
  }
  run_until(std::move(goals));
}

void drop_pending(int device) {
  for (const auto& stream : all_streams()) {
    if (stream->device != device) continue;
    for (Operation& operation : stream->pending) {
      if (operation.records) operation.records->done = true;  // nobody may wait forever
    }
    stream->pending.clear();
  }
}

}  // namespace emulator
