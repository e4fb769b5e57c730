// loops.h: one-dimensional loops over strided pointers for functors of one to three operands.
// Knows element types; not tensors, shapes or threads.
//
// Note [Kernel Builds]
// float, double, int32 and int64 loops are compiled once per instruction set (namespaces isa_baseline, isa_avx2,
// isa_avx512): before AVX2 there are no comparisons of 64-bit integers. Smaller integers and complex numbers are
// compiled only once, because memory or branches dominate there. Half dtypes use the float loops (half_loops.h). Each
// operator has a table indexed by dtype, filled when the library loads with the widest loops the machine supports.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/kernels/cpu/pointwise/gathered.h"
#include "core/kernels/pointwise_loop.h"
#include "core/tensor/dtype/dtype.h"
#include "core/tensor/dtype/scalar.h"

namespace undertow::core::cpu {

#ifndef UNDERTOW_ISA_NS
#define UNDERTOW_ISA_NS any_isa
#endif

// For functors of vectorised loops: by default the compiler does not inline the long ones (gelu's derivative, pow) and
// calls them for each element, which is twenty times slower. In other builds, calls cost little compared with the
// arithmetic, and inlining would increase code size.
#if defined(__AVX2__)
#define UT_VECTOR_INLINE inline __attribute__((always_inline))
#else
#define UT_VECTOR_INLINE inline
#endif

namespace UNDERTOW_ISA_NS {

// The stored type: bool from comparisons, the real type from real functions of complex numbers, else the input's own
// type (arithmetic on small integers and on half dtypes has a wider one).
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

// Functors of one or two operands marked Op::kLong are compiled once, for contiguous operands; others are gathered into
// blocks first. A functor may compute a whole block by a function of its own (Op::array).
template <class Op, class Out, class A, class... B>
__attribute__((noinline)) void run_neighbours(const void* data, int64_t n, char* const* p) {
  const Op op = *static_cast<const Op*>(data);
  auto* out = reinterpret_cast<Out*>(p[0]);
  auto* a = reinterpret_cast<const A*>(p[1]);
  if constexpr (sizeof...(B) == 0) {
    if constexpr (requires { Op::array(a, out, n); }) {
      Op::array(a, out, n);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(a[i]));
    }
  } else {
    auto* b = reinterpret_cast<const A*>(p[2]);
    if constexpr (requires { Op::array(a, b, out, n); }) {
      Op::array(a, b, out, n);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = Out(op(a[i], b[i]));
    }
  }
}
template <class Op, class A, class... B>
void long_loop(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  const Op op(params);
  using Out = Stored<A, decltype(op(A{}, B{}...))>;
  constexpr int inputs = 1 + sizeof...(B), in = sizeof(A), out = sizeof(Out);
  if (s[0] == out && s[1] == in && (inputs == 1 || s[2] == in))
    run_neighbours<Op, Out, A, B...>(&op, n, p);
  else if constexpr (std::is_integral_v<A>)
    run_gathered_integers(run_neighbours<Op, Out, A, B...>, &op, {inputs, in, out}, p, s, n);
  else
    run_gathered(run_neighbours<Op, Out, A, B...>, &op, {inputs, in, out}, p, s, n);
}

template <class Op, class In>
void loop1(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  Op op(params);
  using M = OpMath<In>;
  using Out = Stored<In, decltype(op(M{}))>;
  if (s[0] == sizeof(Out) && s[1] == sizeof(In)) {
    // Booleans are read and written as bytes: the compiler does not vectorise a negation of bools.
    auto* out = reinterpret_cast<std::conditional_t<std::is_same_v<Out, bool>, uint8_t, Out>*>(p[0]);
    auto* a = reinterpret_cast<const std::conditional_t<std::is_same_v<In, bool>, uint8_t, In>*>(p[1]);
    // In-place operation (out == a) is not a dependence between iterations; partial overlap has been rejected before.
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
  if (s[0] == sizeof(Out) && s[1] == sizeof(A) && (s[2] == 0 || s[2] == sizeof(B)) &&
      (s[3] == 0 || s[3] == sizeof(C))) {
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
    *reinterpret_cast<Out*>(out) =
        Out(op(static_cast<M>(*reinterpret_cast<const A*>(a)), static_cast<M>(*reinterpret_cast<const B*>(b)),
               static_cast<M>(*reinterpret_cast<const C*>(c))));
}

template <class Op, class A, class... More>
constexpr LoopFn pick_loop() {
  if constexpr (sizeof...(More) < 2 && requires { Op::kLong; })
    return long_loop<Op, A, More...>;
  else if constexpr (sizeof...(More) == 0)
    return loop1<Op, A>;
  else if constexpr (sizeof...(More) == 1)
    return loop2<Op, A, More...>;
  else
    return loop3<Op, A, More...>;
}

}  // namespace UNDERTOW_ISA_NS
}  // namespace undertow::core::cpu
