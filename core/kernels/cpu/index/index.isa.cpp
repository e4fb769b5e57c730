// index.isa.cpp: the loops of index_loops.h. See Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/index/index_loops.h"

namespace undertow::core::cpu {
namespace {

struct Pair {
  uint64_t low, high;
};

bool all_within(const int64_t* positions, int64_t n, int64_t low, int64_t high) {
  uint64_t bad = 0, width = static_cast<uint64_t>(high - low);
  for (int64_t i = 0; i < n; i++) bad |= static_cast<uint64_t>(positions[i]) - static_cast<uint64_t>(low) >= width;
  return bad == 0;
}

template <bool add>
bool offsets_of(int64_t* __restrict offsets, const int64_t* __restrict positions, int64_t n, int64_t size, int64_t wrap,
                int64_t stride) {
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t p = positions[i] + (positions[i] >> 63 & wrap);
    bad |= static_cast<uint64_t>(p) >= static_cast<uint64_t>(size);
    int64_t bytes = static_cast<int64_t>(static_cast<uint64_t>(p) * static_cast<uint64_t>(stride));
    if constexpr (add)
      offsets[i] += bytes;
    else
      offsets[i] = bytes;
  }
  return bad == 0;
}
bool offsets(int64_t* to, const int64_t* positions, int64_t n, int64_t size, int64_t wrap, int64_t stride, bool add) {
  return add ? offsets_of<true>(to, positions, n, size, wrap, stride)
             : offsets_of<false>(to, positions, n, size, wrap, stride);
}

// Forces four loads, then four stores: otherwise the compiler uses gather instructions, which are slower than loads.
inline void barrier() { asm volatile("" ::: "memory"); }

template <class T, class At>
inline void gather_by(T* out, int64_t n, At at) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    T a = at(i), b = at(i + 1), c = at(i + 2), d = at(i + 3);
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
    barrier();
  }
  for (; i < n; i++) {
    out[i] = at(i);
    barrier();
  }
}
template <class T>
void gather(char* to, const char* from, const int64_t* p, int64_t n, int64_t stride, int64_t step) {
  auto* out = reinterpret_cast<T*>(to);
  auto element = [](const char* at) { return *reinterpret_cast<const T*>(at); };
  if (step == 0 && stride == sizeof(T))
    gather_by(out, n, [&](int64_t i) { return reinterpret_cast<const T*>(from)[p[i]]; });
  else if (step == 0 && stride == 1)
    gather_by(out, n, [&](int64_t i) { return element(from + p[i]); });
  else
    gather_by(out, n, [&](int64_t i) { return element(from + p[i] * stride + i * step); });
}

// Branch-free, because masks are unpredictable: each element is stored, and overwritten by the next store unless it was
// selected.
template <class T>
void pick(char* to, const char* from, const uint8_t* chosen, int64_t count) {
  auto* out = reinterpret_cast<T*>(to);
  auto* in = reinterpret_cast<const T*>(from);
  for (int64_t at = 0, i = 0; at < count; i++) {
    out[at] = in[i];
    at += chosen[i] != 0;
  }
}

int64_t count_true(const uint8_t* values, int64_t n) {
  int64_t total = 0;
  for (int64_t at = 0; at < n; at += 128) {
    uint8_t count = 0;  // of at most 128 elements
    int64_t end = at + 128 < n ? at + 128 : n;
    for (int64_t i = at; i < end; i++) count = static_cast<uint8_t>(count + (values[i] != 0));
    total += count;
  }
  return total;
}

template <class T>
void add_run(T* to, const T* from, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

template <template <class> class Of>
auto by_width(int64_t width) {
  switch (width) {
    case 1:
      return Of<uint8_t>::fn;
    case 2:
      return Of<uint16_t>::fn;
    case 4:
      return Of<uint32_t>::fn;
    case 8:
      return Of<uint64_t>::fn;
    default:
      return Of<Pair>::fn;
  }
}
template <class T>
struct GatherOf {
  static constexpr IndexLoops::Gather fn = gather<T>;
};
template <class T>
struct PickOf {
  static constexpr IndexLoops::Pick fn = pick<T>;
};
IndexLoops::Gather gather_of(int64_t width) { return by_width<GatherOf>(width); }
IndexLoops::Pick pick_of(int64_t width) { return by_width<PickOf>(width); }

constexpr IndexLoops kKernels = {all_within, offsets, gather_of, pick_of, count_true, add_run<float>, add_run<double>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const IndexLoops& index_loops() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
