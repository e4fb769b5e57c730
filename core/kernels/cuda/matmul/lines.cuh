// lines.cuh: copies the lines of a matrix to other distances from each other.
#pragma once
#include "device/prelude.cuh"

// A block copies 8 elements per thread of the line blockIdx.x. T: any type of the elements' width. Neighbouring threads
// have neighbouring elements, since lines may begin at any element.
template <class T>
__global__ void copy_lines(T* to, const T* from, int64_t length, int64_t to_distance, int64_t from_distance) {
  constexpr int each = 8;
  to += blockIdx.x * to_distance;
  from += blockIdx.x * from_distance;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * blockDim.x * each + threadIdx.x;
  T element[each];
#pragma unroll
  for (int k = 0; k < each; k++)
    if (first + k * blockDim.x < length) element[k] = from[first + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < each; k++)
    if (first + k * blockDim.x < length) to[first + k * blockDim.x] = element[k];
}
