// stream.h: stores that go past the cache, for results much larger than it. Knows bytes only.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace undertow::cpu {

#if defined(__SSE2__)
// Copies `bytes` from `from` (16-byte aligned, in cache) to `to`. Call stream_end() before another thread may look.
static inline void stream_store(char* to, const char* from, int64_t bytes) {
  // Whole 64-byte lines are streamed; the ragged ends are stored plainly.
  int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) & 63);
  if (head > bytes) head = bytes;
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    for (int k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + k)));
  }
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
}
static inline void stream_end() { _mm_sfence(); }
#else
static inline void stream_store(char* to, const char* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
static inline void stream_end() {}
#endif

}  // namespace undertow::cpu
