// profile.cpp: see profile.h.
#include "core/graph/diagnostics/profile.h"

#include <chrono>
#include <mutex>

#include "core/graph/diagnostics/trace.h"
#include "core/tensor/storage/allocator.h"

namespace undertow::core::profile {

std::vector<std::string> (*current_stack)() = nullptr;

namespace {
std::mutex mutex;  // guards events and wanted
std::vector<Event> events;
Options wanted;

void add(Event::Kind kind, std::string name, int64_t sequence, std::vector<Dims> shapes) {
  Event e{kind, 0, trace::this_thread(), sequence, 0, std::move(name), std::move(shapes), {}};
  if (kind == Event::Kind::Begin && wanted.stack && current_stack) e.stack = current_stack();
  if (wanted.memory) e.bytes = static_cast<int64_t>(allocator_stats().in_use);
  e.time_ns = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::lock_guard lock(mutex);
  events.push_back(std::move(e));
}
}  // namespace

void start(Options options) {
  std::lock_guard lock(mutex);
  events.clear();
  wanted = options;
}

std::vector<Event> stop() {
  std::lock_guard lock(mutex);
  return std::move(events);
}

const Options& options() { return wanted; }

void operation(const char* name, int64_t sequence, std::span<const provenance::Input> inputs) {
  std::vector<Dims> shapes;
  if (wanted.shapes)
    for (const provenance::Input& in : inputs)
      shapes.emplace_back(in.tensor->sizes().begin(), in.tensor->sizes().end());
  add(Event::Kind::Mark, name, sequence, std::move(shapes));
}
void begin(std::string name, std::vector<Dims> shapes, int64_t sequence) {
  if (!wanted.shapes) shapes.clear();
  add(Event::Kind::Begin, std::move(name), sequence, std::move(shapes));
}
void end() { add(Event::Kind::End, {}, -1, {}); }

}  // namespace undertow::core::profile
