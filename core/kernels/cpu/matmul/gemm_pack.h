// gemm_pack.h: packs one panel of a matrix into the order in which register tiles read it.
// For *.isa.cpp files only. See Note [One Namespace Per Instruction Set] and Note [Packed Panels].
#pragma once

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// packed[p * width + i] = source[i * lane_stride + p * k_stride] for i < count, zeros for the rest of the width.
template <class T>
void pack_by_element(int64_t k, int64_t count, int64_t width, const T* source, int64_t lane_stride, int64_t k_stride,
                     T* packed) {
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t i = 0; i < count; ++i) packed[p * width + i] = source[i * lane_stride + p * k_stride];
    for (int64_t i = count; i < width; ++i) packed[p * width + i] = T{};
  }
}

// Stores whole vectors into rows of `width`, for a group of lanes beginning at `lane`. Elements that a vector writes
// past its row are overwritten later: rows are stored in ascending order, and later groups of lanes before earlier
// ones. Nothing is written past the last row, which may be another thread's memory.
template <class T>
struct RowStore {
  T* packed;
  int64_t width, lane, safe_end;
  Partial<T> exact;

  RowStore(T* packed, int64_t rows, int64_t width, int64_t lane)
      : packed(packed + lane),
        width(width),
        lane(lane),
        safe_end(rows * width - kLanes<T> - lane),
        exact(min64(kLanes<T>, width - lane)) {}

  void put(int64_t row, Vec<T> v) const {
    if (row * width <= safe_end) {
      store(packed + row * width, v);
    } else {
      exact.store(packed + row * width, v);
    }
  }
};

// For lane_stride == 1.
template <class T>
void pack_rows(int64_t k, int64_t count, int64_t width, const T* source, int64_t k_stride, T* packed) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t lane = (width - 1) / kL * kL; lane >= 0; lane -= kL) {
    RowStore<T> out(packed, k, width, lane);
    if (lane >= count) {
      for (int64_t p = 0; p < k; ++p) out.put(p, Vec<T>{});
      continue;
    }
    Partial<T> valid(min64(kL, count - lane));
    for (int64_t p = 0; p < k; ++p) out.put(p, valid.load(source + p * k_stride + lane));
  }
}

// For k_stride == 1: squares of lanes, transposed in registers.
template <class T>
void pack_transposing(int64_t k, int64_t count, int64_t width, const T* source, int64_t lane_stride, T* packed) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t p = 0; p < k; p += kL) {
    int64_t depth = min64(kL, k - p);
    Partial<T> valid(depth);
    for (int64_t lane = (width - 1) / kL * kL; lane >= 0; lane -= kL) {
      const T* from = source + lane * lane_stride + p;
      Vec<T> rows[kL] = {};
      if (depth == kL && lane + kL <= count) {
#pragma GCC unroll 16
        for (int i = 0; i < kL; ++i) rows[i] = load(from + i * lane_stride);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < kL; ++i) {
          if (lane + i < count) rows[i] = valid.load(from + i * lane_stride);
        }
      }
      transpose<T>(rows);
      if (depth == kL && width % kL == 0) {  // whole vectors everywhere: nothing is written past a row
#pragma GCC unroll 16
        for (int i = 0; i < kL; ++i) store(packed + (p + i) * width + lane, rows[i]);
        continue;
      }
      RowStore<T> out(packed, k, width, lane);
#pragma GCC unroll 16
      for (int i = 0; i < kL; ++i) {
        if (i < depth) out.put(p + i, rows[i]);
      }
    }
  }
}

template <class T>
void pack_panel(int64_t k, int64_t count, int64_t width, const T* source, int64_t lane_stride, int64_t k_stride,
                T* packed) {
  if constexpr (sizeof(T) >= 4) {
    if (lane_stride == 1) return pack_rows(k, count, width, source, k_stride, packed);
    // A half-empty square of lanes costs as much as a full one.
    if (k_stride == 1 && k * count > kLanes<T> * 4)
      return pack_transposing(k, count, width, source, lane_stride, packed);
  }
  pack_by_element(k, count, width, source, lane_stride, k_stride, packed);
}

}  // namespace
}  // namespace undertow::core::cpu
