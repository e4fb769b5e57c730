// allocator.cpp: see allocator.h.
#include "core/kernels/cuda/runtime/allocator.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/kernels/cuda/runtime/block_pool.h"
#include "core/kernels/cuda/runtime/capture_mode.h"
#include "core/kernels/cuda/runtime/memory_stats.h"
#include "core/kernels/cuda/runtime/stream.h"

namespace undertow::core::cuda {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMinBlock = 512;            // sizes are multiples of it
constexpr size_t kSmallRequest = kMiB;       // the largest request of the small pool
constexpr size_t kSmallSegment = 2 * kMiB;   // what is asked of the driver for it
constexpr size_t kLargeSegment = 20 * kMiB;  // what is asked of the driver for requests below kOwnSegment
constexpr size_t kOwnSegment = 10 * kMiB;    // a request from this size on gets a segment of its own size
constexpr size_t kSegmentStep = 2 * kMiB;

std::string size_text(size_t bytes) {
  char text[32];
  double v = static_cast<double>(bytes);
  int unit = 0;
  while (v >= 1024 && unit < 3) v /= 1024, unit++;
  std::snprintf(text, sizeof(text), unit ? "%.2f %s" : "%.0f %s", v,
                (const char*[]){"bytes", "KiB", "MiB", "GiB"}[unit]);
  return text;
}

// A pool of its own for captured graphs.
struct PrivatePool {
  BlockPool small, large;
  int users = 0;  // graphs that were captured with it
  explicit PrivatePool(int64_t number) : small{true, number, {}}, large{false, number, {}} {}
};

class CachingAllocator {
 public:
  void* allocate(size_t nbytes, int device, CUstream stream) {
    std::lock_guard lock(mutex_);
    if (!events_.empty() && captures_.empty()) free_reached(false);
    size_t bytes = (nbytes + kMinBlock - 1) / kMinBlock * kMinBlock;
    if (Block* block = take_recent(bytes, stream)) {
      block->allocated = true;
      block->requested = nbytes;
      count_allocated(*block, 1);
      count_active(*block, 1);
      return block->address;
    }
    BlockPool& pool = pool_for(bytes, stream);
    Block* block = take_free(pool, bytes, stream);
    if (!block) block = fresh(pool, bytes, device, stream);
    block = split(block, bytes);
    block->allocated = true;
    block->requested = nbytes;
    used_.emplace(block->address, block);
    count_allocated(*block, 1);
    count_active(*block, 1);
    return block->address;
  }

  void deallocate(void* p, int device) {
    std::lock_guard lock(mutex_);
    auto found = used_.find(static_cast<char*>(p));
    UT_ASSERT(found != used_.end() && found->second->allocated, "unknown block");
    Block* block = found->second;
    block->allocated = false;
    count_allocated(*block, -1);
    if (keep_recent(block)) return count_active(*block, -1);
    used_.erase(found);
    if (block->used_by.empty()) return make_free(block);
    if (!captures_.empty())
      waiting_for_capture_.push_back(block);  // an event recorded now would belong to the capture
    else
      wait_for_streams(block, device);
  }

  void record_stream(const void* p, CUstream stream) {
    std::lock_guard lock(mutex_);
    auto found = used_.find(static_cast<char*>(const_cast<void*>(p)));
    if (found == used_.end() || !found->second->allocated) return;  // memory of another library
    Block* b = found->second;
    if (stream == b->stream || std::find(b->used_by.begin(), b->used_by.end(), stream) != b->used_by.end()) return;
    b->used_by.push_back(stream);
  }

  void empty_cache(int device) {
    std::lock_guard lock(mutex_);
    if (segments_.empty()) return;
    DeviceGuard guard(device);
    if (captures_.empty()) free_reached(true);
    free_recent();
    return_free_segments();
  }

  void set_fraction(double fraction, int device) {
    size_t available = 0, total = 0;
    DeviceGuard guard(device);
    check(driver().mem_get_info(&available, &total), "cuMemGetInfo");
    std::lock_guard lock(mutex_);
    fraction_ = fraction;
    limit_ = static_cast<size_t>(fraction * static_cast<double>(total));
  }
  double fraction() {
    std::lock_guard lock(mutex_);
    return fraction_;
  }

  template <class F>
  auto with_stats(F&& f) {
    std::lock_guard lock(mutex_);
    return f(stats_);
  }

  std::vector<CudaFigures> snapshot(int device) {
    std::lock_guard lock(mutex_);
    std::vector<CudaFigures> out;
    for (Block* first : segments_)
      for (Block* b = first; b; b = b->behind)
        out.push_back({{"device", device},
                       {"segment", reinterpret_cast<int64_t>(first->address)},
                       {"address", reinterpret_cast<int64_t>(b->address)},
                       {"size", static_cast<int64_t>(b->bytes)},
                       {"requested_size", b->allocated ? static_cast<int64_t>(b->requested) : 0},
                       {"stream", reinterpret_cast<int64_t>(b->stream)},
                       {"allocated", b->allocated},
                       {"waits", b->events > 0},
                       {"small", b->pool->small},
                       {"pool", b->pool->owner}});
    return out;
  }

  void begin_pool(int64_t number) {
    std::lock_guard lock(mutex_);
    free_recent();
    auto& pool = private_[number];
    if (!pool) pool = std::make_unique<PrivatePool>(number);
    pool->users++;
    captures_.push_back(pool.get());
  }
  void end_pool(int64_t number, int device) {
    std::lock_guard lock(mutex_);
    std::erase_if(captures_, [&](PrivatePool* p) { return p->small.owner == number; });
    if (!captures_.empty()) return;
    for (Block* b : waiting_for_capture_) wait_for_streams(b, device);
    waiting_for_capture_.clear();
  }
  void release_pool(int64_t number) {
    std::lock_guard lock(mutex_);
    auto found = private_.find(number);
    if (found != private_.end()) found->second->users--;
  }

 private:
  // Small blocks that were freed last are kept aside by size, still in the map of used ones: most requests of a program
  // repeat sizes, and are served without searching the sets. `recent_` has one list per size, modulo its length.
  Block* take_recent(size_t bytes, CUstream stream) {
    for (Block** at = &recent_[bytes / kMinBlock % kRecentLists]; Block* b = *at; at = &b->next_recent) {
      if (b->bytes != bytes || b->stream != stream) continue;
      *at = b->next_recent;
      b->recent = false;
      number_of_recent_--;
      return b;
    }
    return nullptr;
  }
  bool keep_recent(Block* b) {
    if (b->pool != &small_ || !b->used_by.empty() || !captures_.empty() || number_of_recent_ >= kMostRecent)
      return false;
    Block*& first = recent_[b->bytes / kMinBlock % kRecentLists];
    b->next_recent = first;
    b->recent = true;
    first = b;
    number_of_recent_++;
    return true;
  }
  void free_recent() {
    for (Block*& first : recent_)
      while (Block* b = first) {
        first = b->next_recent;
        b->recent = false;
        used_.erase(b->address);
        count_active(*b, 1);  // make_free counts it down again
        make_free(b);
      }
    number_of_recent_ = 0;
  }

  BlockPool& pool_for(size_t bytes, CUstream stream) {
    bool small = bytes <= kSmallRequest;
    if (UT_UNLIKELY(!captures_.empty())) {
      int status = kCaptureNone;
      driver().stream_is_capturing(stream, &status);
      if (status == kCaptureActive) return small ? captures_.back()->small : captures_.back()->large;
    }
    return small ? small_ : large_;
  }

  // The smallest free block that is large enough.
  static Block* take_free(BlockPool& pool, size_t bytes, CUstream stream) {
    Block wanted;
    wanted.stream = stream;
    wanted.bytes = bytes;
    auto found = pool.free.lower_bound(&wanted);
    if (found == pool.free.end() || (*found)->stream != stream) return nullptr;
    Block* block = *found;
    pool.free.erase(found);
    return block;
  }

  // A block that is a whole new segment, or a cached one that became free meanwhile.
  Block* fresh(BlockPool& pool, size_t bytes, int device, CUstream stream) {
    size_t segment = pool.small            ? kSmallSegment
                     : bytes < kOwnSegment ? kLargeSegment
                                           : (bytes + kSegmentStep - 1) / kSegmentStep * kSegmentStep;
    if (number_of_recent_) {
      free_recent();
      if (Block* found = take_free(pool, bytes, stream)) return found;
    }
    CUdeviceptr p = ask_driver(segment);
    if (!p) {
      stats_.retries++;
      if (captures_.empty()) free_reached(true);
      if (Block* found = take_free(pool, bytes, stream)) return found;
      return_free_segments();
      p = ask_driver(segment);
    }
    if (!p) {
      stats_.out_of_memory++;
      raise_out_of_memory(bytes, device);
    }
    auto* block = new Block;
    block->address = reinterpret_cast<char*>(p);
    block->bytes = segment;
    block->stream = stream;
    block->pool = &pool;
    segments_.insert(block);
    stats_.add(Quantity::Segment, pool.small, 1);
    stats_.add(Quantity::ReservedBytes, pool.small, static_cast<int64_t>(segment));
    return block;
  }

  // 0 if there is not enough.
  CUdeviceptr ask_driver(size_t bytes) {
    if (limit_ && static_cast<size_t>(stats_.current(Quantity::ReservedBytes)) + bytes > limit_) return 0;
    CUdeviceptr p = 0;
    RelaxedCapture relaxed;
    CUresult result = driver().mem_alloc(&p, bytes);
    if (result == kOutOfMemory) return 0;
    check(result, "cuMemAlloc");
    stats_.driver_allocations++;
    return p;
  }

  [[noreturn]] void raise_out_of_memory(size_t bytes, int device) {
    size_t available = 0, total = 0;
    driver().mem_get_info(&available, &total);
    auto used = static_cast<size_t>(stats_.current(Quantity::AllocatedBytes));
    auto reserved = static_cast<size_t>(stats_.current(Quantity::ReservedBytes));
    UT_FAIL_AS(OutOfMemory, "CUDA out of memory. Tried to allocate ", size_text(bytes), ". GPU ", device,
               " has a total capacity of ", size_text(total), " of which ", size_text(available), " is free",
               limit_ ? str("; this process may use ", size_text(limit_)) : std::string(), ". ", size_text(used),
               " is allocated by tensors, and ", size_text(reserved - used),
               " is reserved but unallocated. If that is large, memory may be fragmented.");
  }

  // Cuts a free block to the size if the rest is worth keeping; the rest is free.
  Block* split(Block* block, size_t bytes) {
    size_t rest = block->bytes - bytes;
    const bool was_split = block->is_split();
    const bool worth = block->pool->small ? rest >= kMinBlock : rest > kSmallRequest;
    if (was_split) count_inactive(*block, -1);
    if (!worth) return block;
    auto* remaining = new Block;
    remaining->address = block->address + bytes;
    remaining->bytes = rest;
    remaining->stream = block->stream;
    remaining->pool = block->pool;
    remaining->before = block;
    remaining->behind = block->behind;
    if (remaining->behind) remaining->behind->before = remaining;
    block->behind = remaining;
    block->bytes = bytes;
    block->pool->free.insert(remaining);
    count_inactive(*remaining, 1);
    return block;
  }

  void make_free(Block* block) {
    count_active(*block, -1);
    block = join(block, block->before);
    block = join(block, block->behind);
    block->pool->free.insert(block);
    if (block->is_split()) count_inactive(*block, 1);
  }

  static bool is_free(const Block* b) {
    return b && !b->allocated && !b->recent && b->events == 0 && b->used_by.empty();
  }

  // Joins a block that is not in the free set with a neighbour that is, if it is free; returns the joined block.
  Block* join(Block* block, Block* neighbour) {
    if (!is_free(neighbour)) return block;
    neighbour->pool->free.erase(neighbour);
    count_inactive(*neighbour, -1);
    Block *first = neighbour == block->before ? neighbour : block, *second = first == block ? neighbour : block;
    first->bytes += second->bytes;
    first->behind = second->behind;
    if (first->behind) first->behind->before = first;
    delete second;
    return first;
  }

  // Records an event on each stream that used the block; it becomes free when they are reached.
  // Called when a tensor is destroyed, so a failure is not raised: the block is then lost, not given out too early.
  void wait_for_streams(Block* block, int device) {
    DeviceGuard guard(device);
    bool failed = false;
    for (CUstream stream : block->used_by) {
      CUevent event = nullptr;
      failed |= driver().event_create(&event, kEventDisableTiming) != kSuccess ||
                driver().event_record(event, stream) != kSuccess;
      if (failed) break;
      block->events++;
      events_.push_back({event, block});
    }
    if (failed) block->events++;
    block->used_by.clear();
  }

  // Frees blocks whose events have been reached; `all`: waits for them.
  void free_reached(bool all) {
    if (all && !events_.empty()) stats_.synchronizations++;
    for (size_t left = events_.size(); left > 0; left--) {
      auto [event, block] = events_.front();
      events_.pop_front();
      if (all) {
        check(driver().event_synchronize(event), "cuEventSynchronize");
      } else {
        CUresult result = driver().event_query(event);
        if (result == kNotReady) {
          events_.push_back({event, block});
          continue;
        }
        check(result, "cuEventQuery");
      }
      check(driver().event_destroy(event), "cuEventDestroy");
      if (--block->events == 0) make_free(block);
    }
  }

  // Returns segments that are one free block to the driver. It waits for the device.
  void return_free_segments() {
    return_segments_of(small_);
    return_segments_of(large_);
    for (auto at = private_.begin(); at != private_.end();) {
      PrivatePool& pool = *at->second;
      if (pool.users == 0) {
        return_segments_of(pool.small);
        return_segments_of(pool.large);
      }
      bool gone = pool.users == 0 && !has_segments(pool);
      at = gone ? private_.erase(at) : std::next(at);
    }
  }
  bool has_segments(const PrivatePool& pool) const {
    for (Block* b : segments_)
      if (b->pool->owner == pool.small.owner) return true;
    return false;
  }
  void return_segments_of(BlockPool& pool) {
    for (auto at = pool.free.begin(); at != pool.free.end();) {
      Block* b = *at;
      if (b->is_split()) {
        ++at;
        continue;
      }
      RelaxedCapture relaxed;
      check(driver().mem_free(reinterpret_cast<CUdeviceptr>(b->address)), "cuMemFree");
      stats_.driver_frees++;
      stats_.add(Quantity::Segment, pool.small, -1);
      stats_.add(Quantity::ReservedBytes, pool.small, -static_cast<int64_t>(b->bytes));
      at = pool.free.erase(at);
      segments_.erase(b);
      delete b;
    }
  }

  void count(Quantity number, Quantity bytes, const Block& b, int64_t sign) {
    stats_.add(number, b.pool->small, sign);
    stats_.add(bytes, b.pool->small, sign * static_cast<int64_t>(b.bytes));
  }
  void count_allocated(const Block& b, int64_t sign) {
    count(Quantity::Allocation, Quantity::AllocatedBytes, b, sign);
    stats_.add(Quantity::RequestedBytes, b.pool->small, sign * static_cast<int64_t>(b.requested));
  }
  void count_active(const Block& b, int64_t sign) { count(Quantity::Active, Quantity::ActiveBytes, b, sign); }
  void count_inactive(const Block& b, int64_t sign) {
    count(Quantity::InactiveSplit, Quantity::InactiveSplitBytes, b, sign);
  }

  struct Pending {
    CUevent event;
    Block* block;
  };
  std::mutex mutex_;  // guards everything below
  BlockPool small_{true, 0, {}}, large_{false, 0, {}};
  std::map<int64_t, std::unique_ptr<PrivatePool>> private_;
  std::vector<PrivatePool*> captures_;  // pools of the captures under way, the last one first
  std::unordered_map<char*, Block*> used_;
  static constexpr size_t kRecentLists = 64, kMostRecent = 256;
  Block* recent_[kRecentLists] = {};
  size_t number_of_recent_ = 0;
  std::set<Block*> segments_;  // the first block of each
  std::deque<Pending> events_;
  std::vector<Block*> waiting_for_capture_;
  MemoryStats stats_;
  double fraction_ = 1;
  size_t limit_ = 0;  // bytes; 0: no limit
};

CachingAllocator& allocator(int device) {
  static CachingAllocator* all = new CachingAllocator[kMaxDevices];  // never destroyed: tensors may outlive statics
  return all[device];
}

}  // namespace

void* allocate(size_t nbytes, int device) { return allocate_on_stream(nbytes, device, current_stream(device)); }
void* allocate_on_stream(size_t nbytes, int device, CUstream stream) {
  if (nbytes == 0) return nullptr;
  DeviceGuard guard(device);
  return allocator(device).allocate(nbytes, device, stream);
}
void deallocate(void* p, int device) {
  if (p) allocator(device).deallocate(p, device);
}
void record_stream(const void* p, int device, CUstream stream) { allocator(device).record_stream(p, stream); }
void empty_cache() {
  for (int d = 0; d < device_count(); d++) allocator(d).empty_cache(d);
}

void set_memory_fraction(int device, double fraction) { allocator(device).set_fraction(fraction, device); }
double memory_fraction(int device) { return allocator(device).fraction(); }

CudaFigures memory_stats(int device) {
  return allocator(device).with_stats([](MemoryStats& s) { return s.all(); });
}
void reset_peak_stats(int device) {
  allocator(device).with_stats([](MemoryStats& s) { s.reset_peak(); });
}
void reset_accumulated_stats(int device) {
  allocator(device).with_stats([](MemoryStats& s) { s.reset_accumulated(); });
}
std::vector<CudaFigures> memory_snapshot(int device) { return allocator(device).snapshot(device); }

void begin_pool(int device, int64_t pool) { allocator(device).begin_pool(pool); }
void end_pool(int device, int64_t pool) { allocator(device).end_pool(pool, device); }
void release_pool(int device, int64_t pool) { allocator(device).release_pool(pool); }

}  // namespace undertow::core::cuda
