// write.cuh: writes at indices. See Note [Writes In Index Order] in kernels/cpu/index/index_update.h: elements that are
// written several times are updated in index order here too, by one thread. scatter_elements is the exception: its sums
// of floating numbers may differ in their last bits from run to run.
#pragma once
#include "device/strided.cuh"
#include "index/positions.cuh"
#include "index/update.cuh"

// Operands of the nest: dst, src, the byte offsets. Which of several values an element gets is not defined.
template <class U>
__global__ void set_at_offsets(char* dst, const char* src, const char* offsets, int64_t n, Nest nest) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[3];
    offsets_in<3>(nest, i, at);
    const int64_t offset = *reinterpret_cast<const int64_t*>(offsets + at[2]);
    *reinterpret_cast<U*>(dst + at[0] + offset) = *reinterpret_cast<const U*>(src + at[1]);
  }
}

// A thread per element of the other dimensions goes over all `count` offsets. Operands of `others`: dst, src; of
// `places`: src, over the offsets.
template <class T, UpdateKind kind>
__global__ void update_in_turn(char* dst, const char* src, const int64_t* offsets, int64_t count, int64_t n,
                               Nest others, Nest places) {
  using M = OpMath<T>;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[2], from[1];
    offsets_in<2>(others, i, at);
    for (int64_t k = 0; k < count; k++) {
      offsets_in<1>(places, k, from);
      T& to = *reinterpret_cast<T*>(dst + at[0] + offsets[k]);
      to = convert<T>(updated<kind, M>(convert<M>(to), convert<M>(*reinterpret_cast<const T*>(src + at[1] + from[0]))));
    }
  }
}

// `order` sorts the offsets. A thread per offset and element of the other dimensions: the first of several equal
// offsets does the work of all.
template <class T, UpdateKind kind>
__global__ void update_sorted(char* dst, const char* src, const int64_t* offsets, const uint32_t* order, int64_t count,
                              int64_t width, Nest others, Nest places) {
  using M = OpMath<T>;
  for (int64_t i = thread_number(); i < count * width; i += thread_count()) {
    const Divided place = divided(i, width);
    const int64_t first = place.whole;
    const int64_t offset = offsets[order[first]];
    if (first > 0 && offsets[order[first - 1]] == offset) continue;
    int64_t at[2], from[1];
    offsets_in<2>(others, place.rest, at);
    T& to = *reinterpret_cast<T*>(dst + at[0] + offset);
    M sum = convert<M>(to);
    for (int64_t j = first; j < count; j++) {
      const int64_t k = order[j];
      if (offsets[k] != offset) break;
      offsets_in<1>(places, k, from);
      sum = updated<kind, M>(sum, convert<M>(*reinterpret_cast<const T*>(src + at[1] + from[0])));
    }
    to = convert<T>(sum);
  }
}

// Every element of src has its own position. Operands of the nest: dst, src. A thread per element.
template <class T, UpdateKind kind>
__global__ void scatter_elements(char* dst, const char* src, int64_t n, Nest nest, PositionLists lists) {
  const PositionList& list = lists.list[0];
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t position = list.at[i], at[2];
    if (!in_range(list, position)) {
      report_error(lists.slot, list.raise, list.at[i], list.dim, list.size);
      continue;
    }
    offsets_in<2>(nest, i, at);
    T* to = reinterpret_cast<T*>(dst + at[0] + position * list.stride);
    const T with = *reinterpret_cast<const T*>(src + at[1]);
    if constexpr (kind == Set)
      *to = with;
    else
      update_atomically<kind>(to, with);
  }
}

// The byte offset in dst of every element, for writes in index order. The nest has dst's strides.
template <int = 0>
__global__ void scatter_offsets(int64_t* offsets, int64_t n, Nest nest, PositionLists lists) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_in<1>(nest, i, at);
    offsets[i] = at[0] + offset_at(lists.list[0], lists.slot, i);
  }
}

// The same in index order: a thread per line along the dimension. Operands of the nest, which lacks that dimension:
// dst, src, the positions.
template <class T, UpdateKind kind>
__global__ void scatter_lines(char* dst, const char* src, int64_t lines, int64_t count, int64_t src_stride,
                              int64_t index_stride, Nest nest, PositionLists lists) {
  using M = OpMath<T>;
  const PositionList& list = lists.list[0];
  for (int64_t i = thread_number(); i < lines; i += thread_count()) {
    int64_t at[3];
    offsets_in<3>(nest, i, at);
    for (int64_t k = 0; k < count; k++) {
      const int64_t given =
          *reinterpret_cast<const int64_t*>(reinterpret_cast<const char*>(list.at) + at[2] + k * index_stride);
      int64_t position = given;
      if (!in_range(list, position)) {
        report_error(lists.slot, list.raise, given, list.dim, list.size);
        continue;
      }
      T& to = *reinterpret_cast<T*>(dst + at[0] + position * list.stride);
      const T with = *reinterpret_cast<const T*>(src + at[1] + k * src_stride);
      to = convert<T>(updated<kind, M>(convert<M>(to), convert<M>(with)));
    }
  }
}

template <class T>
__global__ void scale_elements(T* p, OpMath<T> by, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count())
    p[i] = convert<T>(updated<Multiply, OpMath<T>>(convert<OpMath<T>>(p[i]), by));
}

// Operands: the output, and int64 counts, of which 0 counts as 1.
template <class T>
__global__ void divide_by_counts(char* out, const char* counts, int64_t n, StridedLayout layout) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[2];
    offsets_of<2>(layout, i, at);
    const int64_t by = greatest_of<int64_t>(1, *reinterpret_cast<const int64_t*>(counts + at[1]));
    T& v = *reinterpret_cast<T*>(out + at[0]);
    if constexpr (kSame<T, bool>) {
      v = v && by == 1;
    } else if constexpr (kIsIntegral<T>) {
      const int64_t x = static_cast<int64_t>(v);
      v = static_cast<T>(x / by - (x % by < 0));
    } else if constexpr (kIsComplex<T>) {
      const auto real = static_cast<RealOf<T>>(by);
      v = T(v.re / real, v.im / real);
    } else {
      v = convert<T>(convert<OpMath<T>>(v) / static_cast<OpMath<T>>(by));
    }
  }
}
