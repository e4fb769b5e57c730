// reduce_int.isa.cpp: reductions of integers and bools, and any, all and count_nonzero of every dtype.
// See Note [One Namespace Per Instruction Set] in simd.h; plain loops here, which the compiler vectorises.
// build: scalar_tails
#include <type_traits>

#include "core/kernels/cpu/reduce/reduce_kernels.h"

namespace undertow::core::cpu {
namespace {

struct Sum {
  using Acc = int64_t;
  template <class In>
  static Acc map(In x) {
    return static_cast<Acc>(x);
  }
  static Acc join(Acc a, Acc b) { return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
};
struct Prod {
  using Acc = int64_t;
  template <class In>
  static Acc map(In x) {
    return static_cast<Acc>(x);
  }
  static Acc join(Acc a, Acc b) { return static_cast<Acc>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
};
template <class T>
struct Max {
  using Acc = T;
  static Acc map(T x) { return x; }
  static Acc join(Acc a, Acc b) { return b > a ? b : a; }
};
template <class T>
struct Min {
  using Acc = T;
  static Acc map(T x) { return x; }
  static Acc join(Acc a, Acc b) { return b < a ? b : a; }
};

// The bits of a half number, and of a complex number: enough to test for zero.
struct HalfBits {
  uint16_t bits;
};
template <class T>
struct Pair {
  T re, im;
};
template <class T>
inline bool nonzero(T x) {
  return x != T(0);
}
inline bool nonzero(HalfBits x) { return x.bits & 0x7fff; }
template <class T>
inline bool nonzero(Pair<T> x) {
  return (x.re != 0) | (x.im != 0);
}

template <class T>
struct PairProd {
  using Acc = Pair<T>;
  static Acc map(Acc x) { return x; }
  static Acc join(Acc a, Acc b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

struct Any {
  using Acc = bool;
  template <class In>
  static Acc map(In x) {
    return nonzero(x);
  }
  static Acc join(Acc a, Acc b) { return a | b; }
};
struct All {
  using Acc = bool;
  template <class In>
  static Acc map(In x) {
    return nonzero(x);
  }
  static Acc join(Acc a, Acc b) { return a & b; }
};
struct Count {
  using Acc = int64_t;
  template <class In>
  static Acc map(In x) {
    return nonzero(x);
  }
  static Acc join(Acc a, Acc b) { return a + b; }
};

// Contiguous elements. Sums of bytes use 32 bits as long as they fit: twice as many per vector.
template <class Op, class In>
typename Op::Acc fold_run(const In* p, int64_t n) {
  if constexpr (sizeof(In) == 1 && (std::is_same_v<Op, Sum> || std::is_same_v<Op, Count>)) {
    constexpr int64_t kBlock = int64_t{1} << 20;
    int64_t sum = 0;
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t end = at + kBlock < n ? at + kBlock : n;
      int32_t part = 0;
      for (int64_t i = at; i < end; i++) part += static_cast<int32_t>(Op::map(p[i]));
      sum += part;
    }
    return sum;
  } else {
    typename Op::Acc a = Op::map(p[0]);
    for (int64_t i = 1; i < n; i++) a = Op::join(a, Op::map(p[i]));
    return a;
  }
}

template <class Op, class In>
void fold(const char* in, int64_t outs, int64_t out_stride, int64_t n, int64_t stride, char* to) {
  using Acc = typename Op::Acc;
  Acc* acc = reinterpret_cast<Acc*>(to);
  if (stride == sizeof(In)) {
    for (int64_t j = 0; j < outs; j++) acc[j] = fold_run<Op>(reinterpret_cast<const In*>(in + j * out_stride), n);
  } else if (out_stride == sizeof(In)) {
    const In* first = reinterpret_cast<const In*>(in);
    for (int64_t j = 0; j < outs; j++) acc[j] = Op::map(first[j]);
    for (int64_t i = 1; i < n; i++) {
      const In* p = reinterpret_cast<const In*>(in + i * stride);
#pragma GCC ivdep
      for (int64_t j = 0; j < outs; j++) acc[j] = Op::join(acc[j], Op::map(p[j]));
    }
  } else {
    for (int64_t j = 0; j < outs; j++) {
      const char* p = in + j * out_stride;
      Acc a = Op::map(*reinterpret_cast<const In*>(p));
      for (int64_t i = 1; i < n; i++) a = Op::join(a, Op::map(*reinterpret_cast<const In*>(p + i * stride)));
      acc[j] = a;
    }
  }
}

template <class Op>
void join(char* acc, const char* more, int64_t n) {
  using Acc = typename Op::Acc;
  Acc* a = reinterpret_cast<Acc*>(acc);
  const Acc* b = reinterpret_cast<const Acc*>(more);
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) a[j] = Op::join(a[j], b[j]);
}

template <class In>
FoldFn test_of(Fold op) {
  switch (op) {
    case Fold::Any:
      return {fold<Any, In>, join<Any>, DType::Bool};
    case Fold::All:
      return {fold<All, In>, join<All>, DType::Bool};
    case Fold::CountNonzero:
      return {fold<Count, In>, join<Count>, DType::Int64};
    default:
      return {};
  }
}
template <class T>
FoldFn complex_of(Fold op, DType t) {
  if (op == Fold::Prod) return {fold<PairProd<T>, Pair<T>>, join<PairProd<T>>, t};
  return test_of<Pair<T>>(op);
}
template <class T>
FoldFn pick(Fold op, DType t) {
  switch (op) {
    case Fold::Sum:
    case Fold::NanSum:
      return {fold<Sum, T>, join<Sum>, DType::Int64};
    case Fold::Prod:
      return {fold<Prod, T>, join<Prod>, DType::Int64};
    case Fold::Max:
      return {fold<Max<T>, T>, join<Max<T>>, t};
    case Fold::Min:
      return {fold<Min<T>, T>, join<Min<T>>, t};
    default:
      return test_of<T>(op);
  }
}

}  // namespace

namespace UNDERTOW_ISA_NS {
FoldFn int_fold(Fold op, DType in) {
  switch (in) {
    case DType::Bool:  // bytes of 0 and 1, which the compiler vectorises better with this type
    case DType::UInt8:
      return pick<uint8_t>(op, in);
    case DType::Int8:
      return pick<int8_t>(op, in);
    case DType::Int16:
      return pick<int16_t>(op, in);
    case DType::Int32:
      return pick<int32_t>(op, in);
    case DType::Int64:
      return pick<int64_t>(op, in);
    case DType::Float16:
    case DType::BFloat16:
      return test_of<HalfBits>(op);
    case DType::Float32:
      return test_of<float>(op);
    case DType::Float64:
      return test_of<double>(op);
    case DType::Complex64:
      return complex_of<float>(op, in);
    case DType::Complex128:
      return complex_of<double>(op, in);
    default:
      return {};
  }
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
