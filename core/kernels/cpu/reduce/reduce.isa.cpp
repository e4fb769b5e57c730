// reduce.isa.cpp: reductions of float and double: sums, products, extrema, norms.
// See Note [One Namespace Per Instruction Set] in simd.h.
//
// Note [Accurate Sums]
// A sequential float32 sum loses a digit for every factor of a hundred in length, and with a systematic bias if the
// summands are alike. Here no accumulator takes more than 16 summands (columns: 16 groups of four rows) before it is
// combined with others of its size: rows and strided runs by a binary counter of partial results, columns in three
// stages, and the plan above combines its rectangles by a counter too. The remainder at the end of a run is summed
// separately first. The error grows with the logarithm of the length, as in torch.
#include "core/kernels/cpu/reduce/reduce_kernels.h"
#include "core/kernels/cpu/simd.h"
#include "core/tensor/dtype/half.h"

namespace undertow::core::cpu {
namespace {

struct Sum {
  [[maybe_unused]] static constexpr bool kPlainExtremum = false, kLargest = false, kIdempotent = false;
  template <class V>
  static V map(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return a + x;
  }
};
struct NanSum : Sum {
  template <class V>
  static V map(V x) {
    return x == x ? x : V{};
  }
};
struct SumAbs : Sum {
  template <class V>
  static V map(V x) {
    return x < V{} ? -x : x;
  }
};
struct SumSquares : Sum {
  template <class V>
  static V map(V x) {
    return x * x;
  }
};
struct Prod {
  [[maybe_unused]] static constexpr bool kPlainExtremum = false, kLargest = false, kIdempotent = false;
  template <class V>
  static V map(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return a * x;
  }
};
// NaN wins, and stays: x > NaN is false, and so is x != x for an ordinary x after it.
struct Max {
  [[maybe_unused]] static constexpr bool kPlainExtremum = true, kLargest = true, kIdempotent = true;
  template <class V>
  static V map(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return ((x > a) | (x != x)) ? x : a;
  }
};
struct Min {
  [[maybe_unused]] static constexpr bool kPlainExtremum = true, kLargest = false, kIdempotent = true;
  template <class V>
  static V map(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return ((x < a) | (x != x)) ? x : a;
  }
};
struct MaxAbs : Max {
  [[maybe_unused]] static constexpr bool kPlainExtremum = false;
  template <class V>
  static V map(V x) {
    return x < V{} ? -x : x;
  }
};
struct MinAbs : Min {
  [[maybe_unused]] static constexpr bool kPlainExtremum = false;
  template <class V>
  static V map(V x) {
    return x < V{} ? -x : x;
  }
};

// How elements are loaded: float or double, or a half dtype that is widened on load.
template <class T>
inline Vec<T> read(const T* p) {
  return load(p);
}
template <class T>
inline T read_one(const T* p) {
  return *p;
}
#if defined(__AVX2__)
template <class T, class In>
  requires(sizeof(In) == 2)
inline Vec<T> read(const In* p) {
#if defined(__AVX512BW__)
  constexpr __mmask16 all = static_cast<__mmask16>(-1);
  __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (std::is_same_v<In, Half>)
    return (Vec<T>)_mm512_maskz_cvtph_ps(all, halves);
  else
    return (Vec<T>)_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, halves), 16);
#else
  __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (std::is_same_v<In, Half>)
    return (Vec<T>)_mm256_cvtph_ps(halves);
  else
    return (Vec<T>)_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
#endif
}
template <class T, class In>
  requires(sizeof(In) == 2)
inline T read_one(const In* p) {  // does not use half.h, whose inline functions are in another namespace
  if constexpr (std::is_same_v<In, Half>)
    return _cvtsh_ss(p->bits);
  else
    return __builtin_bit_cast(T, static_cast<uint32_t>(p->bits) << 16);
}
#endif

template <class Op, class T>
inline T fold_lanes(Vec<T> v) {
  return join_lanes<T>(v, [](Vec<T> a, Vec<T> b) { return Op::join(a, b); });
}

// Pairwise combination of any number of partial results, scalars or vectors: level k holds the combination of 2^k of
// them.
template <class Op, class V>
class Counter {
 public:
  void push(V x) {
    int k = 0;
    for (; count_ >> k & 1; k++) x = Op::join(levels_[k], x);
    levels_[k] = x;
    count_++;
  }
  V total() const {
    int k = 0;
    while (!(count_ >> k & 1)) k++;
    V x = levels_[k];
    for (k++; count_ >> k; k++)
      if (count_ >> k & 1) x = Op::join(levels_[k], x);
    return x;
  }

 private:
  V levels_[48];
  uint64_t count_ = 0;
};

constexpr int64_t kDepth = 16;  // summands per accumulator; see Note [Accurate Sums]

#if defined(__AVX512F__)
// The extremum without NaN handling: it may lose a NaN that precedes another number.
template <class Op>
inline Vec<float> extremum(Vec<float> a, Vec<float> x) {
  constexpr __mmask16 all = static_cast<__mmask16>(-1);
  if constexpr (Op::kLargest)
    return (Vec<float>)_mm512_maskz_max_ps(all, (__m512)a, (__m512)x);
  else
    return (Vec<float>)_mm512_maskz_min_ps(all, (__m512)a, (__m512)x);
}
// A whole block for an extremum: one instruction per vector, and an addition that shows whether it contained a NaN.
// Infinities of both signs show too; in either case the caller reduces the block again with NaN handling.
template <class Op>
inline bool fold_extremum_block(const float* p, int64_t count, Vec<float>* result) {
  constexpr int L = kLanes<float>;
  Vec<float> a[4], s[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++) s[k] = a[k] = load(p + k * L);
#pragma GCC unroll 1  // fully unrolled, it spills registers
  for (int64_t i = 4; i < count; i += 4) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
      Vec<float> x = load(p + (i + k) * L);
      a[k] = extremum<Op>(a[k], x);
      s[k] += x;
    }
  }
  s[0] = (s[0] + s[1]) + (s[2] + s[3]);
  if (_mm512_cmp_ps_mask((__m512)s[0], (__m512)s[0], _CMP_UNORD_Q)) return false;
  *result = extremum<Op>(extremum<Op>(a[0], a[1]), extremum<Op>(a[2], a[3]));
  return true;
}
#endif

// `count` vectors, at least one, in four accumulators.
template <class Op, class T, class In = T>
inline Vec<T> fold_vectors(const In* p, int64_t count) {
  constexpr int L = kLanes<T>;
  Vec<T> a0 = Op::map(read<T>(p));
  int64_t i = 1;
  if (count >= 4) {
    Vec<T> a1 = Op::map(read<T>(p + L)), a2 = Op::map(read<T>(p + 2 * L)), a3 = Op::map(read<T>(p + 3 * L));
    for (i = 4; i + 4 <= count; i += 4) {
      a0 = Op::join(a0, Op::map(read<T>(p + i * L)));
      a1 = Op::join(a1, Op::map(read<T>(p + (i + 1) * L)));
      a2 = Op::join(a2, Op::map(read<T>(p + (i + 2) * L)));
      a3 = Op::join(a3, Op::map(read<T>(p + (i + 3) * L)));
    }
    a0 = Op::join(Op::join(a0, a1), Op::join(a2, a3));
  }
  for (; i < count; i++) a0 = Op::join(a0, Op::map(read<T>(p + i * L)));
  return a0;
}

template <class Op, class T, class In = T>
inline T fold_row(const In* p, int64_t n) {
  constexpr int L = kLanes<T>;
  constexpr int64_t kBlock = 4 * kDepth;  // in vectors
  auto one_by_one = [p](int64_t i, int64_t end) {
    T a = Op::map(read_one<T>(p + i));
    for (i++; i < end; i++) a = Op::join(a, Op::map(read_one<T>(p + i)));
    return a;
  };
  if (n < L) return one_by_one(0, n);
  int64_t vectors = n / L, rest = vectors * L;
  Vec<T> sum;
  if (vectors <= kBlock) {
    sum = fold_vectors<Op, T, In>(p, vectors);
  } else {
    Counter<Op, Vec<T>> counter;
    for (int64_t i = 0; i < vectors; i += kBlock) {
#if defined(__AVX512F__)
      if constexpr (Op::kPlainExtremum && sizeof(In) == 4) {
        Vec<T> block;
        if (vectors - i >= kBlock && fold_extremum_block<Op>(p + i * L, kBlock, &block)) {
          counter.push(block);
          continue;
        }
      }
#endif
      counter.push(fold_vectors<Op, T, In>(p + i * L, min64(kBlock, vectors - i)));
    }
    sum = counter.total();
  }
  if constexpr (Op::kIdempotent) {  // some elements are read twice
    if (rest < n) sum = Op::join(sum, Op::map(read<T>(p + n - L)));
    return fold_lanes<Op, T>(sum);
  }
  T total = fold_lanes<Op, T>(sum);
  return rest < n ? Op::join(total, one_by_one(rest, n)) : total;
}

template <class Op, class T, class In = T>
inline T fold_strided_block(const char* p, int64_t n, int64_t stride) {
  auto at = [&](int64_t i) { return Op::map(read_one<T>(reinterpret_cast<const In*>(p + i * stride))); };
  if (n < 8) {
    T a = at(0);
    for (int64_t i = 1; i < n; i++) a = Op::join(a, at(i));
    return a;
  }
  T a[8];
  for (int k = 0; k < 8; k++) a[k] = at(k);
  int64_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) a[k] = Op::join(a[k], at(i + k));
  for (int k = 0; k < 7; k++)
    if (i + k < n) a[k] = Op::join(a[k], at(i + k));
  return Op::join(Op::join(Op::join(a[0], a[1]), Op::join(a[2], a[3])),
                  Op::join(Op::join(a[4], a[5]), Op::join(a[6], a[7])));
}

template <class Op, class T, class In = T>
inline T fold_strided(const char* p, int64_t n, int64_t stride) {
  constexpr int64_t kBlock = 8 * kDepth;
  if (n <= kBlock) return fold_strided_block<Op, T, In>(p, n, stride);
  Counter<Op, T> counter;
  for (int64_t i = 0; i < n; i += kBlock)
    counter.push(fold_strided_block<Op, T, In>(p + i * stride, min64(kBlock, n - i), stride));
  return counter.total();
}

template <class Op, class T>
void join_rows(char* acc, const char* more, int64_t n) {
  T* a = reinterpret_cast<T*>(acc);
  const T* b = reinterpret_cast<const T*>(more);
  constexpr int L = kLanes<T>;
  int64_t j = 0;
  for (; j + L <= n; j += L) store(a + j, Op::join(load(a + j), load(b + j)));
  for (; j < n; j++) a[j] = Op::join(a[j], b[j]);
}

// Adjacent columns: four rows are combined before they reach the accumulators, which stay in L1.
template <class Op, class T, class In = T>
void fold_few_rows(const char* in, int64_t cols, int64_t rows, int64_t row_stride, T* acc) {
  constexpr int L = kLanes<T>;
  auto row = [&](int64_t i) { return reinterpret_cast<const In*>(in + i * row_stride); };
  const In* first = row(0);
  for (int64_t j = 0; j < cols; j++) acc[j] = Op::map(read_one<T>(first + j));
  int64_t i = 1;
  for (; i + 4 <= rows; i += 4) {
    const In *p = row(i), *q = row(i + 1), *r = row(i + 2), *s = row(i + 3);
    int64_t j = 0;
    for (; j + L <= cols; j += L) {
      Vec<T> pq = Op::join(Op::map(read<T>(p + j)), Op::map(read<T>(q + j))),
             rs = Op::join(Op::map(read<T>(r + j)), Op::map(read<T>(s + j)));
      store(acc + j, Op::join(load(acc + j), Op::join(pq, rs)));
    }
    for (; j < cols; j++)
      acc[j] = Op::join(acc[j], Op::join(Op::join(Op::map(read_one<T>(p + j)), Op::map(read_one<T>(q + j))),
                                         Op::join(Op::map(read_one<T>(r + j)), Op::map(read_one<T>(s + j)))));
  }
  for (; i < rows; i++) {
    const In* p = row(i);
    int64_t j = 0;
    for (; j + L <= cols; j += L) store(acc + j, Op::join(load(acc + j), Op::map(read<T>(p + j))));
    for (; j < cols; j++) acc[j] = Op::join(acc[j], Op::map(read_one<T>(p + j)));
  }
}

// Any number of rows, in strips of columns: kRows rows are one stage, kRows stages the next, all of those the last.
template <class Op, class T, class In = T>
void fold_columns(const char* in, int64_t cols, int64_t rows, int64_t row_stride, T* acc) {
  constexpr int64_t kRows = 4 * kDepth, kStrip = 1024;
  if (rows <= kRows) return fold_few_rows<Op, T, In>(in, cols, rows, row_stride, acc);
  T few[kStrip], many[kStrip];
  for (int64_t j = 0; j < cols; j += kStrip) {
    int64_t width = min64(kStrip, cols - j);
    const char* strip = in + j * static_cast<int64_t>(sizeof(In));
    for (int64_t i = 0; i < rows; i += kRows * kRows) {
      int64_t end = min64(rows, i + kRows * kRows);
      T* to = i == 0 ? acc + j : many;
      fold_few_rows<Op, T, In>(strip + i * row_stride, width, min64(kRows, end - i), row_stride, to);
      for (int64_t r = i + kRows; r < end; r += kRows) {
        fold_few_rows<Op, T, In>(strip + r * row_stride, width, min64(kRows, end - r), row_stride, few);
        join_rows<Op, T>(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(few), width);
      }
      if (i > 0) join_rows<Op, T>(reinterpret_cast<char*>(acc + j), reinterpret_cast<const char*>(many), width);
    }
  }
}

// A few columns without gaps between rows: k rows are read as one long row of k * cols columns, reduced at the end.
template <class Op, class T, class In = T>
void fold_narrow(const char* in, int64_t cols, int64_t rows, T* acc) {
  constexpr int64_t kWidth = 256;
  int64_t k = kWidth / cols, long_rows = rows / k, stride = cols * static_cast<int64_t>(sizeof(In));
  T wide[kWidth];
  fold_columns<Op, T, In>(in, k * cols, long_rows, k * stride, wide);
  for (int64_t left = k; left > 1; left = (left + 1) / 2) {  // halve the number of rows in `wide`
    int64_t keep = (left + 1) / 2;
    for (int64_t j = keep * cols; j < left * cols; j++)
      wide[j - keep * cols] = Op::join(wide[j - keep * cols], wide[j]);
  }
  for (int64_t j = 0; j < cols; j++) acc[j] = wide[j];
  int64_t done = long_rows * k;
  if (done == rows) return;
  fold_columns<Op, T, In>(in + done * stride, cols, rows - done, stride, wide);
  join_rows<Op, T>(reinterpret_cast<char*>(acc), reinterpret_cast<const char*>(wide), cols);
}

template <class Op, class T, class In = T>
void fold(const char* in, int64_t outs, int64_t out_stride, int64_t n, int64_t stride, char* to) {
  T* acc = reinterpret_cast<T*>(to);
  if (stride == sizeof(In) || n == 1) {
    for (int64_t j = 0; j < outs; j++)
      acc[j] = fold_row<Op, T, In>(reinterpret_cast<const In*>(in + j * out_stride), n);
  } else if (out_stride == sizeof(In) && outs > 1) {
    if (outs <= 64 && stride == outs * static_cast<int64_t>(sizeof(In)) && n >= 512)
      fold_narrow<Op, T, In>(in, outs, n, acc);
    else
      fold_columns<Op, T, In>(in, outs, n, stride, acc);
  } else {
    for (int64_t j = 0; j < outs; j++) acc[j] = fold_strided<Op, T, In>(in + j * out_stride, n, stride);
  }
}

template <class T>
FoldFn pick(Fold op, DType t) {
  switch (op) {
    case Fold::Sum:
      return {fold<Sum, T>, join_rows<Sum, T>, t};
    case Fold::NanSum:
      return {fold<NanSum, T>, join_rows<Sum, T>, t};
    case Fold::Prod:
      return {fold<Prod, T>, join_rows<Prod, T>, t};
    case Fold::Max:
      return {fold<Max, T>, join_rows<Max, T>, t};
    case Fold::Min:
      return {fold<Min, T>, join_rows<Min, T>, t};
    case Fold::SumAbs:
      return {fold<SumAbs, T>, join_rows<Sum, T>, t};
    case Fold::SumSquares:
      return {fold<SumSquares, T>, join_rows<Sum, T>, t};
    case Fold::MaxAbs:
      return {fold<MaxAbs, T>, join_rows<Max, T>, t};
    case Fold::MinAbs:
      return {fold<MinAbs, T>, join_rows<Min, T>, t};
    default:
      return {};
  }
}

}  // namespace

namespace UNDERTOW_ISA_NS {
FoldFn real_fold(Fold op, DType in) {
#if defined(__AVX2__)
  if (op == Fold::Sum && in == DType::BFloat16)
    return {fold<Sum, float, BFloat16>, join_rows<Sum, float>, DType::Float32};
  if (op == Fold::Sum && in == DType::Float16) return {fold<Sum, float, Half>, join_rows<Sum, float>, DType::Float32};
#endif
  return in == DType::Float32 ? pick<float>(op, in) : in == DType::Float64 ? pick<double>(op, in) : FoldFn();
}
float sum_row(const float* in, int64_t n) { return fold_row<Sum, float>(in, n); }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
