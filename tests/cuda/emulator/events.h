// events.h: an event is the last point of a stream at which it was recorded.
#pragma once
#include "streams.h"

namespace emulator {

struct Event {
  int device;
  unsigned flags;
  int polls = 0;  // cuEventQuery since the last record
  std::shared_ptr<RecordPoint> last = nullptr;
  std::weak_ptr<Capture> capture = {};  // it was last recorded in a captured stream, after these nodes
  std::vector<size_t> capture_tail = {};
};

Handles<Event>& events();

}  // namespace emulator
