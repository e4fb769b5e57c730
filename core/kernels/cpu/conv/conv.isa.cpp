// conv.isa.cpp: the kernels for convolutions: packing from a box, and sums that read the box in place.
// Compiled once per instruction set, like gemm.isa.cpp. See Note [One Namespace Per Instruction Set].
#include <type_traits>

#include "core/kernels/cpu/conv/conv_loops.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// Taps times two vectors of channels are accumulators; the remaining registers hold the channels and a broadcast tap.
// Nine taps are one channel of the most common kernel.
#if defined(__AVX512F__)
constexpr int kTaps = 9;
constexpr int kOutputs = 14;
#else
constexpr int kTaps = 6;
constexpr int kOutputs = 6;
#endif

template <class T>
void copy_rows(int64_t rows, const T* source, int64_t source_rs, int64_t before, int64_t count, int64_t after, T* copy,
               int64_t copy_rs) {
  constexpr int64_t kL = kLanes<T>;
  int64_t whole = count / kL * kL,
          zeros = count > whole ? whole + kL : whole;                 // start of the zero stores, after the elements
  int64_t last = zeros + (count + after - zeros + kL - 1) / kL * kL;  // end of the stores
  bool covers_next = last - count >= after + before && copy_rs == before + count + after;
  Partial<T> rest(count > whole ? count - whole : 1);
  for (int64_t i = 0; i < rows; ++i, source += source_rs, copy += copy_rs) {
    // Whole vectors in ascending order: elements written past the end are overwritten by the next store, or are the
    // next row's leading zeros.
    if (i == 0 || !covers_next) {
      for (int64_t j = 0; j < before; j += kL) store(copy + j, Vec<T>{});
    }
    T* to = copy + before;
    for (int64_t j = 0; j < whole; j += kL) store(to + j, load(source + j));
    if (count > whole) store(to + whole, rest.load(source + whole));
    for (int64_t j = zeros; j < count + after; j += kL) store(to + j, Vec<T>{});
  }
}

inline int64_t clamp64(int64_t x, int64_t low, int64_t high) { return x < low ? low : min64(x, high); }

template <class T>
void split_row(const T* line, int64_t from, int64_t to, int64_t step, int64_t parts, int64_t split, T* row) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t s = 0; s < parts; ++s, row += split) {
    int64_t begin = clamp64((from - s + step - 1) / step, 0, split),
            end = clamp64((to - s + step - 1) / step, begin, split), j = begin;
    for (int64_t i = 0; i < begin; ++i) row[i] = T{};
    if (step == 2) {
      // Every other element of two vectors, which may extend past the line; elements written past the end are
      // overwritten by the next store.
      for (; j < end; j += kL) {
        const T* at = line + 2 * j + s;
        int64_t left = to - 2 * j - s;
        Vec<T> first = left >= kL ? load(at) : Partial<T>(left).load(at), second{};
        if (left > kL) second = left >= 2 * kL ? load(at + kL) : Partial<T>(left - kL).load(at + kL);
        store(row + j, even_lanes<T>(first, second));
      }
      j = end;
    }
    for (; j < end; ++j) row[j] = line[j * step + s];
    for (; j < split; ++j) row[j] = T{};
  }
}

template <class T>
void spread_row(int64_t count, const T* from, int64_t step, T* to) {
  int64_t i = 0;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    if (step == 2) {
      constexpr int64_t kHalf = kLanes<T> / 2;
      Partial<T> half(kHalf);
      for (; i + kHalf <= count; i += kHalf) {
        Vec<T> loaded = half.load(from + i);
        _mm512_mask_storeu_epi32(to + 2 * i, 0x5555, (__m512i)shuffle<T, halved_lane>(loaded, loaded));
      }
    }
  }
#endif
  for (; i < count; ++i) to[i * step] = from[i];
}

// Whole vectors, in ascending order: elements written past the end of a run are overwritten by the next run or the next
// row.
template <class T>
void pack(int64_t k, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count, int64_t width,
          T* packed) {
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

// Writes outputs [0, rows) of a tile, given as rows of `width` channels, transposed: channel after channel.
template <class T>
__attribute__((noinline)) void write_outputs(const T* sums, int64_t rows, int64_t width, int64_t channels, T* result,
                                             int64_t result_rs) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t i = 0; i < rows; i += kL) {
    int64_t count = min64(kL, rows - i);
    Partial<T> valid(count);
    for (int64_t c = 0; c < channels; c += kL) {
      Vec<T> square[kL] = {};
#pragma GCC unroll 16
      for (int r = 0; r < kL; ++r) {
        if (r < count) square[r] = load(sums + (i + r) * width + c);
      }
      transpose<T>(square);
      T* to = result + c * result_rs + i;
#pragma GCC unroll 16
      for (int r = 0; r < kL; ++r) {
        if (c + r < channels) valid.store(to + r * result_rs, square[r]);
      }
    }
  }
}

// A tile of outputs by channels. Surplus outputs read the same elements as the last one, and are discarded.
template <class T, int kRows, int kVecs>
void output_tile(const OutputPanel<T>& t, int64_t first, int64_t rows) {
  constexpr int64_t kL = kLanes<T>, kWidth = kVecs * kL;
  const T* from[kRows];
  for (int r = 0; r < kRows; ++r) from[r] = t.box + t.sources[first + (r < rows ? r : rows - 1)];
  Vec<T> acc[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) acc[r][v] = load(t.bias + v * kL);
  }
  const T* weights = t.weights;
  for (int64_t p = 0; p < t.k; ++p, weights += kWidth) {
    int64_t offset = t.offsets[p];
    Vec<T> w[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) w[v] = load(weights + v * kL);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Vec<T> x = broadcast(from[r][offset]);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[r][v] += x * w[v];
    }
  }
  T sums[kRows * kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) store(sums + r * kWidth + v * kL, acc[r][v]);
  }
  write_outputs(sums, rows, kWidth, t.channels, t.result + first, t.result_rs);
}

template <class T, int kVecs>
void output_tiles(const OutputPanel<T>& t) {
  for (int64_t i = 0; i < t.outputs; i += kOutputs) {
    int64_t rows = min64(kOutputs, t.outputs - i);
    if (rows > kOutputs / 2) {
      output_tile<T, kOutputs, kVecs>(t, i, rows);
    } else {
      output_tile<T, kOutputs / 2, kVecs>(t, i, rows);
    }
  }
}

template <class T>
void outputs(const OutputPanel<T>& t) {
  return t.channels > kLanes<T> ? output_tiles<T, 2>(t) : output_tiles<T, 1>(t);
}

// Up to kVecs vectors of each of kRuns runs of the same length: eight independent accumulators, since a single one
// would wait for its own latency.
template <class T, int kRuns, int kVecs>
void direct_runs(int64_t k, const T* weights, const T* box, const int64_t* offsets, const Run* runs, int64_t first,
                 T bias, T* out) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> acc[kRuns][kVecs];
  const T* from[kRuns];
#pragma GCC unroll 8
  for (int r = 0; r < kRuns; ++r) {
    from[r] = box + runs[r].source + first;
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) acc[r][v] = broadcast(bias);
  }
  for (int64_t p = 0; p < k; ++p) {
    Vec<T> w = broadcast(weights[p]);
    int64_t offset = offsets[p];
#pragma GCC unroll 8
    for (int r = 0; r < kRuns; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) acc[r][v] += w * load(from[r] + offset + v * kL);
    }
  }
  int64_t count = runs[0].count - first;
#pragma GCC unroll 8
  for (int r = 0; r < kRuns; ++r) {
    T* to = out + runs[r].at + first;
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      if (count >= (v + 1) * kL) {
        store(to + v * kL, acc[r][v]);
      } else if (count > v * kL) {
        Partial<T>(count - v * kL).store(to + v * kL, acc[r][v]);
      }
    }
  }
}

// All elements of kRuns runs.
template <class T, int kRuns>
inline void direct_rows(int64_t k, const T* weights, const T* box, const int64_t* offsets, const Run* runs, T bias,
                        T* out) {
  constexpr int64_t kL = kLanes<T>;
  int64_t i = 0, count = runs[0].count;
  for (; count - i > 2 * kL; i += 4 * kL) direct_runs<T, kRuns, 4>(k, weights, box, offsets, runs, i, bias, out);
  if (count - i > kL) {
    direct_runs<T, kRuns, 2>(k, weights, box, offsets, runs, i, bias, out);
  } else if (count > i) {
    direct_runs<T, kRuns, 1>(k, weights, box, offsets, runs, i, bias, out);
  }
}

template <class T>
void direct(int64_t k, const T* weights, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count,
            T bias, T* out) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t r = 0; r < run_count;) {
    int64_t count = runs[r].count, left = run_count - r;
    if (count <= kL && left >= 8 && runs[r + 7].count == count) {
      direct_runs<T, 8, 1>(k, weights, box, offsets, runs + r, 0, bias, out);
      r += 8;
    } else if (count <= kL && left >= 4 && runs[r + 3].count == count) {
      direct_runs<T, 4, 1>(k, weights, box, offsets, runs + r, 0, bias, out);
      r += 4;
    } else if (count <= 2 * kL && left >= 4 && runs[r + 3].count == count) {
      direct_runs<T, 4, 2>(k, weights, box, offsets, runs + r, 0, bias, out);
      r += 4;
    } else if (left >= 2 && runs[r + 1].count == count) {
      direct_rows<T, 2>(k, weights, box, offsets, runs + r, bias, out);
      r += 2;
    } else {
      direct_rows<T, 1>(k, weights, box, offsets, runs + r, bias, out);
      r += 1;
    }
  }
}

// Where the taps of a tile read. Surplus taps read the same elements as the first one, and their sums are discarded.
template <class T, int kTaps>
inline void sources(const WeightTile<T>& t, const T* (&from)[kTaps]) {
  for (int i = 0; i < kTaps; ++i) from[i] = t.box + t.offsets[i < t.taps ? i : 0];
}

template <class T, int kTaps, int kVecs>
void weight_sums(const WeightTile<T>& t) {
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
  if (t.taps <= kTaps / 3) return t.vectors == 2 ? weight_sums<T, kTaps / 3, 2>(t) : weight_sums<T, kTaps / 3, 1>(t);
  return t.vectors == 2 ? weight_sums<T, kTaps, 2>(t) : weight_sums<T, kTaps, 1>(t);
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
      // Masked on both sides: elements after the run may be infinite.
      Partial<T> last(run.count - i);
      Vec<T> y = last.load(t.y + run.at + i);
#pragma GCC unroll 16
      for (int a = 0; a < kTaps; ++a) acc[a] += last.load(from[a] + run.source + i) * y;
    }
  }
  for (int a = 0; a < t.taps; ++a) t.sums[a * t.sums_rs] += sum_of_lanes<T>(acc[a]);
}

template <class T>
constexpr ConvLoops<T> make_kernels() {
  ConvLoops<T> kernels{kTaps, copy_rows<T>, split_row<T>, spread_row<T>, pack<T>, nullptr, nullptr, nullptr, nullptr};
  if constexpr (!std::is_integral_v<T>) {
    kernels.outputs = outputs<T>;
    kernels.direct = direct<T>;
    kernels.weight_tile = weight_tile<T>;
    kernels.weight_dots = weight_dots<T>;
  }
  return kernels;
}

template <class T>
constexpr ConvLoops<T> kKernels = make_kernels<T>();

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const ConvLoops<T>& conv_loops() {
  return kKernels<T>;
}
template const ConvLoops<float>& conv_loops<float>();
template const ConvLoops<double>& conv_loops<double>();
template const ConvLoops<uint64_t>& conv_loops<uint64_t>();
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
