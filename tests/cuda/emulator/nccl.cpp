// nccl.cpp: the functions of NCCL that Undertow calls. Ranks are processes that share memory, one slot for each rank
// and one for each pair. A collective happens when the stream comes to it, and waits there for the other ranks, as the
// kernels of NCCL do. Ranks that call different collectives end with an error.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "graphs.h"
#include "memory.h"

using namespace emulator;

namespace {

#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has no _Float16 there
#else
using Half = _Float16;
#endif

enum Result : int { kSuccess = 0, kUnhandledCudaError = 1, kInvalidArgument = 4, kInvalidUsage = 5 };
enum Type : int { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kHalf, kFloat, kDouble, kBFloat16 };
enum Reduction : int { kSum, kProduct, kMax, kMin, kAverage };
enum class Kind : int { kAllReduce, kReduce, kReduceScatter, kBroadcast, kAllGather };

constexpr size_t kSlot = size_t{64} << 20;  // bytes of one rank's contribution; the file is sparse
constexpr size_t kMailbox = size_t{16} << 20;
constexpr int kMostRanks = 8;
constexpr int kVersion = 22703;

struct UniqueId {
  char internal[128];
};

// What the ranks must agree about.
struct Call {
  Kind kind;
  size_t count;
  Type type;
  Reduction reduction;
  int root;
  bool operator==(const Call&) const = default;
};

struct Shared {
  std::atomic<int> arrived;
  std::atomic<unsigned> round;
  Call calls[kMostRanks];
  std::atomic<size_t> mail[kMostRanks][kMostRanks];  // bytes + 1 from the first to the second; 0: empty
};

struct Communicator {
  int rank, size;
  char* memory;
  std::atomic<bool> aborted{false};

  Shared& shared() const { return *reinterpret_cast<Shared*>(memory); }
  char* slot(int of) const { return memory + sizeof(Shared) + static_cast<size_t>(of) * kSlot; }
  char* mailbox(int from, int to) const { return slot(size) + static_cast<size_t>(from * size + to) * kMailbox; }
  static size_t bytes(int size) {
    return sizeof(Shared) + static_cast<size_t>(size) * kSlot + static_cast<size_t>(size * size) * kMailbox;
  }
};

// Communicators are never freed: a stream may still hold operations of one that was aborted.
Handles<Communicator>& communicators() {
  static auto& all = *new Handles<Communicator>("communicator");
  return all;
}

// Waits, without the emulator's lock, until `ready`; returns false if the communicator is aborted.
template <class F>
bool wait_until(const Communicator& c, F&& ready) {
  WithoutLock free;
  while (!ready()) {
    if (c.aborted) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool meet(const Communicator& c) {
  Shared& s = c.shared();
  const unsigned round = s.round;
  if (++s.arrived == c.size) {
    s.arrived = 0;
    ++s.round;
    return true;
  }
  return wait_until(c, [&] { return s.round != round; });
}

size_t size_of(Type type) {
  constexpr std::array<size_t, 10> sizes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  if (type < 0 || static_cast<size_t>(type) >= sizes.size())
    fail(CUDA_ERROR_NOT_SUPPORTED, "the emulator has no collectives of type %d", static_cast<int>(type));
  return sizes[static_cast<size_t>(type)];
}

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    bits = static_cast<uint16_t>((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

template <class Sum>
Sum combined(Sum a, Sum b, Reduction reduction) {
  switch (reduction) {
    case kProduct:
      return a * b;
    case kMax:
      return std::max(a, b);
    case kMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

// Elements [first, first + count) of all slots, reduced into `out`; halves are summed in float.
template <class T, class Sum>
void reduce_as(const Communicator& c, const Call& call, size_t first, size_t count, void* out) {
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](int rank) { return static_cast<Sum>(reinterpret_cast<const T*>(c.slot(rank))[first + i]); };
    Sum total = at(0);
    for (int rank = 1; rank < c.size; ++rank) total = combined(total, at(rank), call.reduction);
    if (call.reduction == kAverage) total /= static_cast<Sum>(c.size);
    static_cast<T*>(out)[i] = static_cast<T>(total);
  }
}

void reduce(const Communicator& c, const Call& call, size_t first, size_t count, void* out) {
  switch (call.type) {
    case kInt8:
      return reduce_as<int8_t, int8_t>(c, call, first, count, out);
    case kUint8:
      return reduce_as<uint8_t, uint8_t>(c, call, first, count, out);
    case kInt32:
      return reduce_as<int32_t, int32_t>(c, call, first, count, out);
    case kUint32:
      return reduce_as<uint32_t, uint32_t>(c, call, first, count, out);
    case kInt64:
      return reduce_as<int64_t, int64_t>(c, call, first, count, out);
    case kUint64:
      return reduce_as<uint64_t, uint64_t>(c, call, first, count, out);
    case kHalf:
      return reduce_as<Half, float>(c, call, first, count, out);
    case kFloat:
      return reduce_as<float, float>(c, call, first, count, out);
    case kDouble:
      return reduce_as<double, double>(c, call, first, count, out);
    case kBFloat16:
      return reduce_as<BFloat16, float>(c, call, first, count, out);
  }
}

// Runs one collective on this rank.
void take_part(const Communicator& c, const Call& call, const void* source, void* target) {
  const size_t bytes = call.count * size_of(call.type), ranks = static_cast<size_t>(c.size);
  const size_t given = call.kind == Kind::kReduceScatter ? bytes * ranks : bytes;
  Shared& s = c.shared();
  s.calls[c.rank] = call;
  if (call.kind != Kind::kBroadcast || c.rank == call.root) std::memcpy(c.slot(c.rank), source, given);
  if (!meet(c)) return;
  const bool same = std::all_of(s.calls, s.calls + c.size, [&](const Call& other) { return other == call; });
  if (same) {
    if (call.kind == Kind::kAllReduce || (call.kind == Kind::kReduce && c.rank == call.root))
      reduce(c, call, 0, call.count, target);
    if (call.kind == Kind::kReduceScatter)
      reduce(c, call, static_cast<size_t>(c.rank) * call.count, call.count, target);
    if (call.kind == Kind::kBroadcast) std::memcpy(target, c.slot(call.root), bytes);
    if (call.kind == Kind::kAllGather) {
      for (size_t rank = 0; rank < ranks; ++rank)
        std::memcpy(static_cast<char*>(target) + rank * bytes, c.slot(static_cast<int>(rank)), bytes);
    }
  }
  meet(c);  // nobody overwrites a slot that another rank still reads
  if (!same) fail(CUDA_ERROR_LAUNCH_FAILED, "NCCL: the ranks called different collectives");
}

struct Message {
  bool sends;
  void* data;
  size_t bytes;
  int peer;
};

// Sends and receives in any order. A send is over when the other rank has received it.
void exchange(const Communicator& c, const std::vector<Message>& messages) {
  enum class State { kWaits, kSent, kDone };
  std::vector<State> states(messages.size(), State::kWaits);
  auto& mail = c.shared().mail;
  auto advance = [&](size_t i) {
    const Message& m = messages[i];
    // Messages between two ranks keep their order.
    for (size_t j = 0; j < i; ++j) {
      if (messages[j].sends == m.sends && messages[j].peer == m.peer && states[j] != State::kDone) return;
    }
    auto& letter = m.sends ? mail[c.rank][m.peer] : mail[m.peer][c.rank];
    if (m.sends && states[i] == State::kSent) {
      if (letter == 0) states[i] = State::kDone;
    } else if (m.sends && letter == 0) {
      std::memcpy(c.mailbox(c.rank, m.peer), m.data, m.bytes);
      letter = m.bytes + 1;
      states[i] = State::kSent;
    } else if (!m.sends && letter != 0) {
      if (letter != m.bytes + 1)
        fail(CUDA_ERROR_LAUNCH_FAILED, "NCCL: rank %d receives %zu bytes from rank %d, which sent %zu", c.rank, m.bytes,
             m.peer, letter - 1);
      std::memcpy(m.data, c.mailbox(m.peer, c.rank), m.bytes);
      letter = 0;
      states[i] = State::kDone;
    }
  };
  wait_until(c, [&] {
    for (size_t i = 0; i < messages.size(); ++i) {
      if (states[i] != State::kDone) advance(i);
    }
    return std::all_of(states.begin(), states.end(), [](State state) { return state == State::kDone; });
  });
}

// Calls between ncclGroupStart and ncclGroupEnd: messages of one stream become one operation.
struct Group {
  struct Batch {
    std::shared_ptr<Communicator> communicator;
    std::shared_ptr<Stream> stream;
    std::vector<Message> messages;
  };
  int depth = 0;
  std::vector<Batch> batches = {};
};
thread_local Group group;

void enqueue_batches() {
  for (Group::Batch& batch : group.batches) {
    auto run = [batch] { exchange(*batch.communicator, batch.messages); };
    enqueue(batch.stream, {.name = "NCCL messages", .run = run});
  }
  group.batches.clear();
}

std::string& last_error() {
  thread_local std::string text;
  return text;
}

template <class F>
Result guarded_call(const char* name, F&& body) {
  return call(name, Needs::kInit, body) == CUDA_SUCCESS ? kSuccess : kInvalidArgument;
}

void check_buffer(const void* data, size_t bytes, size_t limit, const char* what) {
  if (bytes > limit) fail(CUDA_ERROR_NOT_SUPPORTED, "NCCL: the emulator has no room for %zu bytes", bytes);
  if (bytes) check_device_range(data, bytes, what);
}

Result collective(const char* name, const Call& call, const void* source, void* target, void* handle, CUstream stream) {
  return guarded_call(name, [&] {
    const auto& c = communicators().get(handle);
    const size_t bytes = call.count * size_of(call.type), ranks = static_cast<size_t>(c->size);
    const bool root = c->rank == call.root;
    if (call.kind != Kind::kBroadcast || root)
      check_buffer(source, call.kind == Kind::kReduceScatter ? bytes * ranks : bytes, kSlot,
                   "the input of a collective");
    if (call.kind != Kind::kReduce || root)
      check_buffer(target, call.kind == Kind::kAllGather ? bytes * ranks : bytes, kSlot * ranks,
                   "the output of a collective");
    auto run = [c, call, source, target] { take_part(*c, call, source, target); };
    enqueue(stream_of(stream), {.name = name, .run = run});
  });
}

Result message(const char* name, Message m, Type type, void* handle, CUstream stream) {
  return guarded_call(name, [&] {
    const auto& c = communicators().get(handle);
    m.bytes *= size_of(type);
    if (m.peer < 0 || m.peer >= c->size) fail(CUDA_ERROR_INVALID_VALUE, "NCCL: there is no rank %d", m.peer);
    check_buffer(m.data, m.bytes, kMailbox, "a message");
    const auto& to = stream_of(stream);
    if (group.batches.empty() || group.batches.back().stream != to || group.batches.back().communicator != c)
      group.batches.push_back({.communicator = c, .stream = to, .messages = {}});
    group.batches.back().messages.push_back(m);
    if (!group.depth) enqueue_batches();
  });
}

char* map(const char* name, int size) {
  const int file = shm_open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(Communicator::bytes(size))))
    fail(CUDA_ERROR_UNKNOWN, "NCCL: no shared memory %s", name);
  void* memory = mmap(nullptr, Communicator::bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) fail(CUDA_ERROR_OUT_OF_MEMORY, "NCCL: no shared memory %s", name);
  return static_cast<char*>(memory);
}

}  // namespace

#define NCCL_API EMULATOR_API(Result)

NCCL_API ncclGetVersion(int* version) {
  *version = kVersion;
  return kSuccess;
}
EMULATOR_API(const char*) ncclGetErrorString(Result result) {
  return result == kSuccess ? "no error" : result == kInvalidUsage ? "invalid usage" : "invalid argument";
}
EMULATOR_API(const char*) ncclGetLastError(void*) { return last_error().c_str(); }

NCCL_API ncclGetUniqueId(UniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/undertow_nccl_%08x%08x", random(), random());
  return kSuccess;
}

NCCL_API ncclCommInitRank(void** out, int size, UniqueId id, int rank) {
  last_error().clear();
  if (size < 1 || size > kMostRanks || rank < 0 || rank >= size) {
    last_error() = "there is no such rank";
    return kInvalidArgument;
  }
  return guarded_call("ncclCommInitRank", [&] {
    current_device();  // fails where the thread has none
    auto made = std::make_shared<Communicator>(rank, size, map(id.internal, size));
    meet(*made);
    if (rank == 0) shm_unlink(id.internal);
    *out = communicators().add(made);
  });
}
NCCL_API ncclCommDestroy(void* handle) {
  return guarded_call("ncclCommDestroy", [&] { communicators().remove(handle); });
}
NCCL_API ncclCommAbort(void* handle) {
  return guarded_call("ncclCommAbort", [&] { communicators().remove(handle)->aborted = true; });
}
NCCL_API ncclCommGetAsyncError(void* handle, Result* state) {
  return guarded_call("ncclCommGetAsyncError", [&] {
    communicators().get(handle);
    *state = kSuccess;
  });
}

NCCL_API ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
NCCL_API ncclGroupEnd() {
  if (!group.depth) return kInvalidUsage;
  return --group.depth ? kSuccess : guarded_call("ncclGroupEnd", enqueue_batches);
}

NCCL_API ncclAllReduce(const void* source, void* target, size_t count, Type type, Reduction reduction, void* c,
                       CUstream stream) {
  return collective("ncclAllReduce", {Kind::kAllReduce, count, type, reduction, 0}, source, target, c, stream);
}
NCCL_API ncclReduce(const void* source, void* target, size_t count, Type type, Reduction reduction, int root, void* c,
                    CUstream stream) {
  return collective("ncclReduce", {Kind::kReduce, count, type, reduction, root}, source, target, c, stream);
}
NCCL_API ncclReduceScatter(const void* source, void* target, size_t count, Type type, Reduction reduction, void* c,
                           CUstream stream) {
  return collective("ncclReduceScatter", {Kind::kReduceScatter, count, type, reduction, 0}, source, target, c, stream);
}
NCCL_API ncclBroadcast(const void* source, void* target, size_t count, Type type, int root, void* c, CUstream stream) {
  return collective("ncclBroadcast", {Kind::kBroadcast, count, type, kSum, root}, source, target, c, stream);
}
NCCL_API ncclAllGather(const void* source, void* target, size_t count, Type type, void* c, CUstream stream) {
  return collective("ncclAllGather", {Kind::kAllGather, count, type, kSum, 0}, source, target, c, stream);
}
NCCL_API ncclSend(const void* data, size_t count, Type type, int peer, void* c, CUstream stream) {
  return message("ncclSend", {true, const_cast<void*>(data), count, peer}, type, c, stream);
}
NCCL_API ncclRecv(void* data, size_t count, Type type, int peer, void* c, CUstream stream) {
  return message("ncclRecv", {false, data, count, peer}, type, c, stream);
}
