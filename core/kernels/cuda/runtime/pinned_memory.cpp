// pinned_memory.cpp: see pinned_memory.h.
#include "core/kernels/cuda/runtime/pinned_memory.h"

#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "core/kernels/cuda/runtime/capture_mode.h"
#include "core/kernels/cuda/runtime/event.h"

namespace undertow::core::cuda {

namespace {

struct PinnedBlock {
  size_t bytes = 0;
  bool allocated = false;
  std::vector<CUevent> uses;  // copies that may still run
};

struct PinnedMemory {
  std::mutex mutex;                     // guards everything below
  std::map<char*, PinnedBlock> blocks;  // by address
  std::multimap<size_t, char*> free;    // by size; some may still wait for a copy
  int64_t allocated_bytes = 0, reserved_bytes = 0, requests = 0, driver_calls = 0;
};
PinnedMemory& memory() {
  static auto* all = new PinnedMemory;  // never destroyed: tensors may outlive statics
  return *all;
}
std::atomic<int> number_of_blocks{0};  // atomic: read by every copy between host and device, without the lock

// The block around an address, or the end.
std::map<char*, PinnedBlock>::iterator block_around(PinnedMemory& m, const void* p) {
  auto* address = static_cast<char*>(const_cast<void*>(p));
  auto found = m.blocks.upper_bound(address);
  if (found == m.blocks.begin()) return m.blocks.end();
  --found;
  return address < found->first + found->second.bytes ? found : m.blocks.end();
}

// Forgets the copies that are done.
bool is_idle(PinnedBlock& b) {
  while (!b.uses.empty()) {
    if (driver().event_query(b.uses.back()) == kNotReady) return false;
    driver().event_destroy(b.uses.back());
    b.uses.pop_back();
  }
  return true;
}

}  // namespace

void* allocate_pinned(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  const size_t bytes = std::bit_ceil(nbytes < 512 ? size_t{512} : nbytes);  // so that blocks fit later requests
  PinnedMemory& m = memory();
  std::lock_guard lock(m.mutex);
  m.requests++;
  m.allocated_bytes += static_cast<int64_t>(bytes);
  auto [first, last] = m.free.equal_range(bytes);
  for (auto at = first; at != last; ++at) {
    PinnedBlock& b = m.blocks[at->second];
    if (!is_idle(b)) continue;
    char* address = at->second;
    m.free.erase(at);
    b.allocated = true;
    return address;
  }
  void* p = nullptr;
  {
    DeviceGuard guard(current_device());
    RelaxedCapture relaxed;
    check(driver().mem_host_alloc(&p, bytes, kHostAllocPortable), "cuMemHostAlloc");
  }
  m.driver_calls++;
  m.reserved_bytes += static_cast<int64_t>(bytes);
  m.blocks[static_cast<char*>(p)] = {bytes, true, {}};
  number_of_blocks.fetch_add(1, std::memory_order_relaxed);
  return p;
}

void deallocate_pinned(void* p) {
  if (!p) return;
  PinnedMemory& m = memory();
  std::lock_guard lock(m.mutex);
  PinnedBlock& b = m.blocks.at(static_cast<char*>(p));
  b.allocated = false;
  m.allocated_bytes -= static_cast<int64_t>(b.bytes);
  m.free.emplace(b.bytes, static_cast<char*>(p));
}

bool is_pinned(const void* p) {
  if (number_of_blocks.load(std::memory_order_relaxed) == 0) return false;
  PinnedMemory& m = memory();
  std::lock_guard lock(m.mutex);
  return block_around(m, p) != m.blocks.end();
}

void note_pinned_use(const void* p, int device, CUstream stream) {
  PinnedMemory& m = memory();
  std::lock_guard lock(m.mutex);
  auto found = block_around(m, p);
  if (found == m.blocks.end()) return;
  is_idle(found->second);  // so that the list stays short
  CUevent event = create_event(device, kEventDisableTiming);
  check(driver().event_record(event, stream), "cuEventRecord");
  found->second.uses.insert(found->second.uses.begin(), event);
}

CudaFigures pinned_stats() {
  PinnedMemory& m = memory();
  std::lock_guard lock(m.mutex);
  return {{"allocated_bytes.current", m.allocated_bytes},
          {"reserved_bytes.current", m.reserved_bytes},
          {"allocation.allocated", m.requests},
          {"num_host_alloc", m.driver_calls},
          {"segment.current", static_cast<int64_t>(m.blocks.size())}};
}

}  // namespace undertow::core::cuda
