// index_update.cpp: see index_update.h.
#include "core/kernels/cpu/index/index_update.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/index/index_loops.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

namespace {

struct SetOp {
  template <class T>
  static T apply(T, T s) {
    return s;
  }
};
struct AddOp {
  template <class T>
  static T apply(T d, T s) {
    if constexpr (std::is_same_v<T, bool>)
      return d || s;
    else
      return T(OpMath<T>(d) + OpMath<T>(s));
  }
};
struct MultiplyOp {
  template <class T>
  static T apply(T d, T s) {
    if constexpr (std::is_same_v<T, bool>)
      return d && s;
    else
      return T(OpMath<T>(d) * OpMath<T>(s));
  }
};
// NaN wins on either side.
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
// All three operations, for types that are rarely updated this way: separate loops for each would take 50 kB.
struct RareOp {
  Update kind;
  template <class T>
  T apply(T d, T s) const {
    if (kind == Update::Multiply) return MultiplyOp::apply(d, s);
    if constexpr (kIsComplex<T>)
      return d;
    else
      return kind == Update::Max ? ExtremeOp<true>::apply(d, s) : ExtremeOp<false>::apply(d, s);
  }
};
template <class Op>
Op operation(Update kind) {
  if constexpr (std::is_same_v<Op, RareOp>)
    return {kind};
  else
    return {};
}

// Computes the multi-index of a chunk's first position, and continues in runs along the innermost dimension.
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

// The loops that depend on dtype and operation. Everything around them is compiled once.
struct UpdateLoops {
  int64_t width;  // of an element, in bytes
  // n elements, which are ds and ss bytes apart.
  void (*row)(Update kind, char* d, const char* s, int64_t ds, int64_t ss, int64_t n);
  // n slices, which are ds and ss bytes apart, each at all positions of u.
  void (*slices)(const IndexUpdate& u, Update kind, char* d, const char* s, int64_t ds, int64_t ss, int64_t n);
  // n elements at positions `at` along a dimension of stride dst_stride.
  void (*scatter)(Update kind, char* d, const char* s, const int64_t* at, int64_t n, int64_t ds, int64_t ss,
                  int64_t dst_stride);
};

// to[i] += from[i], in float.
void add_halves(DType half, char* to, const char* from, int64_t n) {
  constexpr int64_t kBlock = 512, width = sizeof(uint16_t);
  const HalfLines lines(half);
  alignas(64) float sum[kBlock], more[kBlock];
  for (int64_t i = 0; i < n; i += kBlock, to += kBlock * width, from += kBlock * width) {
    const int64_t count = std::min(kBlock, n - i);
    lines.to_float(to, count, sum);
    lines.to_float(from, count, more);
    index_loops().add_float(sum, more, count);
    lines.to_half(sum, count, to);
  }
}

template <class T, class Op>
void update_row(Update kind, char* d, const char* s, int64_t ds, int64_t ss, int64_t n) {
  Op op = operation<Op>(kind);
  if (ds == sizeof(T) && ss == sizeof(T)) {
    auto* out = reinterpret_cast<T*>(d);
    auto* in = reinterpret_cast<const T*>(s);
    if constexpr (std::is_same_v<Op, SetOp>)
      copy_bytes(d, s, n * static_cast<int64_t>(sizeof(T)));
    else if constexpr (std::is_same_v<Op, AddOp> && std::is_same_v<T, float>)
      index_loops().add_float(out, in, n);
    else if constexpr (std::is_same_v<Op, AddOp> && std::is_same_v<T, double>)
      index_loops().add_double(out, in, n);
    else if constexpr (std::is_same_v<Op, AddOp> && kIsHalf<T>)
      add_halves(DTypeOf<T>::value, d, s, n);
    else
      for (int64_t i = 0; i < n; i++) out[i] = op.apply(out[i], in[i]);
    return;
  }
  for (int64_t i = 0; i < n; i++, d += ds, s += ss) {
    T& out = *reinterpret_cast<T*>(d);
    out = op.apply(out, *reinterpret_cast<const T*>(s));
  }
}

template <class T, class Op>
void update_slices(const IndexUpdate& u, Update kind, char* d, const char* s, int64_t ds, int64_t ss, int64_t n) {
  Op op = operation<Op>(kind);
  for (int64_t i = 0; i < n; i++, d += ds, s += ss)
    for (int64_t k = 0; k < u.count; k++) {
      T& out = *reinterpret_cast<T*>(d + u.dst_offsets[k]);
      out = op.apply(out, *reinterpret_cast<const T*>(s + (u.src_offsets ? u.src_offsets[k] : k * u.src_step)));
    }
}

template <class T, class Op>
void scatter(Update kind, char* d, const char* s, const int64_t* at, int64_t n, int64_t ds, int64_t ss,
             int64_t dst_stride) {
  Op op = operation<Op>(kind);
  if (ds == 0 && ss == sizeof(T) && dst_stride == sizeof(T)) {
    auto* out = reinterpret_cast<T*>(d);
    auto* in = reinterpret_cast<const T*>(s);
    for (int64_t k = 0; k < n; k++) out[at[k]] = op.apply(out[at[k]], in[k]);
    return;
  }
  for (int64_t k = 0; k < n; k++, d += ds, s += ss) {
    T& out = *reinterpret_cast<T*>(d + at[k] * dst_stride);
    out = op.apply(out, *reinterpret_cast<const T*>(s));
  }
}

template <class T, class Op>
UpdateLoops loops_of() {
  return {sizeof(T), update_row<T, Op>, update_slices<T, Op>, scatter<T, Op>};
}

UpdateLoops loops_for(DType dtype, Update kind) {
  if (kind == Update::Set)
    return dispatch_width(dtype, [&](auto tag) { return loops_of<typename decltype(tag)::type, SetOp>(); });
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kind == Update::Add) return loops_of<T, AddOp>();
    if constexpr (kIsComplex<T>)
      if (kind != Update::Multiply)
        UT_FAIL_AS(NotImplemented, "\"", kind == Update::Max ? "amax" : "amin", "\" not implemented for '",
                   long_name(DTypeOf<T>::value), "'");
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
      if (kind == Update::Multiply) return loops_of<T, MultiplyOp>();
      if (kind == Update::Max) return loops_of<T, ExtremeOp<true>>();
      return loops_of<T, ExtremeOp<false>>();
    } else {
      return loops_of<T, RareOp>();
    }
  });
}

// Wide enough that a chunk covers several cache lines of each row, and that no two chunks share many; see
// Note [Writes In Index Order].
constexpr int64_t kMinRun = 64;
constexpr int64_t kWork = 32768;         // updates that justify a thread
constexpr int64_t kMinRowElements = 16;  // elements of a row that justify assigning it to a thread
int64_t grain_for(int64_t count) { return std::max<int64_t>(kMinRun, kWork / std::max<int64_t>(count, 1)); }

struct AssignedPositions;  // scratch; one type for all instances, because each costs thread-local memory

// Calls f(k) for every position, those of one destination in order and on one thread: positions are assigned, in order,
// to ranges of the destination's memory, of which there are at most `most` or 16.
template <class F>
void by_destination(const IndexUpdate& u, int64_t most, F&& f) {
  constexpr int kParts = 16;
  int64_t last = *std::max_element(u.dst_offsets, u.dst_offsets + u.count);
  int bits = std::min<int>(4, static_cast<int>(std::bit_width(static_cast<uint64_t>(most))) - 1);
  int shift = std::max<int>(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(last))) - bits);
  int64_t start[kParts + 1] = {};
  for (int64_t k = 0; k < u.count; k++) start[(u.dst_offsets[k] >> shift) + 1]++;
  for (int p = 0; p < kParts; p++) start[p + 1] += start[p];
  Temporary<AssignedPositions, int64_t> assigned(u.count);
  int64_t* list = assigned.get();
  int64_t at[kParts];
  std::copy(start, start + kParts, at);
  for (int64_t k = 0; k < u.count; k++) list[at[u.dst_offsets[k] >> shift]++] = k;
  parallel_for(0, kParts, 1, [&](int64_t part, int64_t) {
    for (int64_t i = start[part]; i < start[part + 1]; i++) f(list[i]);
  });
}

}  // namespace

void run_update(const IndexUpdate& u, DType dtype, Update kind) {
  int64_t others = 1;
  for (int64_t s : u.sizes) others *= s;
  if (!others || !u.count) return;
  const UpdateLoops loops = loops_for(dtype, kind);
  int64_t ds = u.sizes.empty() ? 0 : u.dst_strides[0], ss = u.sizes.empty() ? 0 : u.src_strides[0];
  auto src_at = [&](int64_t k) { return u.src_offsets ? u.src_offsets[k] : k * u.src_step; };
  // Rows that are contiguous in memory are processed whole; otherwise, all positions of one slice.
  bool rows = ds == loops.width && u.sizes[0] > 1;
  if (rows && u.sizes.size() == 1 && others >= kMinRowElements && others * u.count >= 2 * kWork) {
    by_destination(u, std::max<int64_t>(1, others * u.count / kWork),
                   [&](int64_t k) { loops.row(kind, u.dst + u.dst_offsets[k], u.src + src_at(k), ds, ss, others); });
    return;
  }
  int64_t grain = grain_for(u.count);
  if (rows && others / u.sizes[0] >= 8)
    grain = (grain + u.sizes[0] - 1) / u.sizes[0] * u.sizes[0];  // keep rows whole if there are enough
  parallel_for(0, others, grain, [&](int64_t begin, int64_t end) {
    for_runs(u.sizes, begin, end, [&](const int64_t* index, int64_t n) {
      char* d = u.dst + offset_at(u.dst_strides, index);
      const char* s = u.src + offset_at(u.src_strides, index);
      if (!rows) return loops.slices(u, kind, d, s, ds, ss, n);
      for (int64_t k = 0; k < u.count; k++) loops.row(kind, d + u.dst_offsets[k], s + src_at(k), ds, ss, n);
    });
  });
}

bool run_update(const ScatterUpdate& u, DType dtype, Update kind) {
  int64_t others = 1;
  for (int64_t s : u.sizes) others *= s;
  if (!others || !u.count) return true;
  const UpdateLoops loops = loops_for(dtype, kind);
  bool flat = u.sizes.empty();
  int64_t ds = flat ? 0 : u.dst_strides[0], ss = flat ? 0 : u.src_strides[0], is = flat ? 0 : u.index_strides[0];
  bool rows = !flat && u.sizes[0] > 1 && (is == 0 || is < u.index_stride);
  std::atomic<bool> fine{true};  // cleared by any chunk; no ordering is needed
  // n elements with contiguous positions: positions are checked before anything is written.
  auto run = [&](char* d, const char* s, const char* i, int64_t n, int64_t d_step, int64_t s_step) {
    auto* at = reinterpret_cast<const int64_t*>(i);
    if (index_loops().all_within(at, n, 0, u.size))
      loops.scatter(kind, d, s, at, n, d_step, s_step, u.dst_stride);
    else
      fine.store(false, std::memory_order_relaxed);
  };
  // n elements at one position.
  auto run_row = [&](char* d, const char* s, const char* i, int64_t n) {
    const int64_t at = *reinterpret_cast<const int64_t*>(i);
    if (at >= 0 && at < u.size)
      loops.row(kind, d + at * u.dst_stride, s, ds, ss, n);
    else
      fine.store(false, std::memory_order_relaxed);
  };
  parallel_for(0, others, grain_for(u.count), [&](int64_t begin, int64_t end) {
    for_runs(u.sizes, begin, end, [&](const int64_t* index, int64_t n) {
      char* d = u.dst + offset_at(u.dst_strides, index);
      const char* s = u.src + offset_at(u.src_strides, index);
      const char* i = u.index + offset_at(u.index_strides, index);
      if (rows && is == 0) {
        for (int64_t k = 0; k < u.count; k++) run_row(d, s + k * u.src_stride, i + k * u.index_stride, n);
      } else if (rows) {
        for (int64_t k = 0; k < u.count; k++) run(d, s + k * u.src_stride, i + k * u.index_stride, n, ds, ss);
      } else {
        for (int64_t c = 0; c < n; c++) run(d + c * ds, s + c * ss, i + c * is, u.count, 0, u.src_stride);
      }
    });
  });
  return fine;
}

}  // namespace undertow::core::cpu
