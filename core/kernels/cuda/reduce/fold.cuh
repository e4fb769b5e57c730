// fold.cuh: reductions over any dimensions. An output has many parts if there are few outputs: then the kernel writes
// one value per part, and a second launch (`partial`) combines them. Every order of operations is fixed.
#pragma once
#include "device/convert.cuh"
#include "device/lanes.cuh"
#include "device/loop_nest.cuh"
#include "device/packs.cuh"
// After prelude.cuh, which defines int64_t.
#include "reduce/fold_params.h"

namespace undertow {

// In the order of core/kernels/fold.h.
enum class Fold { Sum, NanSum, Prod, Max, Min, SumAbs, SumSquares, MaxAbs, MinAbs, Any, All, CountNonzero };

// The dtype of the accumulator, as fold_dtype of core/kernels/reduce.h.
template <Fold op, class In>
using FoldAcc =
    Conditional<op == Fold::Any || op == Fold::All, bool,
                Conditional<op == Fold::CountNonzero, int64_t,
                            Conditional<kIsIntegral<In> && op != Fold::Max && op != Fold::Min, int64_t, OpMath<In>>>>;

template <Fold op, class Acc>
UT_DEVICE Acc fold_identity() {
  constexpr bool max = op == Fold::Max || op == Fold::MaxAbs, min = op == Fold::Min || op == Fold::MinAbs;
  if constexpr ((max || min) && kIsIntegral<Acc>)
    return max ? Limits<Acc>::lowest() : Limits<Acc>::highest();
  else if constexpr (max || min)
    return max ? -Limits<Acc>::infinity() : Limits<Acc>::infinity();
  else
    return Acc(op == Fold::Prod || op == Fold::All);
}

// partial: the element is a partial result already.
template <Fold op, bool partial, class Acc, class In>
UT_DEVICE Acc fold_map(In element) {
  if constexpr (partial) {
    return element;
  } else if constexpr (kSame<Acc, bool> || op == Fold::CountNonzero) {
    return static_cast<Acc>(convert<bool>(element));
  } else {
    Acc x = static_cast<Acc>(element);
    if constexpr (op == Fold::NanSum)
      return x == x ? x : Acc(0);
    else if constexpr (op == Fold::SumAbs || op == Fold::MaxAbs || op == Fold::MinAbs)
      return x < Acc(0) ? -x : x;
    else if constexpr (op == Fold::SumSquares)
      return x * x;
    else
      return x;
  }
}

template <Fold op, class Acc>
UT_DEVICE Acc fold_join(Acc a, Acc b) {
  if constexpr (op == Fold::Max || op == Fold::MaxAbs)
    return b > a || b != b ? b : a;  // NaN wins, and stays
  else if constexpr (op == Fold::Min || op == Fold::MinAbs)
    return b < a || b != b ? b : a;
  else if constexpr (op == Fold::Prod)
    return a * b;
  else if constexpr (op == Fold::All)
    return a && b;
  else if constexpr (op == Fold::Any)
    return a || b;
  else
    return a + b;
}

// The result of a whole output.
template <Fold op, class Out, class Acc>
UT_DEVICE Out fold_result(Acc v, double divisor) {
  if constexpr (op == Fold::Sum && kIsComplex<Acc>) {
    const auto by = static_cast<RealOf<Acc>>(divisor);
    if (divisor != 1) v = {v.re / by, v.im / by};
  } else if constexpr (op == Fold::Sum && kIsFloating<Acc>) {
    if (divisor != 1) v = v / static_cast<Acc>(divisor);
  }
  return convert<Out>(v);
}

template <Fold op, class Acc>
UT_DEVICE Acc fold_warp(Acc v) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) v = fold_join<op>(v, from_lane_above(v, by));
  return v;
}

// Where element r of an output is: by one stride if the reduced dimensions are one.
UT_DEVICE int64_t reduced_offset(const LoopNest<1>& nest, int64_t r) {
  if (nest.ndim == 1) return r * nest.strides[0][0];
  int64_t at[1];
  offsets_in(nest, static_cast<uint32_t>(r), at);
  return at[0];
}

// Joins the accumulators `by` apart. Indices must be constants: an array that is indexed by a variable is in memory.
template <Fold op, int by, int width, class Acc>
UT_DEVICE void join_pairs(Acc (&acc)[width]) {
  if constexpr (by < width) {
#pragma unroll
    for (int j = 0; j < by; j++) acc[j] = fold_join<op>(acc[j], acc[j + by]);
  }
}

// The fold of dense elements by the threads of a row, each for itself.
template <Fold op, bool partial, class Acc, class In>
UT_DEVICE Acc fold_dense(const In* from, int64_t count, int thread, int threads) {
  constexpr int width = 16 / sizeof(In);
  Acc acc[width];
#pragma unroll
  for (int j = 0; j < width; j++) acc[j] = fold_identity<op, Acc>();
  // Elements before the first whole vector.
  int64_t ahead = (16 - static_cast<int64_t>(reinterpret_cast<uintptr_t>(from) % 16)) % 16 / sizeof(In);
  if (ahead > count) ahead = count;
  if (thread < ahead) acc[0] = fold_map<op, partial, Acc>(from[thread]);
  from += ahead;
  count -= ahead;
  const int64_t vectors = count / width;
  const Pack<In, width>* packs = reinterpret_cast<const Pack<In, width>*>(from);
  int64_t i = thread;
  for (; i + (kFoldUnroll - 1) * threads < vectors; i += kFoldUnroll * threads) {
    Pack<In, width> loaded[kFoldUnroll];
#pragma unroll
    for (int u = 0; u < kFoldUnroll; u++) loaded[u] = packs[i + u * threads];
#pragma unroll
    for (int j = 0; j < width; j++) {
      Acc sum = fold_map<op, partial, Acc>(loaded[0].at[j]);
#pragma unroll
      for (int u = 1; u < kFoldUnroll; u++) sum = fold_join<op>(sum, fold_map<op, partial, Acc>(loaded[u].at[j]));
      acc[j] = fold_join<op>(acc[j], sum);
    }
  }
  for (; i < vectors; i += threads) {
    Pack<In, width> loaded = packs[i];
#pragma unroll
    for (int j = 0; j < width; j++) acc[j] = fold_join<op>(acc[j], fold_map<op, partial, Acc>(loaded.at[j]));
  }
  const int64_t last = vectors * width + thread;
  if (last < count) acc[width - 1] = fold_join<op>(acc[width - 1], fold_map<op, partial, Acc>(from[last]));
  join_pairs<op, 8, width>(acc);
  join_pairs<op, 4, width>(acc);
  join_pairs<op, 2, width>(acc);
  join_pairs<op, 1, width>(acc);
  return acc[0];
}

// The same for any layout.
template <Fold op, bool partial, class Acc, class In>
UT_DEVICE Acc fold_scattered(const char* from, const LoopNest<1>& nest, int64_t begin, int64_t end, int thread,
                             int threads) {
  Acc acc = fold_identity<op, Acc>();
  int64_t i = begin + thread;
  for (; i + (kFoldUnroll - 1) * threads < end; i += kFoldUnroll * threads) {
    In loaded[kFoldUnroll];
#pragma unroll
    for (int u = 0; u < kFoldUnroll; u++)
      loaded[u] = *reinterpret_cast<const In*>(from + reduced_offset(nest, i + u * threads));
    Acc sum = fold_map<op, partial, Acc>(loaded[0]);
#pragma unroll
    for (int u = 1; u < kFoldUnroll; u++) sum = fold_join<op>(sum, fold_map<op, partial, Acc>(loaded[u]));
    acc = fold_join<op>(acc, sum);
  }
  for (; i < end; i += threads)
    acc = fold_join<op>(acc, fold_map<op, partial, Acc>(*reinterpret_cast<const In*>(from + reduced_offset(nest, i))));
  return acc;
}

// The elements of an output lie closer together than the outputs: p.lanes threads (a warp, or the block) per output and
// part. dense: the elements of an output are dense. Out: of the result; parts have the accumulator's type.
template <int fold, class In, class Out, bool partial, bool dense>
__global__ void __launch_bounds__(kFoldThreads) fold_rows(char* out, const char* in, FoldParams p) {
  constexpr Fold op = static_cast<Fold>(fold);
  using Acc = Conditional<partial, In, FoldAcc<op, In>>;
  const uint32_t rows = kFoldThreads / p.lanes, thread = threadIdx.x % p.lanes;
  const uint32_t row = blockIdx.x * rows + threadIdx.x / p.lanes, output = row / p.parts, part = row % p.parts;
  const bool exists = output < p.outputs;
  int64_t at[2];
  offsets_in(p.kept, exists ? output : 0, at);
  const int64_t begin = part * p.chunk, end = begin + p.chunk < p.count ? begin + p.chunk : p.count;
  Acc acc = fold_identity<op, Acc>();
  if (exists) {
    if constexpr (dense)
      acc = fold_dense<op, partial, Acc>(reinterpret_cast<const In*>(in + at[0]) + begin, end - begin, thread, p.lanes);
    else
      acc = fold_scattered<op, partial, Acc, In>(in + at[0], p.reduced, begin, end, thread, p.lanes);
  }
  acc = fold_warp<op>(acc);
  if (p.lanes > 32) {
    constexpr int warps = kFoldThreads / 32;
    alignas(16) __shared__ char kept[warps * sizeof(Acc)];
    Acc* shared = reinterpret_cast<Acc*>(kept);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = acc;
    __syncthreads();
    if (threadIdx.x < 32) acc = fold_warp<op>(threadIdx.x < warps ? shared[threadIdx.x] : fold_identity<op, Acc>());
  }
  if (!exists || thread != 0) return;
  if (p.parts == 1)
    *reinterpret_cast<Out*>(out + at[1]) = fold_result<op, Out>(acc, p.divisor);
  else
    reinterpret_cast<Acc*>(out)[static_cast<int64_t>(part) * p.outputs + output] = acc;
}

// Neighbouring outputs are closer together than the elements of one: p.lanes threads side by side, each for `width`
// outputs, and the other threads of the block for further elements of them.
template <int fold, class In, class Out, bool partial, int width>
__global__ void __launch_bounds__(kFoldThreads) fold_columns(char* out, const char* in, FoldParams p) {
  constexpr Fold op = static_cast<Fold>(fold);
  using Acc = Conditional<partial, In, FoldAcc<op, In>>;
  const uint32_t x = threadIdx.x % p.lanes, y = threadIdx.x / p.lanes, layers = kFoldThreads / p.lanes;
  const uint32_t output = (blockIdx.x * p.lanes + x) * width;
  const bool exists = output < p.outputs;
  int64_t at[2];
  offsets_in(p.kept, exists ? output : 0, at);
  const int64_t begin = blockIdx.y * p.chunk, end = begin + p.chunk < p.count ? begin + p.chunk : p.count;
  Acc acc[width];
#pragma unroll
  for (int j = 0; j < width; j++) acc[j] = fold_identity<op, Acc>();
  if (exists) {
    const char* from = in + at[0];
    int64_t i = begin + y;
    for (; i + (kFoldUnroll - 1) * layers < end; i += kFoldUnroll * layers) {
      Pack<In, width> loaded[kFoldUnroll];
#pragma unroll
      for (int u = 0; u < kFoldUnroll; u++)
        loaded[u] = *reinterpret_cast<const Pack<In, width>*>(from + reduced_offset(p.reduced, i + u * layers));
#pragma unroll
      for (int j = 0; j < width; j++) {
        Acc sum = fold_map<op, partial, Acc>(loaded[0].at[j]);
#pragma unroll
        for (int u = 1; u < kFoldUnroll; u++) sum = fold_join<op>(sum, fold_map<op, partial, Acc>(loaded[u].at[j]));
        acc[j] = fold_join<op>(acc[j], sum);
      }
    }
    for (; i < end; i += layers) {
      Pack<In, width> loaded = *reinterpret_cast<const Pack<In, width>*>(from + reduced_offset(p.reduced, i));
#pragma unroll
      for (int j = 0; j < width; j++) acc[j] = fold_join<op>(acc[j], fold_map<op, partial, Acc>(loaded.at[j]));
    }
  }
  // The layers are joined pairwise.
  alignas(16) __shared__ char kept[kFoldThreads * sizeof(Acc)];
  Acc* shared = reinterpret_cast<Acc*>(kept);
#pragma unroll
  for (int j = 0; j < width; j++) {
    __syncthreads();
    shared[threadIdx.x] = acc[j];
    for (uint32_t half = layers / 2; half > 0; half /= 2) {
      __syncthreads();
      if (y < half) shared[threadIdx.x] = fold_join<op>(shared[threadIdx.x], shared[threadIdx.x + half * p.lanes]);
    }
    acc[j] = shared[threadIdx.x];
  }
  if (!exists || y != 0) return;
#pragma unroll
  for (int j = 0; j < width; j++) {
    if (output + j >= p.outputs) break;
    if (p.parts > 1) {
      reinterpret_cast<Acc*>(out)[static_cast<int64_t>(blockIdx.y) * p.outputs + output + j] = acc[j];
    } else {
      if (j > 0) offsets_in(p.kept, output + j, at);
      *reinterpret_cast<Out*>(out + at[1]) = fold_result<op, Out>(acc[j], p.divisor);
    }
  }
}

}  // namespace undertow
