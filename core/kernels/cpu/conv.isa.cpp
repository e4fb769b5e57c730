// conv.isa.cpp: the kernels of convolutions: packing from a box, and sums that read the box where it lies.
// Compiled once per instruction set, as gemm.isa.cpp. See Note [One Namespace Per Instruction Set].
#include <type_traits>

#include "core/kernels/cpu/conv_kernels.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::cpu {
namespace {

// Taps times two vectors of channels accumulate; the rest of the registers hold the channels and a broadcast tap. Nine is
// one channel of the most common kernel.
#if defined(__AVX512F__)
constexpr int kTaps = 9;
#else
constexpr int kTaps = 6;
#endif

// Whole vectors, in ascending order: what spills behind a run is overwritten by the next run, or by the next row.
template <class T>
void pack(int64_t k, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count, int64_t width, T* packed) {
  constexpr int64_t kL = kLanes<T>;
  if (run_count == 1 && width == 2 * kL) {
    const T* from = box + runs[0].source;
    for (int64_t p = 0; p < k; ++p, packed += width) {
      const T* s = from + offsets[p];
      Vec<T> first = load(s), second = load(s + kL);
      store(packed, first);
      store(packed + kL, second);
    }
    return;
  }
  for (int64_t p = 0; p < k; ++p, packed += width) {
    const T* from = box + offsets[p];
    for (int64_t r = 0; r < run_count; ++r) {
      const T* s = from + runs[r].source;
      T* d = packed + runs[r].at;
      for (int64_t i = 0; i < runs[r].count; i += kL) store(d + i, load(s + i));
    }
  }
}

template <class T, int kVecs>
inline void direct_outputs(int64_t k, const T* weights, const T* from, const int64_t* offsets, T bias, int64_t count, T* out) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> acc[kVecs];
#pragma GCC unroll 4
  for (int v = 0; v < kVecs; ++v) acc[v] = broadcast(bias);
  for (int64_t p = 0; p < k; ++p) {
    Vec<T> w = broadcast(weights[p]);
    const T* s = from + offsets[p];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) acc[v] += w * load(s + v * kL);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVecs; ++v) {
    if (count >= (v + 1) * kL) {
      store(out + v * kL, acc[v]);
    } else if (count > v * kL) {
      Partial<T>(count - v * kL).store(out + v * kL, acc[v]);
    }
  }
}

template <class T>
void direct(int64_t k, const T* weights, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count, T bias, T* out) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t r = 0; r < run_count; ++r) {
    const T* from = box + runs[r].source;
    T* to = out + runs[r].at;
    int64_t i = 0, count = runs[r].count;
    for (; count - i > 2 * kL; i += 4 * kL) direct_outputs<T, 4>(k, weights, from + i, offsets, bias, count - i, to + i);
    if (count - i > kL) {
      direct_outputs<T, 2>(k, weights, from + i, offsets, bias, count - i, to + i);
    } else if (count > i) {
      direct_outputs<T, 1>(k, weights, from + i, offsets, bias, count - i, to + i);
    }
  }
}

// Where the taps of a tile read. Those it has too many read as the first does, and their sums are dropped.
template <class T>
inline void sources(const WeightTile<T>& t, const T* (&from)[kTaps]) {
  for (int i = 0; i < kTaps; ++i) from[i] = t.box + t.offsets[i < t.taps ? i : 0];
}

template <class T, int kVecs>
inline void weight_sums(const WeightTile<T>& t) {
  constexpr int64_t kL = kLanes<T>;
  const T* from[kTaps];
  sources(t, from);
  Vec<T> acc[kTaps][kVecs] = {};
  const T* y = t.y;
  for (int64_t r = 0; r < t.run_count; ++r) {
    int64_t begin = t.runs[r].source, end = begin + t.runs[r].count;
    for (int64_t i = begin; i < end; ++i, y += kVecs * kL) {
      Vec<T> row[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) row[v] = load(y + v * kL);
#pragma GCC unroll 16
      for (int a = 0; a < kTaps; ++a) {
        Vec<T> x = broadcast(from[a][i]);
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v) acc[a][v] += x * row[v];
      }
    }
  }
#pragma GCC unroll 16
  for (int a = 0; a < kTaps; ++a) {
    if (a >= t.taps) break;
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      T* to = t.sums + a * t.sums_rs + v * kL;
      store(to, load(to) + acc[a][v]);
    }
  }
}

template <class T>
void weight_tile(const WeightTile<T>& t) {
  return t.vectors == 2 ? weight_sums<T, 2>(t) : weight_sums<T, 1>(t);
}

template <class T>
void weight_dots(const WeightTile<T>& t) {
  constexpr int64_t kL = kLanes<T>;
  const T* from[kTaps];
  sources(t, from);
  Vec<T> acc[kTaps] = {};
  for (int64_t r = 0; r < t.run_count; ++r) {
    const Run& run = t.runs[r];
    int64_t i = 0;
    for (; i + kL <= run.count; i += kL) {
      Vec<T> y = load(t.y + run.at + i);
#pragma GCC unroll 16
      for (int a = 0; a < kTaps; ++a) acc[a] += load(from[a] + run.source + i) * y;
    }
    if (i < run.count) {
      // Masked on both sides: what stands behind the run may be infinite.
      Partial<T> last(run.count - i);
      Vec<T> y = last.load(t.y + run.at + i);
#pragma GCC unroll 16
      for (int a = 0; a < kTaps; ++a) acc[a] += last.load(from[a] + run.source + i) * y;
    }
  }
  for (int a = 0; a < t.taps; ++a) t.sums[a * t.sums_rs] += sum_of_lanes<T>(acc[a]);
}

template <class T>
constexpr ConvKernels<T> make_kernels() {
  ConvKernels<T> kernels{kTaps, pack<T>, nullptr, nullptr, nullptr};
  if constexpr (!std::is_integral_v<T>) {
    kernels.direct = direct<T>;
    kernels.weight_tile = weight_tile<T>;
    kernels.weight_dots = weight_dots<T>;
  }
  return kernels;
}

template <class T>
constexpr ConvKernels<T> kKernels = make_kernels<T>();

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const ConvKernels<T>& conv_kernels() {
  return kKernels<T>;
}
template const ConvKernels<float>& conv_kernels<float>();
template const ConvKernels<double>& conv_kernels<double>();
template const ConvKernels<uint64_t>& conv_kernels<uint64_t>();
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::cpu
