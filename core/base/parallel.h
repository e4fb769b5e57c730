// parallel.h: parallel_for on our own small thread pool, and the number of threads it may use.
// Knows index ranges only, not what a chunk computes; knows nothing about tensors or Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace undertow::core {

// With fewer elements of simple work than this, one thread is faster than waking another.
inline constexpr int64_t kParallelGrain = 32 * 1024;

// Note [Fixed Chunks]
// The chunks of parallel_for depend only on (begin, end, grain): chunk i is [begin + i*grain, begin + (i+1)*grain), and
// the last one ends at `end`. They never depend on the number of threads; with one thread the same chunks run one after
// the other. So a kernel that reduces within each chunk and combines the chunks in order gives bitwise the same result
// with any number of threads.

namespace detail {
using ChunkFn = void (*)(void* context, int64_t begin, int64_t end);

// 0 until first use. Atomic because any thread may set it while kernels read it; no other data depends on it.
extern std::atomic<int> thread_count;
int init_num_threads();
void run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFn fn, void* context);
}  // namespace detail

// The number of threads a parallel_for may use, including the caller. Initially default_num_threads() (cpu_limit.h).
inline int num_threads() {
  int n = detail::thread_count.load(std::memory_order_relaxed);
  return n > 0 ? n : detail::init_num_threads();
}

// Throws std::runtime_error unless n is positive.
void set_num_threads(int n);

// True while this thread runs a chunk of a parallel_for that uses the pool. A nested parallel_for runs inline.
bool in_parallel_region();

// Calls f(chunk_begin, chunk_end) for every chunk, in any order and on any thread, and returns when all are done. If
// chunks throw, the exception of the lowest of them is rethrown here, as in a plain loop; later chunks may then never
// run. The same if a signal handler raises between chunks. See Note [Fixed Chunks] and Note [Signals In Long Work].
template <class F>
inline void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (grain < 1) grain = 1;
  if (end - begin <= grain) {
    f(begin, end);
    return;
  }
  using Body = std::remove_reference_t<F>;
  detail::run_chunks(
      begin, end, grain, [](void* context, int64_t b, int64_t e) { (*static_cast<Body*>(context))(b, e); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace undertow::core
