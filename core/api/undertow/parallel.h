// parallel.h: parallel_for on the threads that operators use.
#pragma once
#include <algorithm>
#include <vector>

#include "core/base/parallel.h"

namespace undertow {

namespace internal {
inline constexpr int64_t GRAIN_SIZE = core::kParallelGrain;
inline thread_local int thread_number = 0;
struct ThreadNumber {
  explicit ThreadNumber(int n) : before(thread_number) { thread_number = n; }
  ~ThreadNumber() { thread_number = before; }
  int before;
};
inline int64_t chunk_size(int64_t n, int64_t grain) {
  const int64_t threads = core::in_parallel_region() ? 1 : core::num_threads();
  return std::max(std::max<int64_t>(grain, 1), (n + threads - 1) / threads);
}
}  // namespace internal

inline int get_thread_num() { return internal::thread_number; }
inline bool in_parallel_region() { return core::in_parallel_region(); }

// Calls f(from, to) for parts of [begin, end), in any order: as in torch at most one part for each thread, of at least
// `grain` elements. In f, get_thread_num() is below get_num_threads() and differs between parts that run at once.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (begin >= end) return;
  const int64_t chunk = internal::chunk_size(end - begin, grain);
  if (chunk >= end - begin) return f(begin, end);  // keeps the thread's number
  core::parallel_for(begin, end, chunk, [&](int64_t from, int64_t to) {
    internal::ThreadNumber number(static_cast<int>((from - begin) / chunk));
    f(from, to);
  });
}

// Combines f(from, to, identity) of such parts, in order.
template <class T, class F, class S>
T parallel_reduce(int64_t begin, int64_t end, int64_t grain, T identity, const F& f, const S& combine) {
  if (begin >= end) return identity;
  const int64_t chunk = internal::chunk_size(end - begin, grain);
  std::vector<T> parts(static_cast<size_t>((end - begin + chunk - 1) / chunk), identity);
  core::parallel_for(begin, end, chunk, [&](int64_t from, int64_t to) {
    internal::ThreadNumber number(static_cast<int>((from - begin) / chunk));
    parts[static_cast<size_t>((from - begin) / chunk)] = f(from, to, identity);
  });
  T out = identity;
  for (const T& part : parts) out = combine(out, part);
  return out;
}

}  // namespace undertow
