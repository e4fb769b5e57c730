// loop.cuh: the kernels that apply a functor to every element of up to three inputs.
//
// A functor F says: F::kInputs, the types of the elements in memory F::In0, F::In1, F::In2 and F::Out, a constructor
// from PointwiseOperands, and a call operator on the inputs' types of computation. It is a template of one type.
// FromTable makes one of an operator of the tables, `template <class T> struct scalar_math::Op`, which the program
// defines after including this file.
#pragma once
#include "device/convert.cuh"
#include "device/loop_nest.cuh"
#include "device/packs.cuh"
#include "device/scalar_math.cuh"
#include "pointwise/loop_params.h"

namespace undertow {

template <class T>
UT_DEVICE T value_of(const PointwiseValue& v) {
  return *reinterpret_cast<const T*>(v.bytes);
}

namespace scalar_math {
template <class T>
struct Op;
}

// The stored type: bool from comparisons, the real type from real functions of complex numbers, else the input's own
// type (arithmetic on small integers and on half dtypes has a wider one).
template <class In, class Result>
using Stored =
    Conditional<kSame<Result, bool>, bool, Conditional<kIsComplex<In> && !kIsComplex<Result>, RealOf<In>, In>>;

template <class T, int inputs>
struct ResultOfOp;
template <class T>
struct ResultOfOp<T, 1> {
  using type = decltype((*static_cast<scalar_math::Op<T>*>(nullptr))(T{}));
};
template <class T>
struct ResultOfOp<T, 2> {
  using type = decltype((*static_cast<scalar_math::Op<T>*>(nullptr))(T{}, T{}));
};
template <class T>
struct ResultOfOp<T, 3> {
  using type = decltype((*static_cast<scalar_math::Op<T>*>(nullptr))(T{}, T{}, T{}));
};

template <class T>
struct FromTable : scalar_math::Op<OpMath<T>> {
  using Base = scalar_math::Op<OpMath<T>>;
  using In0 = T;
  using In1 = T;
  using In2 = T;
  using Out = Stored<T, typename ResultOfOp<OpMath<T>, Base::kInputs>::type>;
  UT_DEVICE explicit FromTable(const PointwiseOperands& operands) : Base(operands) {}
};

constexpr int wider(int a, int b) { return a < b ? b : a; }
template <class F>
inline constexpr int kWidest =
    wider(wider(sizeof(typename F::Out), sizeof(typename F::In0)),
          wider(F::kInputs > 1 ? sizeof(typename F::In1) : 1, F::kInputs > 2 ? sizeof(typename F::In2) : 1));

// The values of one input for one thread, in the type of computation.
template <class In, int vectors, int width>
struct InputValues {
  using Math = OpMath<In>;
  Math at[vectors * width];

  UT_DEVICE void fill(Math value) {
#pragma unroll
    for (int j = 0; j < vectors * width; j++) at[j] = value;
  }
  UT_DEVICE void set(int v, const Pack<In, width>& pack) {
#pragma unroll
    for (int j = 0; j < width; j++) at[v * width + j] = static_cast<Math>(pack.at[j]);
  }
  UT_DEVICE void load_vectors(const In* from, int threads) {
    Pack<In, width> packs[vectors];
#pragma unroll
    for (int v = 0; v < vectors; v++) packs[v] = reinterpret_cast<const Pack<In, width>*>(from)[v * threads];
#pragma unroll
    for (int v = 0; v < vectors; v++) set(v, packs[v]);
  }
  // Element j of the thread is number j * threads; those from `count` on do not exist.
  UT_DEVICE void load_single(const In* from, int threads, int64_t count) {
#pragma unroll
    for (int j = 0; j < vectors * width; j++)
      at[j] = j * threads < count ? static_cast<Math>(from[j * threads]) : Math(1);
  }
  // A dense input, from element `first` of this thread on.
  UT_DEVICE void load(const PointwiseOperands& o, int k, bool whole, int64_t first, int threads, int64_t count) {
    if (o.kinds[k] == kConstantInput) return fill(static_cast<Math>(value_of<In>(o.constants[k])));
    const In* from = reinterpret_cast<const In*>(o.in[k]);
    if (o.kinds[k] == kScalarInput) return fill(static_cast<Math>(*from));
    if (whole)
      load_vectors(from + first, threads);
    else
      load_single(from + first, threads, count);
  }
};

template <class F, class Result, class A, class B, class C>
UT_DEVICE auto call(const F& f, const A& a, const B& b, const C& c, int j) {
  if constexpr (F::kInputs == 1)
    return convert<Result>(static_cast<OpMath<Result>>(f(a.at[j])));
  else if constexpr (F::kInputs == 2)
    return convert<Result>(static_cast<OpMath<Result>>(f(a.at[j], b.at[j])));
  else
    return convert<Result>(static_cast<OpMath<Result>>(f(a.at[j], b.at[j], c.at[j])));
}

// All operands are dense, in the same order, or one value. A block computes one tile.
template <template <class> class Functor, class T>
__global__ void __launch_bounds__(kPointwiseThreads) pointwise_dense(PointwiseOperands o, int64_t n) {
  using F = Functor<T>;
  constexpr int width = vector_elements(kWidest<F>), vectors = vectors_per_thread(kWidest<F>), per = width * vectors;
  using Out = typename F::Out;
  const int threads = kPointwiseThreads, thread = threadIdx.x;
  const int64_t start = static_cast<int64_t>(blockIdx.x) * (threads * per);
  const bool whole = o.aligned && start + threads * per <= n;
  const int64_t first = start + (whole ? thread * width : thread), count = n - first;
  F f(o);
  InputValues<typename F::In0, vectors, width> a;
  InputValues<typename F::In1, vectors, width> b;
  InputValues<typename F::In2, vectors, width> c;
  a.load(o, 0, whole, first, threads, count);
  if constexpr (F::kInputs > 1) b.load(o, 1, whole, first, threads, count);
  if constexpr (F::kInputs > 2) c.load(o, 2, whole, first, threads, count);
  Pack<Out, width> results[vectors];
#pragma unroll
  for (int j = 0; j < per; j++) results[j / width].at[j % width] = call<F, Out>(f, a, b, c, j);
  Out* out = reinterpret_cast<Out*>(o.out) + first;
  if (whole) {
#pragma unroll
    for (int v = 0; v < vectors; v++) reinterpret_cast<Pack<Out, width>*>(out)[v * threads] = results[v];
  } else {
#pragma unroll
    for (int j = 0; j < per; j++)
      if (j * threads < count) out[j * threads] = results[j / width].at[j % width];
  }
}

// The innermost dimension of every operand is dense or has stride 0, and consists of whole vectors; `nest` counts
// vectors. repeated: bit k is set if input k has one value for all elements of a vector.
template <template <class> class Functor, class T>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_vectors(PointwiseOperands o, uint32_t n, uint32_t repeated, LoopNest<kPointwiseInputs + 1> nest) {
  using F = Functor<T>;
  constexpr int width = vector_elements(kWidest<F>), vectors = vectors_per_thread(kWidest<F>), per = width * vectors;
  using Out = typename F::Out;
  const uint32_t start = blockIdx.x * (kPointwiseThreads * vectors) + threadIdx.x;
  F f(o);
  InputValues<typename F::In0, vectors, width> a;
  InputValues<typename F::In1, vectors, width> b;
  InputValues<typename F::In2, vectors, width> c;
  char* out[vectors];
  auto read = [&](auto& values, int k, int v, int64_t offset, auto example) {
    using In = decltype(example);
    Pack<In, width> pack;
    if (o.kinds[k] == kConstantInput || (repeated >> k & 1)) {
      In one =
          o.kinds[k] == kConstantInput ? value_of<In>(o.constants[k]) : *reinterpret_cast<const In*>(o.in[k] + offset);
#pragma unroll
      for (int j = 0; j < width; j++) pack.at[j] = one;
    } else {
      pack = *reinterpret_cast<const Pack<In, width>*>(o.in[k] + offset);
    }
    values.set(v, pack);
  };
#pragma unroll
  for (int v = 0; v < vectors; v++) {
    uint32_t i = start + v * kPointwiseThreads;
    int64_t at[kPointwiseInputs + 1];
    offsets_in(nest, i < n ? i : n - 1, at);
    out[v] = o.out + at[0];
    read(a, 0, v, at[1], typename F::In0{});
    if constexpr (F::kInputs > 1) read(b, 1, v, at[2], typename F::In1{});
    if constexpr (F::kInputs > 2) read(c, 2, v, at[3], typename F::In2{});
  }
  Pack<Out, width> results[vectors];
#pragma unroll
  for (int j = 0; j < per; j++) results[j / width].at[j % width] = call<F, Out>(f, a, b, c, j);
#pragma unroll
  for (int v = 0; v < vectors; v++)
    if (start + v * kPointwiseThreads < n) *reinterpret_cast<Pack<Out, width>*>(out[v]) = results[v];
}

// Any layout.
template <template <class> class Functor, class T>
__global__ void __launch_bounds__(kPointwiseThreads)
    pointwise_strided(PointwiseOperands o, uint32_t n, LoopNest<kPointwiseInputs + 1> nest) {
  using F = Functor<T>;
  using Out = typename F::Out;
  constexpr int per = strided_elements;
  const uint32_t start = blockIdx.x * (kPointwiseThreads * per) + threadIdx.x;
  F f(o);
  InputValues<typename F::In0, per, 1> a;
  InputValues<typename F::In1, per, 1> b;
  InputValues<typename F::In2, per, 1> c;
  Out* out[per];
  auto read = [&](auto& values, int k, int j, int64_t offset, auto example) {
    using In = decltype(example);
    values.at[j] = static_cast<OpMath<In>>(
        o.kinds[k] == kConstantInput ? value_of<In>(o.constants[k]) : *reinterpret_cast<const In*>(o.in[k] + offset));
  };
#pragma unroll
  for (int j = 0; j < per; j++) {
    uint32_t i = start + j * kPointwiseThreads;
    int64_t at[kPointwiseInputs + 1];
    offsets_in(nest, i < n ? i : n - 1, at);
    out[j] = reinterpret_cast<Out*>(o.out + at[0]);
    read(a, 0, j, at[1], typename F::In0{});
    if constexpr (F::kInputs > 1) read(b, 1, j, at[2], typename F::In1{});
    if constexpr (F::kInputs > 2) read(c, 2, j, at[3], typename F::In2{});
  }
#pragma unroll
  for (int j = 0; j < per; j++)
    if (start + j * kPointwiseThreads < n) *out[j] = call<F, Out>(f, a, b, c, j);
}

}  // namespace undertow
