// scan.cuh: cumulative operations along one dimension.
//
// A line is scanned in chunks if there are few lines: scan_totals computes each chunk's total, scan_starts what comes
// before each chunk, and the scan itself begins there. Lines of neighbouring elements are scanned by a block
// (scan_lines), others by one thread each, side by side (scan_columns). Every order of operations is fixed.
#pragma once
#include "device/complex_math.cuh"
#include "device/convert.cuh"
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

// A block per line and chunk; inner is 1, so that element i of the line is at line * n + i. Tiles pass through shared memory, so that global memory is read in order.
template <int scan, class T, bool totals>
__global__ void __launch_bounds__(kScanThreads)
    scan_lines(T* out, int64_t* indices, const T* in, void* starts, ScanShape s) {
  using Op = ScanOp<static_cast<Scan>(scan), T>;
  using Acc = typename Op::Acc;
  constexpr int tile = kScanThreads * kScanItems;
  alignas(16) __shared__ char tile_memory[(tile + tile / 32) * sizeof(T)];
  alignas(16) __shared__ char total_memory[2 * kScanThreads * sizeof(Acc)];
  T* elements = reinterpret_cast<T*>(tile_memory);
  const int64_t chunk = blockIdx.x / s.outer, line = blockIdx.x - chunk * s.outer;
  const int64_t begin = chunk * s.chunk, end = begin + s.chunk < s.n ? begin + s.chunk : s.n;
  Acc* kept = static_cast<Acc*>(starts) + blockIdx.x;
  Acc before = !totals && s.chunks > 1 ? *kept : Op::identity();
  const int thread = threadIdx.x;
  const int64_t first = line * s.n, last = first + s.n - 1;
  auto place = [&](int64_t i) { return s.from_the_end ? last - i : first + i; };
  for (int64_t start = begin; start < end; start += tile) {
    const int count = static_cast<int>(end - start < tile ? end - start : tile);
#pragma unroll
    for (int j = 0; j < kScanItems; j++) {
      const int i = j * kScanThreads + thread;
      if (i < count) elements[slot_of(i)] = in[place(start + i)];
    }
    __syncthreads();
    Acc items[kScanItems];
    Acc sum = Op::identity();
#pragma unroll
    for (int j = 0; j < kScanItems; j++) {
      const int i = thread * kScanItems + j;
      if (i < count) sum = Op::join(sum, Op::enter(elements[slot_of(i)], start + i));
      items[j] = sum;
    }
    const Acc* sums = scan_block<Op>(reinterpret_cast<Acc*>(total_memory), sum);
    const Acc ahead = thread > 0 ? Op::join(before, sums[thread - 1]) : before;
    before = Op::join(before, sums[kScanThreads - 1]);
    if constexpr (!totals && Op::kOneResult) {  // written in order, through shared memory
#pragma unroll
      for (int j = 0; j < kScanItems; j++)
        Op::leave(elements, nullptr, slot_of(thread * kScanItems + j), Op::join(ahead, items[j]));
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kScanItems; j++) {
        const int i = j * kScanThreads + thread;
        if (i < count) out[place(start + i)] = elements[slot_of(i)];
      }
    } else if constexpr (!totals) {
#pragma unroll
      for (int j = 0; j < kScanItems; j++) {
        const int i = thread * kScanItems + j;
        if (i < count) Op::leave(out, indices, place(start + i), Op::join(ahead, items[j]));
      }
    }
    __syncthreads();
  }
  if (totals && thread == 0) *kept = before;
}

}  // namespace undertow
