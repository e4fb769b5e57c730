// rows.cuh: the k first elements of long rows, found digit by digit; searches in sorted rows; histograms.
#pragma once
#include "device/block_scan.cuh"
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "sort/keys.cuh"

// A block of 256 threads per row: finds the k-th least key one digit of 8 bits at a time, then takes all keys below it,
// and as many equal ones as are missing, in the order of their positions.
template <class T>
__global__ void select_least(T* values, int64_t* indices, const T* in, int64_t n, int64_t k, bool descending) {
  using K = KeyOf<T>;
  __shared__ uint32_t counts[256];
  __shared__ int found;
  __shared__ uint32_t below;
  in += blockIdx.x * n;
  values += blockIdx.x * k;
  indices += blockIdx.x * k;
  K prefix = 0;
  int64_t rank = k;  // of the wanted key among those that begin with the prefix, from 1
  for (int shift = kKeyBits<T> - 8; shift >= 0; shift -= 8) {
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const K key = key_of(in[i], descending);
      const bool matches = shift == kKeyBits<T> - 8 || key >> (shift + 8) == prefix >> (shift + 8);
      if (matches) atomicAdd(&counts[static_cast<int>(key >> shift) & 255], 1u);
    }
    __syncthreads();
    uint32_t total;
    const uint32_t own = counts[threadIdx.x], before = sum_before(own, total);
    if (before < rank && rank <= static_cast<int64_t>(before) + own) {
      found = threadIdx.x;
      below = before;
    }
    __syncthreads();
    prefix |= static_cast<K>(found) << shift;
    rank -= below;
    __syncthreads();
  }
  // `rank` keys equal to the prefix are taken. First those below, then those.
  int64_t taken = 0, equal_taken = 0;
  for (int64_t first = 0; first < n; first += blockDim.x) {
    const int64_t i = first + threadIdx.x;
    const K key = i < n ? key_of(in[i], descending) : K(0);
    const bool less = i < n && key < prefix, same = i < n && key == prefix;
    int lesser, equal;
    const int64_t place = sum_before(less ? 1 : 0, lesser), equal_place = sum_before(same ? 1 : 0, equal);
    int64_t at = -1;
    if (less) at = taken + place;
    if (same && equal_taken + equal_place < rank) at = k - rank + equal_taken + equal_place;
    if (at >= 0) {
      values[at] = in[i];
      indices[at] = i;
    }
    taken += lesser;
    equal_taken += equal;
  }
}

// indices[i] = from[row][indices[i]]: positions among chosen elements become those in their row.
template <int = 0>
__global__ void look_up_rows(int64_t* indices, const int64_t* from, int64_t total, int64_t k) {
  for (int64_t i = thread_number(); i < total; i += thread_count()) indices[i] = from[i / k * k + indices[i]];
}

// The number of keys before each value, among the n keys of its row; all values share one row if per_row is 0.
template <class T, bool right>
__global__ void search_rows(int64_t* out, const T* keys, const T* values, const int64_t* sorter, int64_t total,
                            int64_t n, int64_t per_row, DeviceErrorSlot* slot, int64_t raise) {
  for (int64_t i = thread_number(); i < total; i += thread_count()) {
    const int64_t row = per_row ? i / per_row * n : 0;
    const auto value = key_of(values[i]);
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      int64_t at = middle;
      if (sorter) {
        at = sorter[row + middle];
        if (at < 0 || at >= n) {
          report_error(slot, raise, at, 0, 0);
          at = 0;
        }
      }
      const auto key = key_of(keys[row + at]);
      if (right ? key <= value : key < value)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low;
  }
}

// counts[b] += the elements in bin b of [low, high].
template <int = 0>
__global__ void count_bins(unsigned long long* counts, const double* in, int64_t n, double low, double high,
                           int64_t bins) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    if (!(in[i] >= low && in[i] <= high)) continue;
    const int64_t at = static_cast<int64_t>((in[i] - low) / (high - low) * static_cast<double>(bins));
    atomicAdd(&counts[least_of(at, bins - 1)], 1ull);
  }
}
// extent[0], extent[1]: keys of the least and the largest element; extent[2]: is one not finite?
template <int = 0>
__global__ void find_extent(unsigned long long* extent, const double* in, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const auto key = static_cast<unsigned long long>(key_of(in[i]));
    atomicMin(&extent[0], key);
    atomicMax(&extent[1], key);
    if (!(fabs(in[i]) < Limits<double>::infinity())) extent[2] = 1;
  }
}
template <int = 0>
__global__ void integer_extent(long long* extent, const int64_t* in, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    atomicMin(&extent[0], static_cast<long long>(in[i]));
    atomicMax(&extent[1], static_cast<long long>(in[i]));
  }
}
template <int = 0>
__global__ void count_integers(unsigned long long* counts, const int64_t* in, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) atomicAdd(&counts[in[i]], 1ull);
}
// `order` sorts the integers: the first of equal ones adds up the weights of all, in order.
template <class T>
__global__ void sum_weights(T* out, const int64_t* in, const T* weights, const uint32_t* order, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const int64_t bin = in[order[i]];
    if (i > 0 && in[order[i - 1]] == bin) continue;
    T sum = out[bin];
    for (int64_t j = i; j < n && in[order[j]] == bin; j++) sum += weights[order[j]];
    out[bin] = sum;
  }
}

// Is each element among n sorted ones? NaN is not.
template <class T>
__global__ void find_members(bool* out, const T* in, const T* sorted, int64_t total, int64_t n, bool invert) {
  for (int64_t i = thread_number(); i < total; i += thread_count()) {
    const auto value = key_of(in[i]);
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (key_of(sorted[middle]) < value)
        low = middle + 1;
      else
        high = middle;
    }
    const bool nan = convert<OpMath<T>>(in[i]) != convert<OpMath<T>>(in[i]);
    out[i] = (!nan && low < n && key_of(sorted[low]) == value) != invert;
  }
}
