// scan.cuh: cumulative operations along one dimension.
//
// Lines of neighbouring elements are scanned by a block each (scan_lines), or if they are few and long by many blocks
// (scan_long_lines). Other lines are scanned by one thread each, side by side (scan_columns); if these are few, in
// chunks: first the total of each, then what comes before each (scan_starts), then the scan itself, which begins there.
// Every order of operations is fixed.
#pragma once
#include "device/complex_math.cuh"
#include "device/convert.cuh"
#include "device/lanes.cuh"
// After prelude.cuh, which defines int64_t.
#include "scan/scan_params.h"

namespace undertow {

// In the order of core/kernels/scan.h, then the running extrema.
enum class Scan { Sum, Prod, LogSumExp, Max, Min };

// Integers wrap around in 64 bits; sums of float are accumulated in double, as in torch.
template <class T>
using ScanAcc = Conditional<
    kIsIntegral<T>, uint64_t,
    Conditional<kSame<T, float>, double, Conditional<kSame<T, Complex<float>>, Complex<double>, OpMath<T>>>>;

// What a scan of elements of T does: its accumulator, and how elements enter and results leave it.
template <Scan op, class T>
struct ScanOp {
  using Element = T;
  using Acc = ScanAcc<T>;
  static UT_DEVICE Acc identity() {
    if constexpr (op == Scan::LogSumExp)
      return Acc(-Limits<RealOf<Acc>>::infinity());
    else
      return Acc(op == Scan::Prod);
  }
  static UT_DEVICE Acc enter(T x, int64_t) { return convert<Acc>(x); }
  static UT_DEVICE Acc join(Acc a, Acc b) {
    if constexpr (op == Scan::Sum)
      return a + b;
    else if constexpr (op == Scan::Prod)
      return a * b;
    else if constexpr (kIsComplex<Acc>)
      return a.re == -Limits<RealOf<Acc>>::infinity() && !scalar_math::is_nan(b) ? b : scalar_math::logaddexp(a, b);
    else
      return scalar_math::logaddexp(a, b);
  }
  static constexpr bool kOneResult = true;
  static UT_DEVICE void leave(T* out, int64_t*, int64_t at, Acc a) { out[at] = convert<T>(a); }
};

// The extremum so far and where it is; the last of equal ones counts, and NaN stays.
template <class T>
struct Extremum {
  T value;
  int64_t at;  // negative: nothing yet
};
template <class T>
UT_DEVICE Extremum<T> from_lane_above(const Extremum<T>& v, int by) {
  return {static_cast<T>(from_lane_above(static_cast<OpMath<T>>(v.value), by)), from_lane_above(v.at, by)};
}
template <class T>
UT_DEVICE Extremum<T> from_lane_below(const Extremum<T>& v, int by) {
  return {static_cast<T>(from_lane_below(static_cast<OpMath<T>>(v.value), by)), from_lane_below(v.at, by)};
}
template <bool max, class T>
struct ExtremumScan {
  using Element = T;
  using Acc = Extremum<T>;
  static UT_DEVICE Acc identity() { return {T(0), -1}; }
  static UT_DEVICE Acc enter(T x, int64_t i) { return {x, i}; }
  static UT_DEVICE Acc join(Acc a, Acc b) {
    if (a.at < 0 || b.at < 0) return b.at < 0 ? a : b;
    const auto x = static_cast<OpMath<T>>(a.value), y = static_cast<OpMath<T>>(b.value);
    return y != y || (x == x && (max ? y >= x : y <= x)) ? b : a;
  }
  static constexpr bool kOneResult = false;
  static UT_DEVICE void leave(T* out, int64_t* indices, int64_t at, Acc a) {
    out[at] = a.value;
    indices[at] = a.at;
  }
};
template <class T>
struct ScanOp<Scan::Max, T> : ExtremumScan<true, T> {};
template <class T>
struct ScanOp<Scan::Min, T> : ExtremumScan<false, T> {};

// Element i of a line.
UT_DEVICE int64_t place_of(const ScanShape& s, int64_t line, int64_t i) {
  const int64_t outer = line / s.inner, inner = line - outer * s.inner;
  return (outer * s.n + (s.from_the_end ? s.n - 1 - i : i)) * s.inner + inner;
}

// One thread per line and chunk. totals only, or all elements from `starts` on.
template <int scan, class T, bool totals>
__global__ void scan_columns(T* out, int64_t* indices, const T* in, void* starts, ScanShape s) {
  using Op = ScanOp<static_cast<Scan>(scan), T>;
  using Acc = typename Op::Acc;
  const int64_t lines = s.outer * s.inner, thread = thread_number();
  if (thread >= lines * s.chunks) return;
  const int64_t chunk = thread / lines, line = thread - chunk * lines;
  const int64_t begin = chunk * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
  const int64_t step = s.from_the_end ? -s.inner : s.inner;
  int64_t at = place_of(s, line, begin);
  Acc* kept = static_cast<Acc*>(starts);
  Acc acc = !totals && s.chunks > 1 ? kept[thread] : Op::identity();
#pragma unroll 4
  for (int64_t i = begin; i < end; i++, at += step) {
    acc = Op::join(acc, Op::enter(in[at], i));
    if constexpr (!totals) Op::leave(out, indices, at, acc);
  }
  if constexpr (totals) kept[thread] = acc;
}

// The sums of the block's threads up to each of them, doubling the reach at each step. `memory`: two values per thread.
template <class Op, class Acc>
UT_DEVICE Acc* scan_block(Acc* memory, Acc sum) {
  const int thread = threadIdx.x, threads = blockDim.x;
  Acc *now = memory, *next = memory + threads;
  now[thread] = sum;
  __syncthreads();
  for (int by = 1; by < threads; by *= 2) {
    next[thread] = thread >= by ? Op::join(now[thread - by], now[thread]) : now[thread];
    __syncthreads();
    Acc* before = now;
    now = next;
    next = before;
  }
  return now;
}

// The totals of a line's chunks become what comes before each of them: chunk * lines + line. A block per line, a thread
// per chunk.
template <int scan, class T>
__global__ void __launch_bounds__(kMaxScanChunks) scan_starts(void* starts, int64_t lines, int64_t chunks) {
  using Op = ScanOp<static_cast<Scan>(scan), T>;
  using Acc = typename Op::Acc;
  alignas(16) __shared__ char memory[2 * kMaxScanChunks * sizeof(Acc)];
  const int64_t chunk = threadIdx.x;
  Acc* kept = static_cast<Acc*>(starts) + chunk * lines + blockIdx.x;
  const Acc* sums = scan_block<Op>(reinterpret_cast<Acc*>(memory), chunk < chunks ? *kept : Op::identity());
  if (chunk < chunks) *kept = chunk ? sums[chunk - 1] : Op::identity();
}

// Where element i of a tile is in shared memory: threads that read every eighth one use different banks.
UT_DEVICE int slot_of(int i) { return i + (i >> 5); }

// A block's tile of a line, whose elements are dense: global memory is read and written in order, through shared
// memory.
template <class Op, int items>
class ScanTile {
 public:
  using T = typename Op::Element;
  using Acc = typename Op::Acc;
  static constexpr int kElements = kScanThreads * items;
  struct Shared {
    T elements[kElements + kElements / 32];
    Acc of_warp[kScanThreads / 32];
    Acc before;
  };

  UT_DEVICE ScanTile(char* shared, const ScanShape& s, int64_t line, int64_t start)
      : shared_(*reinterpret_cast<Shared*>(shared)),
        from_the_end_(s.from_the_end),
        start_(start),
        first_(line * s.n),
        last_(line * s.n + s.n - 1),
        count_(static_cast<int>(least_of<int64_t>(s.n - start, kElements))) {}

  // Returns the sum of the tile, for every thread.
  UT_DEVICE Acc load(const T* in) {
#pragma unroll
    for (int j = 0; j < items; j++) {
      const int i = j * kScanThreads + threadIdx.x;
      if (i < count_) shared_.elements[slot_of(i)] = in[place(i)];
    }
    __syncthreads();
    Acc sum = Op::identity();
#pragma unroll
    for (int j = 0; j < items; j++) {
      const int i = threadIdx.x * items + j;
      if (i < count_) sum = Op::join(sum, Op::enter(shared_.elements[slot_of(i)], start_ + i));
    }
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const Acc below = from_lane_below(sum, by);
      if (lane >= by) sum = Op::join(below, sum);
    }
    if (lane == 31) shared_.of_warp[warp] = sum;
    const Acc below = from_lane_below(sum, 1);
    before_ = lane ? below : Op::identity();
    __syncthreads();
    Acc total = Op::identity();
    Acc warps_before = total;
    for (int w = 0; w < kScanThreads / 32; w++) {
      if (w == warp) warps_before = total;
      total = Op::join(total, shared_.of_warp[w]);
    }
    before_ = Op::join(warps_before, before_);
    return total;
  }

  // Writes the results, given what comes before the tile. Ends with a barrier.
  UT_DEVICE void store(T* out, int64_t* indices, const Acc& before) {
    Acc sum =
        Op::join(before, before_);  // the elements are added again: keeping the sums would take too many registers
    if constexpr (Op::kOneResult) {
#pragma unroll
      for (int j = 0; j < items; j++) {
        const int i = threadIdx.x * items + j;
        if (i >= count_) break;
        sum = Op::join(sum, Op::enter(shared_.elements[slot_of(i)], start_ + i));
        Op::leave(shared_.elements, nullptr, slot_of(i), sum);
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < items; j++) {
        const int i = j * kScanThreads + threadIdx.x;
        if (i < count_) out[place(i)] = shared_.elements[slot_of(i)];
      }
    } else {
#pragma unroll
      for (int j = 0; j < items; j++) {
        const int i = threadIdx.x * items + j;
        if (i >= count_) break;
        sum = Op::join(sum, Op::enter(shared_.elements[slot_of(i)], start_ + i));
        Op::leave(out, indices, place(i), sum);
      }
    }
    __syncthreads();
  }

  // One value for all threads.
  UT_DEVICE Acc from_first_warp(const Acc& v) {
    if (threadIdx.x == 0) shared_.before = v;
    __syncthreads();
    return shared_.before;
  }

 private:
  UT_DEVICE int64_t place(int i) const { return from_the_end_ ? last_ - start_ - i : first_ + start_ + i; }

  Shared& shared_;
  bool from_the_end_;
  int64_t start_, first_, last_;
  int count_;
  Acc before_;  // of the threads before
};

// A block per line, tile after tile; inner is 1.
template <int scan, class T>
__global__ void __launch_bounds__(kScanThreads) scan_lines(T* out, int64_t* indices, const T* in, ScanShape s) {
  using Op = ScanOp<static_cast<Scan>(scan), T>;
  using Tile = ScanTile<Op, 8>;
  alignas(16) __shared__ char shared[sizeof(typename Tile::Shared)];
  typename Op::Acc before = Op::identity();
  for (int64_t start = 0; start < s.n; start += Tile::kElements) {
    Tile tile(shared, s, blockIdx.x, start);
    const typename Op::Acc total = tile.load(in);
    tile.store(out, indices, before);
    before = Op::join(before, total);
  }
}

// What another block wrote: past the cache of this multiprocessor.
template <class Acc>
UT_DEVICE Acc load_shared_sum(const Acc* from) {
  constexpr int words = sizeof(Acc) / 4;
  uint32_t word[words];
#pragma unroll
  for (int k = 0; k < words; k++) word[k] = reinterpret_cast<const volatile uint32_t*>(from)[k];
  Acc v;
  memcpy(&v, word, sizeof(Acc));
  return v;
}

// Sums of a line that its blocks tell each other. See Note [Scans In One Pass].
template <class Op>
class SharedSums {
 public:
  using Acc = typename Op::Acc;
  UT_DEVICE SharedSums(uint32_t* ready, void* sums, int64_t first)
      : ready_(ready + first), sums_(static_cast<Acc*>(sums) + first) {}
  UT_DEVICE void publish(int64_t i, const Acc& v) {
    sums_[i] = v;
    __threadfence();
    *static_cast<volatile uint32_t*>(ready_ + i) = 1;
  }
  // The sum of [begin, end), at most 31 of them, for lane 0. By a whole warp.
  UT_DEVICE Acc sum_of(int64_t begin, int64_t end) {
    const int64_t i = begin + (threadIdx.x & 31);
    Acc v = Op::identity();
    if (i < end) {
      while (!*static_cast<volatile uint32_t*>(ready_ + i)) {
      }
      __threadfence();
      v = load_shared_sum(sums_ + i);
    }
    __syncwarp();
#pragma unroll
    for (int by = 1; by < 32; by *= 2) v = Op::join(v, from_lane_above(v, by));
    return v;
  }

 private:
  uint32_t* ready_;
  Acc* sums_;
};

// A block per tile of a line. See Note [Scans In One Pass].
template <int scan, class T>
__global__ void __launch_bounds__(kScanThreads, 4)
    scan_long_lines(T* out, int64_t* indices, const T* in, ScanShape s, ScanProgress p) {
  using Op = ScanOp<static_cast<Scan>(scan), T>;
  using Acc = typename Op::Acc;
  using Tile = ScanTile<Op, sizeof(Acc) <= 8 ? kLongScanItems : kLongScanItems / 2>;
  alignas(16) __shared__ char shared[sizeof(typename Tile::Shared)];
  __shared__ uint32_t taken;
  if (threadIdx.x == 0) taken = atomicAdd(p.ticket, 1u);
  __syncthreads();
  const int64_t line = taken / p.tiles, number = taken - line * p.tiles, group = number / 32, section = group / 32;
  SharedSums<Op> tiles(p.ready_tiles, p.sums_of_tiles, line * p.tiles),
      groups(p.ready_groups, p.sums_of_groups, line * p.groups),
      sections(p.ready_sections, p.sums_of_sections, line * p.sections);
  Tile tile(shared, s, line, number * Tile::kElements);
  const Acc total = tile.load(in);
  Acc before = Op::identity();
  if (threadIdx.x < 32) {
    const bool first_lane = threadIdx.x == 0, ends_group = number % 32 == 31,
               ends_section = ends_group && group % 32 == 31;
    if (first_lane) tiles.publish(number, total);
    const Acc of_tiles = tiles.sum_of(group * 32, number);
    if (first_lane && ends_group) groups.publish(group, Op::join(of_tiles, total));
    before = Op::join(groups.sum_of(section * 32, group), of_tiles);
    if (section) before = Op::join(sections.sum_of(section - 1, section), before);
    if (first_lane && ends_section) sections.publish(section, Op::join(before, total));
  }
  tile.store(out, indices, tile.from_first_warp(before));
}

}  // namespace undertow
