// join.cuh: kernels that concatenate tensors or rearrange the elements of one.
#pragma once
#include "device/complex.cuh"
// After prelude.cuh, which defines int64_t.
#include "join/join_params.h"

namespace undertow {

// Block row y copies part y. T: a type of the width of a unit.
template <class T>
__global__ void cat_parts(T* out, CatParts parts) {
  const int k = blockIdx.y;
  const T* from = reinterpret_cast<const T*>(parts.from[k]);
  const int64_t units = parts.units[k], n = units * parts.outer;
  out += parts.at[k];
  if (parts.outer == 1) {
#pragma unroll 4
    for (int64_t i = thread_number(); i < n; i += thread_count()) out[i] = from[i];
  } else if (n >> 31) {
    for (int64_t i = thread_number(); i < n; i += thread_count()) out[i / units * parts.row + i % units] = from[i];
  } else {
    const uint32_t width = static_cast<uint32_t>(units), end = static_cast<uint32_t>(n);
#pragma unroll 4
    for (uint32_t i = static_cast<uint32_t>(thread_number()); i < end; i += static_cast<uint32_t>(thread_count())) {
      uint32_t outer = i / width;
      out[outer * parts.row + (i - outer * width)] = from[i];
    }
  }
}

UT_DEVICE int64_t clamped(int64_t v, int64_t high) { return v < 0 ? 0 : v > high ? high : v; }

// Is column j of row i inside?
UT_DEVICE bool is_inside(const TriangleShape& t, int64_t i, int64_t j) {
  return t.lower ? j <= i + t.diagonal : j >= i + t.diagonal;
}

template <class T>
__global__ void keep_triangle(T* data, TriangleShape t, int64_t n) {
  for (int64_t at = thread_number(); at < n; at += thread_count()) {
    int64_t row = at / t.cols;
    if (!is_inside(t, row % t.rows, at - row * t.cols)) data[at] = T{};
  }
}

// The number of elements inside the triangle in the rows before i.
UT_DEVICE int64_t triangle_before(const TriangleShape& t, int64_t i) {
  // Lower: row r has clamped(r + diagonal + 1, cols) elements; they grow by one from `first` until they are cols. The
  // elements outside an upper triangle are those inside the lower one below it.
  const int64_t diagonal = t.lower ? t.diagonal : t.diagonal - 1;
  const int64_t first = clamped(-diagonal, i), full = clamped(t.cols - diagonal - 1, i);
  const int64_t growing = full > first ? full - first : 0, start = first + diagonal + 1;
  const int64_t lower = growing * start + growing * (growing - 1) / 2 + (i - (full > first ? full : first)) * t.cols;
  return t.lower ? lower : i * t.cols - lower;
}

// n: elements inside the triangle. The rows are found by bisection.
__global__ void triangle_indices(int64_t* rows, int64_t* cols, TriangleShape t, int64_t n) {
  for (int64_t e = thread_number(); e < n; e += thread_count()) {
    int64_t low = 0, high = t.rows;  // the last row that begins at or before e
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      (triangle_before(t, middle) <= e ? low : high) = middle;
    }
    const int64_t inside = e - triangle_before(t, low);
    rows[e] = low;
    cols[e] = inside + (t.lower ? 0 : clamped(low + t.diagonal, t.cols));
  }
}

// Element e belongs to the first i whose repeats end behind it.
__global__ void repeat_indices(int64_t* out, const int64_t* ends, int64_t count, int64_t n) {
  for (int64_t e = thread_number(); e < n; e += thread_count()) {
    int64_t low = 0, high = count;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (ends[middle] <= e)
        low = middle + 1;
      else
        high = middle;
    }
    out[e] = low;
  }
}

}  // namespace undertow
