// cuda_on_host_warp.h: barriers and the functions by which the lanes of a warp exchange values.
#pragma once
#ifdef EMBED_HEADER_TEXT  // see embedded_headers.cpp
EMBED_HEADER_TEXT(cuda_on_host_warp, __FILE__)
#else

// A module that refers to this symbol needs threads that can wait for each other; the emulator looks for it in the
// compiled file. All other modules run each block as a plain loop. The linker drops functions that no kernel calls, and
// with them the reference.
extern "C" __attribute__((weak)) char undertow_emulated_threads_wait;

namespace emulated {

inline const Services* waiting_services() {
  asm volatile("" : : "r"(&undertow_emulated_threads_wait));
  return services;
}

template <class T>
inline unsigned long long to_bits(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp functions exchange values of 4 or 8 bytes");
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
inline T from_bits(unsigned long long bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

// The values of the lanes of `mask`, at the same call.
struct Gathered {
  const unsigned long long* values;
  unsigned lanes;

  Gathered(const char* function, unsigned mask, unsigned long long value) {
    values = waiting_services()->gather(function, mask, value, &lanes);
  }
  template <class T, class F>
  T fold(T start, F f) const {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (lanes >> lane & 1) start = f(start, from_bits<T>(values[lane]));
    }
    return start;
  }
  template <class F>
  unsigned lanes_where(F f) const {
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((lanes >> lane & 1) && f(values[lane])) result |= 1u << lane;
    }
    return result;
  }
};

// The source lane lies in the caller's group of `width` lanes, or is the caller itself.
template <class T>
inline T shuffle(const char* function, unsigned mask, T value, int source, bool inside) {
  Gathered all(function, mask, to_bits(value));
  const unsigned from = inside ? static_cast<unsigned>(source) : services->lane();
  // A lane that does not take part has an undefined value: the emulator gives a conspicuous one.
  if (!(all.lanes >> from & 1)) return from_bits<T>(0xA5A5A5A5A5A5A5A5ull);
  return from_bits<T>(all.values[from]);
}
inline int lane_number() { return static_cast<int>(waiting_services()->lane()); }

}  // namespace emulated

inline void __syncthreads() { emulated::waiting_services()->sync_block(0); }
inline int __syncthreads_count(int predicate) { return emulated::waiting_services()->sync_block(predicate).yes; }
inline int __syncthreads_or(int predicate) { return emulated::waiting_services()->sync_block(predicate).yes != 0; }
inline int __syncthreads_and(int predicate) {
  emulated::Services::Votes votes = emulated::waiting_services()->sync_block(predicate);
  return votes.yes == votes.voters;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulated::Gathered("__syncwarp", mask, 0); }
// The lanes that come to the same line before the warp waits elsewhere.
#define EMULATED_TEXT_OF(x) #x
#define EMULATED_LINE(line) __FILE__ ":" EMULATED_TEXT_OF(line)
#define __activemask() emulated::waiting_services()->active_lanes("__activemask at " EMULATED_LINE(__LINE__))

#define EMULATED_SHUFFLES(type)                                                                       \
  inline type __shfl_sync(unsigned mask, type value, int lane, int width = 32) {                      \
    const int group = emulated::lane_number() & ~(width - 1);                                         \
    return emulated::shuffle("__shfl_sync", mask, value, group | (lane & (width - 1)), true);         \
  }                                                                                                   \
  inline type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32) {             \
    const int own = emulated::lane_number(), source = own - static_cast<int>(delta);                  \
    return emulated::shuffle("__shfl_up_sync", mask, value, source, source >= (own & ~(width - 1)));  \
  }                                                                                                   \
  inline type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32) {           \
    const int own = emulated::lane_number(), source = own + static_cast<int>(delta);                  \
    return emulated::shuffle("__shfl_down_sync", mask, value, source, source <= (own | (width - 1))); \
  }                                                                                                   \
  inline type __shfl_xor_sync(unsigned mask, type value, int lanes, int width = 32) {                 \
    const int own = emulated::lane_number(), source = own ^ lanes;                                    \
    return emulated::shuffle("__shfl_xor_sync", mask, value, source, source <= (own | (width - 1)));  \
  }
EMULATED_SHUFFLES(int)
EMULATED_SHUFFLES(unsigned)
EMULATED_SHUFFLES(long)
EMULATED_SHUFFLES(unsigned long)
EMULATED_SHUFFLES(long long)
EMULATED_SHUFFLES(unsigned long long)
EMULATED_SHUFFLES(float)
EMULATED_SHUFFLES(double)

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return emulated::Gathered("__ballot_sync", mask, predicate != 0).lanes_where([](unsigned long long v) {
    return v != 0;
  });
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  emulated::Gathered all("__all_sync", mask, predicate != 0);
  return all.lanes_where([](unsigned long long v) { return v != 0; }) == all.lanes;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  const unsigned long long bits = emulated::to_bits(value);
  return emulated::Gathered("__match_any_sync", mask, bits).lanes_where([bits](unsigned long long v) {
    return v == bits;
  });
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* same) {
  const unsigned long long bits = emulated::to_bits(value);
  emulated::Gathered all("__match_all_sync", mask, bits);
  *same = all.lanes_where([bits](unsigned long long v) { return v == bits; }) == all.lanes;
  return *same ? all.lanes : 0;
}

#define EMULATED_WARP_REDUCE(name, type, start, result)                                                             \
  inline type name(unsigned mask, type value) {                                                                     \
    return emulated::Gathered(#name, mask, emulated::to_bits(value)).fold<type>(start, [](type a, type b) -> type { \
      return result;                                                                                                \
    });                                                                                                             \
  }
EMULATED_WARP_REDUCE(__reduce_add_sync, unsigned, 0, a + b)
EMULATED_WARP_REDUCE(__reduce_add_sync, int, 0, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
EMULATED_WARP_REDUCE(__reduce_min_sync, unsigned, ~0u, a < b ? a : b)
EMULATED_WARP_REDUCE(__reduce_min_sync, int, 0x7fffffff, a < b ? a : b)
EMULATED_WARP_REDUCE(__reduce_max_sync, unsigned, 0, a > b ? a : b)
EMULATED_WARP_REDUCE(__reduce_max_sync, int, -0x7fffffff - 1, a > b ? a : b)
EMULATED_WARP_REDUCE(__reduce_and_sync, unsigned, ~0u, a& b)
EMULATED_WARP_REDUCE(__reduce_or_sync, unsigned, 0, a | b)
EMULATED_WARP_REDUCE(__reduce_xor_sync, unsigned, 0, a ^ b)

#endif  // EMBED_HEADER_TEXT
