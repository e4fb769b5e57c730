// embedding.cuh: bags of table rows, and rows scaled down to a norm.
#pragma once
#include "device/block_reduce.cuh"
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "embedding/embedding_params.h"

namespace undertow {

enum BagMode { SumOfBag, MeanOfBag, MaxOfBag };

// Where bag b begins and ends; wrong offsets are reported, and the bag is clipped to the indices.
UT_DEVICE void bag_range(const BagParams& a, int64_t b, int64_t& first, int64_t& last) {
  first = a.offsets[b];
  last = b + 1 < a.given ? a.offsets[b + 1] : a.n;
  const bool wrong = (b == 0 && first != 0) || first < 0 || last > a.n || first > last;
  if (!wrong) return;
  report_error(a.slot, a.raise_offset, b, first, last);
  first = last = 0;
}

}  // namespace undertow

// A block per bag; its threads share the columns.
template <class T, BagMode mode>
__global__ void reduce_bags(T* out, const T* table, const T* scales, BagParams a) {
  using M = OpMath<T>;
  const int64_t b = blockIdx.x;
  int64_t first, last;
  bag_range(a, b, first, last);
  int64_t count = 0;
  for (int64_t i = first; i < last; i++) {
    if (threadIdx.x == 0) a.bag_of[i] = b;
    count += a.indices[i] != a.padding_idx;
  }
  if (threadIdx.x == 0) a.counts[b] = count;
  for (int64_t c = threadIdx.x; c < a.width; c += blockDim.x) {
    M sum = 0;
    int64_t best = 0, seen = 0;
    for (int64_t i = first; i < last; i++) {
      int64_t row = a.indices[i];
      if (row < 0 || row >= a.rows) {
        report_error(a.slot, a.raise_index, i, row, a.rows);
        row = 0;
      }
      if (row == a.padding_idx) continue;
      const M x = convert<M>(table[row * a.width + c]);
      if constexpr (mode == MaxOfBag) {
        if (seen == 0 || x > sum) {
          sum = x;
          best = row;
        }
      } else {
        sum += scales ? x * convert<M>(scales[i]) : x;
      }
      seen++;
    }
    if (mode == MeanOfBag && seen > 0) sum /= static_cast<M>(seen);
    out[b * a.width + c] = convert<T>(sum);
    if (mode == MaxOfBag) a.maxima[b * a.width + c] = best;
  }
}

// The order sorts the indices; the first of equal ones scales the row, a warp each. Strides in elements.
template <class T>
__global__ void renorm_rows(T* table, const int64_t* indices, const uint32_t* order, int64_t n, int64_t rows,
                            int64_t width, int64_t row_stride, int64_t column_stride, double max_norm,
                            double norm_type, DeviceErrorSlot* slot, int64_t raise) {
  using M = OpMath<T>;
  const int64_t i = thread_number() >> 5;
  if (i >= n) return;
  const int64_t row = indices[order[i]];
  if (i > 0 && indices[order[i - 1]] == row) return;
  if (row < 0 || row >= rows) {
    report_error(slot, raise, row, rows, 0);
    return;
  }
  T* p = table + row * row_stride;
  const bool infinite = norm_type == Limits<double>::infinity();
  double norm = 0;
  for (int64_t c = threadIdx.x & 31; c < width; c += 32) {
    const double v = fabs(static_cast<double>(convert<M>(p[c * column_stride])));
    norm = infinite ? greatest_of(norm, v) : norm + pow(v, norm_type);
  }
  norm = infinite ? warp_reduce(norm, LargestOf()) : pow(warp_reduce(norm, SumOf()), 1 / norm_type);
  if (norm <= max_norm) return;
  const double scale = max_norm / (norm + 1e-7);
  for (int64_t c = threadIdx.x & 31; c < width; c += 32)
    p[c * column_stride] =
        convert<T>(static_cast<M>(static_cast<double>(convert<M>(p[c * column_stride])) * scale));
}
