// index_update.cpp: see index_update.h.
#include "core/kernels/cpu/index_update.h"

#include <algorithm>

#include "core/base/parallel.h"

namespace undertow::cpu {

namespace {

struct SetOp {
  template <class T>
  static T apply(T, T s) { return s; }
};
struct AddOp {
  template <class T>
  static T apply(T d, T s) {
    if constexpr (std::is_same_v<T, bool>) return d || s;
    else return T(OpMath<T>(d) + OpMath<T>(s));
  }
};
struct MultiplyOp {
  template <class T>
  static T apply(T d, T s) {
    if constexpr (std::is_same_v<T, bool>) return d && s;
    else return T(OpMath<T>(d) * OpMath<T>(s));
  }
};
// NaN wins, from either side.
template <bool larger>
struct ExtremeOp {
  template <class T>
  static T apply(T d, T s) {
    using M = OpMath<T>;
    M a = static_cast<M>(d), b = static_cast<M>(s);
    if (b != b) return s;
    return (larger ? a < b : b < a) ? s : d;
  }
};

// The multi-index of the first position of a chunk, and the way on from there in runs along the innermost dimension.
template <class F>
void for_runs(const Dims& sizes, int64_t begin, int64_t end, F&& run) {
  size_t nd = sizes.size();
  int64_t index[64];
  int64_t rest = begin;
  for (size_t d = 0; d < nd; d++) {
    index[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  for (int64_t at = begin; at < end;) {
    int64_t n = nd ? std::min(sizes[0] - index[0], end - at) : 1;
    run(index, n);
    at += n;
    if (!nd) return;
    index[0] += n;
    for (size_t d = 0; d + 1 < nd && index[d] == sizes[d]; d++) {
      index[d] = 0;
      index[d + 1]++;
    }
  }
}
int64_t offset_at(const Dims& strides, const int64_t* index) {
  int64_t at = 0;
  for (size_t d = 0; d < strides.size(); d++) at += index[d] * strides[d];
  return at;
}

template <class T, class Op>
void update_row(char* d, const char* s, int64_t ds, int64_t ss, int64_t n) {
  if (ds == sizeof(T) && ss == sizeof(T)) {
    auto* out = reinterpret_cast<T*>(d);
    auto* in = reinterpret_cast<const T*>(s);
    for (int64_t i = 0; i < n; i++) out[i] = Op::apply(out[i], in[i]);
    return;
  }
  for (int64_t i = 0; i < n; i++, d += ds, s += ss) {
    T& out = *reinterpret_cast<T*>(d);
    out = Op::apply(out, *reinterpret_cast<const T*>(s));
  }
}

// A cache line of the narrowest dtype in use, so that chunks do not share lines; see Note [Writes In Index Order].
constexpr int64_t kMinRun = 16;
int64_t grain_for(int64_t count) { return std::max<int64_t>(kMinRun, 32768 / std::max<int64_t>(count, 1)); }

template <class T, class Op>
void run_typed(const IndexUpdate& u) {
  int64_t others = 1;
  for (int64_t s : u.sizes) others *= s;
  if (!others || !u.count) return;
  int64_t ds = u.sizes.empty() ? 0 : u.dst_strides[0], ss = u.sizes.empty() ? 0 : u.src_strides[0];
  // Rows that lie together in memory are walked whole; otherwise the positions of one slice are.
  bool rows = ds == sizeof(T) && u.sizes[0] > 1;
  parallel_for(0, others, grain_for(u.count), [&](int64_t begin, int64_t end) {
    for_runs(u.sizes, begin, end, [&](const int64_t* index, int64_t n) {
      char* d = u.dst + offset_at(u.dst_strides, index);
      const char* s = u.src + offset_at(u.src_strides, index);
      if (rows) {
        for (int64_t k = 0; k < u.count; k++) update_row<T, Op>(d + u.dst_offsets[k], s + u.src_offsets[k], ds, ss, n);
        return;
      }
      for (int64_t i = 0; i < n; i++, d += ds, s += ss)
        for (int64_t k = 0; k < u.count; k++) {
          T& out = *reinterpret_cast<T*>(d + u.dst_offsets[k]);
          out = Op::apply(out, *reinterpret_cast<const T*>(s + u.src_offsets[k]));
        }
    });
  });
}

template <class T, class Op>
void run_typed(const ScatterUpdate& u) {
  int64_t others = 1;
  for (int64_t s : u.sizes) others *= s;
  if (!others || !u.count) return;
  bool flat = u.sizes.empty();
  int64_t ds = flat ? 0 : u.dst_strides[0], ss = flat ? 0 : u.src_strides[0], is = flat ? 0 : u.index_strides[0];
  bool rows = !flat && u.sizes[0] > 1 && is < u.index_stride;
  auto one = [&](char* d, const char* s, const char* i) {
    T& out = *reinterpret_cast<T*>(d + *reinterpret_cast<const int64_t*>(i) * u.dst_stride);
    out = Op::apply(out, *reinterpret_cast<const T*>(s));
  };
  parallel_for(0, others, grain_for(u.count), [&](int64_t begin, int64_t end) {
    for_runs(u.sizes, begin, end, [&](const int64_t* index, int64_t n) {
      char* d = u.dst + offset_at(u.dst_strides, index);
      const char* s = u.src + offset_at(u.src_strides, index);
      const char* i = u.index + offset_at(u.index_strides, index);
      if (rows) {
        for (int64_t k = 0; k < u.count; k++)
          for (int64_t c = 0; c < n; c++) one(d + c * ds, s + k * u.src_stride + c * ss, i + k * u.index_stride + c * is);
      } else {
        for (int64_t c = 0; c < n; c++)
          for (int64_t k = 0; k < u.count; k++) one(d + c * ds, s + k * u.src_stride + c * ss, i + k * u.index_stride + c * is);
      }
    });
  });
}

template <class U>
void run_kind(const U& u, DType dtype, Update kind) {
  if (kind == Update::Set) {
    dispatch_width(dtype, [&](auto tag) { run_typed<typename decltype(tag)::type, SetOp>(u); });
    return;
  }
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (kind) {
      case Update::Add: return run_typed<T, AddOp>(u);
      case Update::Multiply: return run_typed<T, MultiplyOp>(u);
      default:
        if constexpr (kIsComplex<T>) UT_FAIL_AS(NotImplemented, "\"", kind == Update::Max ? "amax" : "amin", "\" not implemented for '", long_name(DTypeOf<T>::value), "'");
        else if (kind == Update::Max) run_typed<T, ExtremeOp<true>>(u);
        else run_typed<T, ExtremeOp<false>>(u);
    }
  });
}

}  // namespace

void run_update(const IndexUpdate& u, DType dtype, Update kind) { run_kind(u, dtype, kind); }
void run_update(const ScatterUpdate& u, DType dtype, Update kind) { run_kind(u, dtype, kind); }

}  // namespace undertow::cpu
