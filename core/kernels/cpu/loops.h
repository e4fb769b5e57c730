// loops.h: one-dimensional loops over strided pointers for functors of one to three operands.
// Knows element types; not tensors, shapes or threads.
//
// Note [Kernel Builds]
// float and double loops are compiled once per instruction set (namespaces isa_baseline, isa_avx2, isa_avx512),
// integers and complex once: there memory or branches dominate. The half types run the float loops (half_loops.h). A
// table per operator, indexed by dtype, is filled when the library loads with the widest the machine runs.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/tensor/dtype.h"
#include "core/tensor/scalar.h"

namespace undertow::cpu {

// p[0] is the output, p[1..] the inputs; strides in bytes; n elements.
using LoopFn = void (*)(char* const* p, const int64_t* strides, int64_t n, const Scalar* params);

#ifndef UNDERTOW_ISA_NS
#define UNDERTOW_ISA_NS any_isa
#endif

namespace UNDERTOW_ISA_NS {

// What is stored: bool from tests, the real type from real functions of complex numbers, else the input's own type
// (arithmetic on small integers and on the half types has a wider one).
template <class In, class R>
struct StoredOf {
  using type = std::conditional_t<std::is_same_v<R, bool>, bool, In>;
};
template <class T, class R>
  requires(!kIsComplex<R>)
struct StoredOf<std::complex<T>, R> {
  using type = std::conditional_t<std::is_same_v<R, bool>, bool, T>;
};
template <class In, class R>
using Stored = typename StoredOf<In, R>::type;

inline constexpr int64_t kArrayBlock = 512;

// For functors with an `array` function: gathers blocks into its type, computes, scatters.
template <class Op, class In>
void array_loop(char* const* p, const int64_t* s, int64_t n, const Scalar*) {
  using M = OpMath<In>;
  if constexpr (std::is_same_v<M, In>) {
    if (s[0] == sizeof(In) && s[1] == sizeof(In)) {
      Op::array(reinterpret_cast<const In*>(p[1]), reinterpret_cast<In*>(p[0]), n);
      return;
    }
  }
  M block[kArrayBlock];
  char *out = p[0], *a = p[1];
  for (int64_t at = 0; at < n; at += kArrayBlock) {
    int64_t count = n - at < kArrayBlock ? n - at : kArrayBlock;
    for (int64_t i = 0; i < count; i++, a += s[1]) block[i] = static_cast<M>(*reinterpret_cast<const In*>(a));
    Op::array(block, block, count);
    for (int64_t i = 0; i < count; i++, out += s[0]) *reinterpret_cast<In*>(out) = In(block[i]);
  }
}

template <class Op, class In>
void loop1(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  Op op(params);
  using M = OpMath<In>;
  using Out = Stored<In, decltype(op(M{}))>;
  if (s[0] == sizeof(Out) && s[1] == sizeof(In)) {
    // Truth values are read and written as bytes: the compiler does not vectorise a negation of bools.
    auto* out = reinterpret_cast<std::conditional_t<std::is_same_v<Out, bool>, uint8_t, Out>*>(p[0]);
    auto* a = reinterpret_cast<const std::conditional_t<std::is_same_v<In, bool>, uint8_t, In>*>(p[1]);
    // In place (out == a) is no dependence between iterations; partial overlap is refused before.
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<M>(a[i])));
    return;
  }
  char *out = p[0], *a = p[1];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1])
    *reinterpret_cast<Out*>(out) = Out(op(static_cast<M>(*reinterpret_cast<const In*>(a))));
}

template <class Op, class A, class B>
void loop2(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  Op op(params);
  using MA = OpMath<A>;
  using MB = OpMath<B>;
  using Out = Stored<A, decltype(op(MA{}, MB{}))>;
  if (s[0] == sizeof(Out)) {
    auto* out = reinterpret_cast<Out*>(p[0]);
    auto* a = reinterpret_cast<const A*>(p[1]);
    auto* b = reinterpret_cast<const B*>(p[2]);
    if (s[1] == sizeof(A) && s[2] == sizeof(B)) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<MA>(a[i]), static_cast<MB>(b[i])));
      return;
    }
    if (s[1] == sizeof(A) && s[2] == 0) {
      MB v = static_cast<MB>(*b);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<MA>(a[i]), v));
      return;
    }
    if (s[1] == 0 && s[2] == sizeof(B)) {
      MA v = static_cast<MA>(*a);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(v, static_cast<MB>(b[i])));
      return;
    }
  }
  char *out = p[0], *a = p[1], *b = p[2];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1], b += s[2])
    *reinterpret_cast<Out*>(out) =
        Out(op(static_cast<MA>(*reinterpret_cast<const A*>(a)), static_cast<MB>(*reinterpret_cast<const B*>(b))));
}

template <class Op, class A, class B, class C>
void loop3(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  Op op(params);
  using M = OpMath<A>;
  using Out = Stored<A, decltype(op(M{}, M{}, M{}))>;
  if (s[0] == sizeof(Out) && s[1] == sizeof(A) && s[2] == sizeof(B) && s[3] == sizeof(C)) {
    auto* out = reinterpret_cast<Out*>(p[0]);
    auto* a = reinterpret_cast<const A*>(p[1]);
    auto* b = reinterpret_cast<const B*>(p[2]);
    auto* c = reinterpret_cast<const C*>(p[3]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<M>(a[i]), static_cast<M>(b[i]), static_cast<M>(c[i])));
    return;
  }
  if (s[0] == sizeof(Out) && s[1] == sizeof(A) && (s[2] == 0 || s[2] == sizeof(B)) && (s[3] == 0 || s[3] == sizeof(C))) {
    auto* out = reinterpret_cast<Out*>(p[0]);
    auto* a = reinterpret_cast<const A*>(p[1]);
    auto* b = reinterpret_cast<const B*>(p[2]);
    auto* c = reinterpret_cast<const C*>(p[3]);
    const M vb = static_cast<M>(*b), vc = static_cast<M>(*c);
    if (s[2] == 0 && s[3] == 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<M>(a[i]), vb, vc));
    } else if (s[2] == 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<M>(a[i]), vb, static_cast<M>(c[i])));
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(static_cast<M>(a[i]), static_cast<M>(b[i]), vc));
    }
    return;
  }
  char *out = p[0], *a = p[1], *b = p[2], *c = p[3];
  for (int64_t i = 0; i < n; i++, out += s[0], a += s[1], b += s[2], c += s[3])
    *reinterpret_cast<Out*>(out) = Out(op(static_cast<M>(*reinterpret_cast<const A*>(a)), static_cast<M>(*reinterpret_cast<const B*>(b)),
                                          static_cast<M>(*reinterpret_cast<const C*>(c))));
}

template <class Op, class A>
constexpr LoopFn pick_loop() {
  if constexpr (requires(OpMath<A>* x) { Op::array(x, x, int64_t{}); }) return array_loop<Op, A>;
  else return loop1<Op, A>;
}
template <class Op, class A, class B>
constexpr LoopFn pick_loop() { return loop2<Op, A, B>; }
template <class Op, class A, class B, class C>
constexpr LoopFn pick_loop() { return loop3<Op, A, B, C>; }

}  // namespace UNDERTOW_ISA_NS
}  // namespace undertow::cpu
