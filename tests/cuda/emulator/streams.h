// streams.h: streams are queues of operations that wait until somebody needs their results.
//
// Note [Order Of Operations]
// A real device runs operations of different streams in any order that events and the default stream's rules allow.
// Here nothing runs before a synchronization asks for it. Then, without a seed, only what the synchronization needs
// runs, and of the operations that may run next the one that was queued last goes first: two operations whose order
// nobody asked for run in the opposite of the order of the calls, so that a forgotten event gives a wrong result each
// time. With UNDERTOW_EMULATOR_SEED the order is random, and operations that nobody needs yet may run too.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state.h"

namespace emulator {

struct Capture;

// One cuEventRecord: done once the stream has come to it.
struct RecordPoint {
  Stream* stream = nullptr;  // alive as long as the record is pending
  uint64_t ticket = 0;
  bool done = false;
  double milliseconds = 0;
};

struct Operation {
  std::string name;
  std::function<void()> run;                         // may fail()
  std::shared_ptr<RecordPoint> waits_for = nullptr;  // runs after it
  std::shared_ptr<RecordPoint> records = nullptr;    // an event: done when this has run
  uint64_t ticket = 0;                               // the order of the calls, over all streams
};

struct Stream {
  int device;
  unsigned flags;
  int priority;
  bool legacy = false;
  bool destroyed = false;
  int polls = 0;  // cuStreamQuery since the last operation was queued
  std::deque<Operation> pending = {};
  std::shared_ptr<Capture> capture = nullptr;  // operations are recorded into its graph
  std::vector<size_t> capture_tail = {};       // the nodes that the next captured operation follows

  bool blocking() const { return !legacy && !(flags & 1); }  // keeps the default stream's rules
};

std::shared_ptr<Stream> make_legacy_stream(int device);
Handles<Stream>& streams();
const std::shared_ptr<Stream>& stream_of(CUstream handle);  // null: the current device's default stream
void add_stream(const std::shared_ptr<Stream>& stream);

// Queues the operation, or records it in the graph that the stream captures.
void enqueue(const std::shared_ptr<Stream>& stream, Operation operation);

void run_stream(const std::shared_ptr<Stream>& stream);
void run_record(const RecordPoint& point);
void run_device(const Device& device);  // everything that was queued for it
void drop_pending(int device);          // of a device whose context is broken
uint64_t random_number();               // of the sequence that the seed starts

}  // namespace emulator
