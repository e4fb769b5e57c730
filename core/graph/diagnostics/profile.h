// profile.h: which operations ran when, for the profiler. Plain records; the Python package interprets them.
//
// Note [Profile Marks]
// A call from Python is a range, with a beginning and an end. An operator is a mark at the end of its forward:
// recorders test the mode word there anyway, so profiling costs nothing when it is off. A mark begins where the
// previous mark in the same range ended, or where the range began.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/small_vector.h"
#include "core/graph/diagnostics/provenance.h"

namespace undertow::core::profile {

struct Event {
  enum class Kind : uint8_t { Mark, Begin, End };
  Kind kind;
  uint64_t time_ns;  // steady clock, as in the trace
  uint64_t thread;   // the thread's number in the trace
  int64_t sequence;  // of the node that the operator recorded, or -1
  int64_t bytes;     // in use by tensors, if memory is profiled
  std::string name;
  std::vector<Dims> shapes;  // of the inputs, if requested
  std::vector<std::string> stack;
};
struct Options {
  bool shapes = false, memory = false, stack = false;
};

// The first character of a range's name tells its kind: these for the user's ranges and other functions; an operator
// call has no such prefix.
inline constexpr char kUserRange = '\n';
inline constexpr char kPlainName = '\v';

void start(Options options);
std::vector<Event> stop();
// Called on the current thread, while kProfile is set.
void operation(const char* name, int64_t sequence, std::span<const provenance::Input> inputs);
void begin(std::string name, std::vector<Dims> shapes = {}, int64_t sequence = -1);
void end();
const Options& options();

// The frames of the user's program, innermost first. Installed by the binding layer.
extern std::vector<std::string> (*current_stack)();

}  // namespace undertow::core::profile
