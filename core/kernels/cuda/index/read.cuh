// read.cuh: reads at indices. U: a type as wide as an element, or as what a thread copies at once.
#pragma once
#include "device/strided.cuh"
#include "index/positions.cuh"

template <int = 0>
__global__ void check_positions(const char* positions, int64_t n, StridedLayout layout, PositionList list,
                                DeviceErrorSlot* slot) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_of<1>(layout, i, at);
    int64_t position = *reinterpret_cast<const int64_t*>(positions + at[0]);
    if (!in_range(list, position))
      report_error(slot, list.raise, *reinterpret_cast<const int64_t*>(positions + at[0]), list.dim, list.size);
  }
}

// *outside = 1 if a position is not in [low, high).
template <int = 0>
__global__ void find_outside(int* outside, const char* positions, int64_t n, StridedLayout layout, int64_t low,
                             int64_t high) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_of<1>(layout, i, at);
    const int64_t position = *reinterpret_cast<const int64_t*>(positions + at[0]);
    if (position < low || position >= high) *outside = 1;
  }
}

template <int = 0>
__global__ void positions_to_offsets(int64_t* offsets, PositionLists lists, int64_t n, bool add) {
  for (int64_t k = thread_number(); k < n; k += thread_count()) {
    int64_t sum = add ? offsets[k] : 0;
    for (int d = 0; d < lists.count; d++) sum += offset_at(lists.list[d], lists.slot, k);
    offsets[k] = sum;
  }
}

// Operands: out, in, the byte offsets.
template <class U>
__global__ void read_at_offsets(char* out, const char* in, const char* offsets, int64_t n, StridedLayout layout) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[3];
    offsets_of<3>(layout, i, at);
    const int64_t offset = *reinterpret_cast<const int64_t*>(offsets + at[2]);
    *reinterpret_cast<U*>(out + at[0]) = *reinterpret_cast<const U*>(in + at[1] + offset);
  }
}

// For each block of the source and each position: the row there, one after the other.
template <class U>
__global__ void read_rows(U* out, const char* in, int64_t n, RowsToRead shape, PositionLists lists) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const Divided row = divided(i, shape.units), block = divided(row.whole, shape.rows);
    int64_t offset = block.whole * shape.outer_bytes;
    for (int d = 0; d < lists.count; d++) offset += offset_at(lists.list[d], lists.slot, block.rest);
    out[i] = reinterpret_cast<const U*>(in + offset)[row.rest];
  }
}

// out[i] = in[i], displaced by the position at[i]. The nest has in's strides.
template <class U>
__global__ void gather_elements(U* out, const char* in, int64_t n, Nest nest, PositionLists lists) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_in<1>(nest, i, at);
    out[i] = *reinterpret_cast<const U*>(in + at[0] + offset_at(lists.list[0], lists.slot, i));
  }
}

// offsets[k], flat row-major indices into a tensor of the nest's sizes, become byte offsets.
template <int = 0>
__global__ void flat_to_offsets(int64_t* offsets, int64_t n, Nest nest) {
  for (int64_t k = thread_number(); k < n; k += thread_count()) {
    int64_t at[1];
    offsets_in<1>(nest, static_cast<uint64_t>(offsets[k]), at);
    offsets[k] = at[0];
  }
}

// One coordinate of flat indices; rest[k] becomes what is left for the dimensions outside.
template <int = 0>
__global__ void take_coordinate(int64_t* coordinate, int64_t* rest, int64_t n, int64_t size) {
  for (int64_t k = thread_number(); k < n; k += thread_count()) {
    int64_t r = rest[k] % size;
    if (r < 0) r += size;  // negative indices count from the end
    coordinate[k] = r;
    rest[k] = (rest[k] - r) / size;
  }
}

// A one in each row of zeros.
template <int = 0>
__global__ void set_classes(int64_t* out, const int64_t* classes, int64_t n, int64_t count, DeviceErrorSlot* slot,
                            int64_t raise) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const int64_t c = classes[i];
    if (c < 0 || c >= count)
      report_error(slot, raise, c, count, 0);
    else
      out[i * count + c] = 1;
  }
}
// largest[0]: the largest class; largest[1]: the least.
template <int = 0>
__global__ void find_extremes(long long* extremes, const int64_t* classes, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    atomicMax(&extremes[0], static_cast<long long>(classes[i]));
    atomicMin(&extremes[1], static_cast<long long>(classes[i]));
  }
}
