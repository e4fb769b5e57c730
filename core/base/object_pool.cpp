// object_pool.cpp: the slow path of the pool: new slabs, the depot where threads exchange full magazines, and thread
// exit.
#include "core/base/object_pool.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace undertow::core::pool_detail {

constinit thread_local ThreadMagazines* local __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr size_t kClasses = kPoolMaxBytes / kPoolGranule + 1;
constexpr size_t kSlabBytes = 64 * 1024;

// `mutex` guards the depot. While it is held, no user code runs and no other lock is taken.
struct Depot {
  std::mutex mutex;
  std::vector<PoolBlock*> full[kClasses];     // magazines of exactly kMagazineSize blocks
  std::vector<PoolBlock*> partial[kClasses];  // left by threads that exited; any length
  std::vector<ThreadMagazines*> threads;      // of running threads
  size_t made[kClasses] = {};                 // blocks ever cut from slabs
};
Depot& depot() {
  static Depot* d = new Depot;  // leaked: threads may exit after static destruction
  return *d;
}

pthread_key_t exit_key;
pthread_once_t exit_once = PTHREAD_ONCE_INIT;

void on_thread_exit(void* p) {
  auto* pool = static_cast<ThreadMagazines*>(p);
  local = nullptr;
  std::lock_guard lock(depot().mutex);
  std::erase(depot().threads, pool);
  for (size_t c = 0; c < kClasses; c++) {
    Magazine& m = pool->magazines[c];
    if (m.head) depot().partial[c].push_back(m.head);
    if (m.spare) depot().full[c].push_back(m.spare);
  }
  std::free(pool);
}
void before_fork() { depot().mutex.lock(); }
void after_fork() { depot().mutex.unlock(); }
void make_key() {
  pthread_key_create(&exit_key, on_thread_exit);
  pthread_atfork(before_fork, after_fork, after_fork);
}

ThreadMagazines* thread_magazines() {
  if (!local) {
    pthread_once(&exit_once, make_key);
    local = static_cast<ThreadMagazines*>(std::calloc(1, sizeof(ThreadMagazines)));
    if (!local) throw std::bad_alloc();
    pthread_setspecific(exit_key, local);
    std::lock_guard lock(depot().mutex);
    depot().threads.push_back(local);
  }
  return local;
}

uint32_t length(const PoolBlock* b) {
  uint32_t n = 0;
  for (; b; b = b->next) n++;
  return n;
}

}  // namespace

void* refill(size_t cls) {
  Magazine& m = thread_magazines()->magazines[cls];
  if (m.spare) {
    m.head = m.spare;
    m.count = kMagazineSize;
    m.spare = nullptr;
  } else {
    std::lock_guard lock(depot().mutex);
    if (auto& full = depot().full[cls]; !full.empty()) {
      m.head = full.back();
      m.count = kMagazineSize;
      full.pop_back();
    } else if (auto& partial = depot().partial[cls]; !partial.empty()) {
      m.head = partial.back();
      m.count = length(m.head);
      partial.pop_back();
    }
  }
  if (!m.head) {
    size_t bytes = cls ? cls * kPoolGranule : kPoolGranule;
    size_t n = kSlabBytes / bytes;
    char* slab = static_cast<char*>(std::aligned_alloc(64, kSlabBytes));
    if (!slab) throw std::bad_alloc();
    // Linked in address order, so that blocks allocated one after the other are neighbours in memory.
    for (size_t i = n; i-- > 0;) {
      auto* b = reinterpret_cast<PoolBlock*>(slab + i * bytes);
      b->next = m.head;
      m.head = b;
    }
    m.count = static_cast<uint32_t>(n);
    std::lock_guard lock(depot().mutex);
    depot().made[cls] += n;
  }
  PoolBlock* b = m.head;
  m.head = b->next;
  m.count--;
  return b;
}

void spill(size_t cls, void* p) {
  Magazine& m = thread_magazines()->magazines[cls];
  if (m.count >= kMagazineSize) {
    // A slab may hold more blocks than a magazine, so cut the list after kMagazineSize blocks.
    PoolBlock* rest = nullptr;
    if (m.count > kMagazineSize) {
      PoolBlock* b = m.head;
      for (uint32_t i = 1; i < kMagazineSize; i++) b = b->next;
      rest = b->next;
      b->next = nullptr;
    }
    if (m.spare) {
      std::lock_guard lock(depot().mutex);
      depot().full[cls].push_back(m.spare);
    }
    m.spare = m.head;
    m.head = rest;
    m.count = m.count - kMagazineSize;
  }
  auto* b = static_cast<PoolBlock*>(p);
  b->next = m.head;
  m.head = b;
  m.count++;
}

void* malloc_bytes(size_t bytes) {
  void* p = std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void free_bytes(void* p) { std::free(p); }

std::vector<size_t> blocks_in_use() {
  std::vector<size_t> out(kClasses);
  std::lock_guard lock(depot().mutex);
  for (size_t c = 0; c < kClasses; c++) {
    size_t idle = depot().full[c].size() * kMagazineSize;
    for (PoolBlock* b : depot().partial[c]) idle += length(b);
    for (ThreadMagazines* t : depot().threads)
      idle += t->magazines[c].count + (t->magazines[c].spare ? kMagazineSize : 0);
    out[c] = depot().made[c] - idle;
  }
  return out;
}

}  // namespace undertow::core::pool_detail

namespace undertow::core {
std::vector<size_t> pool_blocks_in_use() { return pool_detail::blocks_in_use(); }
}  // namespace undertow::core
