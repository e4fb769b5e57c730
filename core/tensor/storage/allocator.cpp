// allocator.cpp: a caching allocator: size classes in steps of 1/8 of a power of two, with a list of free blocks per
// class.
//
// Note [Caching Allocator]
// A new 40 MB block costs about 10,000 page faults, more than the arithmetic on it, so freed blocks are kept and
// reused. Size classes are 1/8 apart, so at most 12.5 % is wasted. The cache holds at most kCacheLimit bytes; beyond
// that, blocks go back to the system at once. Most calls are for blocks of a few kilobytes, so each thread keeps a
// short stack of them per class, and only a full or empty stack needs the lock.
#include "core/tensor/storage/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/base/error.h"

namespace undertow::core {
namespace {

constexpr size_t kCacheLimit = size_t{2} << 30;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int kClasses = 8 * 48;
constexpr size_t kThreadMax = 64 * 1024;  // largest block in a thread's own cache
constexpr int kThreadClasses = 8 * 18;
constexpr int kThreadDepth = 4;

struct SizeClass {
  int index;
  size_t bytes;
};
SizeClass size_class(size_t nbytes) {
  if (nbytes < 64) nbytes = 64;
  int top = std::bit_width(nbytes - 1) - 1;  // 2^top <= nbytes-1 < 2^(top+1)
  size_t step = std::max<size_t>(size_t{1} << top >> 3, 8);
  size_t above = nbytes - (size_t{1} << top);
  size_t eighth = (above + step - 1) / step;
  return {top * 8 + static_cast<int>(eighth), (size_t{1} << top) + eighth * step};
}

size_t class_bytes(int index) {
  return (size_t{1} << index / 8) + static_cast<size_t>(index % 8) * std::max<size_t>(size_t{1} << index / 8 >> 3, 8);
}

struct Cache {
  std::mutex mutex;  // guards free and cached
  std::vector<void*> free[kClasses + 16];
  size_t cached = 0;  // bytes in `free`, without the threads' own blocks
};
Cache& cache() {
  static Cache* c = new Cache;  // leaked: tensors may be destroyed after static destruction
  return *c;
}
std::atomic<size_t> in_use{0}, peak{0}, reserved{0};  // atomic: statistics, updated by every thread

struct ThreadBlocks {
  void* stack[kThreadClasses][kThreadDepth];
  uint8_t depth[kThreadClasses];
};
thread_local ThreadBlocks* local_blocks __attribute__((tls_model("initial-exec"))) = nullptr;

void* system_alloc(size_t bytes) {
  size_t align = bytes >= kHugePage ? kHugePage : 64;
  void* p = nullptr;
  if (posix_memalign(&p, align, bytes) != 0) p = nullptr;
#ifdef MADV_HUGEPAGE
  if (p && bytes >= kHugePage) madvise(p, bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
#endif
  if (p) reserved.fetch_add(bytes, std::memory_order_relaxed);
  return p;
}
void system_free(void* p, size_t bytes) {
  reserved.fetch_sub(bytes, std::memory_order_relaxed);
  std::free(p);
}

void to_cache(void* p, int index, size_t bytes) {
  std::lock_guard lock(cache().mutex);
  if (cache().cached + bytes > kCacheLimit) return system_free(p, bytes);
  cache().free[index].push_back(p);
  cache().cached += bytes;
}

void free_blocks(ThreadBlocks& blocks) {
  for (int c = 0; c < kThreadClasses; c++)
    while (blocks.depth[c]) system_free(blocks.stack[c][--blocks.depth[c]], class_bytes(c));
}
void flush_thread(void* p) {
  free_blocks(*static_cast<ThreadBlocks*>(p));
  local_blocks = nullptr;
  std::free(p);
}
void before_fork() { cache().mutex.lock(); }
void after_fork() { cache().mutex.unlock(); }

ThreadBlocks* thread_blocks() {
  if (!local_blocks) {
    static pthread_key_t key = [] {
      pthread_key_t k;
      pthread_key_create(&k, flush_thread);
      pthread_atfork(before_fork, after_fork, after_fork);
      return k;
    }();
    local_blocks = static_cast<ThreadBlocks*>(std::calloc(1, sizeof(ThreadBlocks)));
    UT_CHECK(local_blocks, "not enough memory for a thread's block cache");
    pthread_setspecific(key, local_blocks);
  }
  return local_blocks;
}

void* take_cached(SizeClass c) {
  if (c.bytes <= kThreadMax) {
    ThreadBlocks* t = thread_blocks();
    if (t->depth[c.index]) return t->stack[c.index][--t->depth[c.index]];
  }
  std::lock_guard lock(cache().mutex);
  auto& list = cache().free[c.index];
  if (list.empty()) return nullptr;
  void* p = list.back();
  list.pop_back();
  cache().cached -= c.bytes;
  return p;
}

}  // namespace

void* allocate_bytes(size_t nbytes) {
  UT_CHECK(nbytes < (size_t{1} << 47), "cannot allocate ", nbytes, " bytes: more than any machine has");
  SizeClass c = size_class(nbytes);
  void* p = take_cached(c);
  if (!p) p = system_alloc(c.bytes);
  if (!p) {
    empty_cache();
    p = system_alloc(c.bytes);
  }
  UT_CHECK(p, "not enough memory: you tried to allocate ", nbytes, " bytes");
  size_t now = in_use.fetch_add(c.bytes, std::memory_order_relaxed) + c.bytes;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
  return p;
}

void deallocate_bytes(void* p, size_t nbytes) {
  SizeClass c = size_class(nbytes);
  in_use.fetch_sub(c.bytes, std::memory_order_relaxed);
  if (c.bytes <= kThreadMax) {
    ThreadBlocks* t = thread_blocks();
    if (t->depth[c.index] < kThreadDepth) {
      t->stack[c.index][t->depth[c.index]++] = p;
      return;
    }
  }
  to_cache(p, c.index, c.bytes);
}

AllocatorStats allocator_stats() {
  size_t used = in_use.load(std::memory_order_relaxed);
  return {used, peak.load(std::memory_order_relaxed), reserved.load(std::memory_order_relaxed) - used};
}
void reset_peak_stats() { peak.store(in_use.load()); }

void empty_cache() {
  free_blocks(*thread_blocks());
  {
    std::lock_guard lock(cache().mutex);
    for (int c = 0; c < kClasses + 16; c++) {
      for (void* p : cache().free[c]) system_free(p, class_bytes(c));
      cache().free[c].clear();
    }
    cache().cached = 0;
  }
#ifdef __GLIBC__
  malloc_trim(0);  // blocks below glibc's threshold for mmap, which grows to 32 MB, are still in its heap
#endif
}

}  // namespace undertow::core
