// object_pool.h: allocates small objects (tensors, nodes, tiny storages) from per-thread free lists.
// Knows only sizes. Freed memory is kept for reuse and never returned to the system.
//
// Note [Small Object Pool]
// A malloc and free pair of glibc costs 20 to 60 ns here, the pool about 3 ns. Each thread owns two magazines (linked
// lists of free blocks) per 16-byte size class. When both are full, one goes to a shared depot; when both are empty,
// one comes from the depot. So a thread that only frees what others allocate does not accumulate blocks. Under a
// sanitizer the pool is plain malloc, so that a use after free is detected.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/error.h"

namespace undertow::core {

inline constexpr size_t kPoolGranule = 16;
inline constexpr size_t kPoolMaxBytes = 512;
inline constexpr uint32_t kMagazineSize = 1024;

struct PoolBlock {
  PoolBlock* next;
};
struct Magazine {
  PoolBlock* head = nullptr;
  uint32_t count = 0;
  PoolBlock* spare = nullptr;  // a full magazine, or null
};
struct ThreadMagazines {
  Magazine magazines[kPoolMaxBytes / kPoolGranule + 1];
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDERTOW_POOL_IS_MALLOC 1
#endif

namespace pool_detail {
// initial-exec: access by a fixed offset from the thread pointer instead of a call. Uses eight bytes of the static TLS
// reserve.
extern constinit thread_local ThreadMagazines* local __attribute__((tls_model("initial-exec")));
void* refill(size_t cls);
void spill(size_t cls, void* p);
void* malloc_bytes(size_t bytes);
void free_bytes(void* p);
}  // namespace pool_detail

UT_HOT_INLINE void* pool_alloc(size_t bytes) {
#ifndef UNDERTOW_POOL_IS_MALLOC
  if (bytes <= kPoolMaxBytes) {
    size_t cls = (bytes + kPoolGranule - 1) / kPoolGranule;
    if (ThreadMagazines* pool = pool_detail::local) {
      Magazine& m = pool->magazines[cls];
      if (PoolBlock* b = m.head) {
        m.head = b->next;
        m.count--;
        return b;
      }
    }
    return pool_detail::refill(cls);
  }
#endif
  return pool_detail::malloc_bytes(bytes);
}

UT_HOT_INLINE void pool_free(void* p, [[maybe_unused]] size_t bytes) {
#ifndef UNDERTOW_POOL_IS_MALLOC
  if (bytes <= kPoolMaxBytes) {
    size_t cls = (bytes + kPoolGranule - 1) / kPoolGranule;
    if (ThreadMagazines* pool = pool_detail::local) {
      Magazine& m = pool->magazines[cls];
      if (m.count < kMagazineSize) {
        auto* b = static_cast<PoolBlock*>(p);
        b->next = m.head;
        m.head = b;
        m.count++;
        return;
      }
    }
    return pool_detail::spill(cls, p);
  }
#endif
  pool_detail::free_bytes(p);
}

// The number of blocks of each size class (index times kPoolGranule bytes) in use, over all threads. Exact only while
// no other thread uses the pool; empty under a sanitizer. For tests that look for leaks.
std::vector<size_t> pool_blocks_in_use();

// For classes whose objects always have the size of their type.
template <class T>
struct Pooled {
  UT_HOT_INLINE static void* operator new(size_t bytes) { return pool_alloc(bytes); }
  UT_HOT_INLINE static void operator delete(void* p, size_t bytes) { pool_free(p, bytes); }
};

}  // namespace undertow::core
