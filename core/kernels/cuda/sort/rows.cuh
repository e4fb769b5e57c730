// rows.cuh: the k first elements of long rows, found digit by digit; searches in sorted rows; histograms.
#pragma once
#include "device/block_scan.cuh"
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "sort/keys.cuh"

namespace undertow {

inline constexpr int kSelectThreads = 1024, kSelectDigitBits = 11, kSelectDigits = 1 << kSelectDigitBits;

// The digit of the key with this rank (from 1) among those that were counted, which becomes its rank among those of its
// digit. A thread looks at two digits.
UT_DEVICE int digit_of_rank(const uint32_t* counts, int64_t& rank) {
  __shared__ int found;
  __shared__ uint32_t below;
  const uint32_t first = counts[2 * threadIdx.x], second = counts[2 * threadIdx.x + 1];
  uint32_t total;
  const uint32_t before = sum_before(first + second, total);
  if (before < rank && rank <= static_cast<int64_t>(before) + first + second) {
    const bool is_second = rank > static_cast<int64_t>(before) + first;
    found = 2 * threadIdx.x + is_second;
    below = before + (is_second ? first : 0);
  }
  __syncthreads();
  rank -= below;
  return found;
}

}  // namespace undertow

// A block per row: finds the k-th least key one digit of 11 bits at a time, then takes all keys below it, and as many
// equal ones as are missing, in the order of their positions. A row of floats is read four times, after the first time
// mostly from the second-level cache: a row of 65,536 takes as long as 1 MB does.
template <class T>
__global__ void __launch_bounds__(kSelectThreads)
    select_least(T* values, int64_t* indices, const T* in, int64_t n, int64_t k, bool descending) {
  using K = KeyOf<T>;
  constexpr int each = 4;  // elements of a thread at once
  constexpr int64_t round = each * kSelectThreads;
  __shared__ uint32_t counts[kSelectDigits];
  in += blockIdx.x * n;
  values += blockIdx.x * k;
  indices += blockIdx.x * k;
  K prefix = 0, known = 0;  // the bits of the wanted key that are known, and which they are
  int64_t rank = k;         // of the wanted key among those that begin with the prefix, from 1
  for (int end = kKeyBits<T>; end > 0; end -= kSelectDigitBits) {
    const int shift = end > kSelectDigitBits ? end - kSelectDigitBits : 0;
    const K digits = static_cast<K>((uint64_t(1) << (end - shift)) - 1);
    for (int d = threadIdx.x; d < kSelectDigits; d += kSelectThreads) counts[d] = 0;
    __syncthreads();
    for (int64_t first = threadIdx.x; first < n; first += round) {
      T element[each];
#pragma unroll
      for (int e = 0; e < each; e++)
        if (first + e * kSelectThreads < n) element[e] = in[first + e * kSelectThreads];
#pragma unroll
      for (int e = 0; e < each; e++) {
        if (first + e * kSelectThreads >= n) continue;
        const K key = key_of(element[e], descending);
        if ((key & known) == prefix) atomicAdd(&counts[static_cast<int>(key >> shift & digits)], 1u);
      }
    }
    __syncthreads();
    prefix |= static_cast<K>(digit_of_rank(counts, rank)) << shift;
    known |= digits << shift;
    __syncthreads();
  }
  // `rank` keys equal to the prefix are taken, after those below it. A thread has neighbouring elements here.
  int64_t taken = 0, equal_taken = 0;
  for (int64_t start = 0; start < n; start += round) {
    const int64_t first = start + threadIdx.x * each;
    K key[each];
    uint32_t found = 0;  // keys below, and above them in the upper half equal ones
#pragma unroll
    for (int e = 0; e < each; e++) {
      key[e] = first + e < n ? key_of(in[first + e], descending) : static_cast<K>(~K(0));
      if (first + e < n) found += key[e] < prefix ? 1u : key[e] == prefix ? 1u << 16 : 0u;
    }
    if (!__syncthreads_or(found != 0)) continue;  // most rounds of a small k
    uint32_t all;
    const uint32_t before = sum_before(found, all);
    int64_t place = taken + (before & 0xffff), equal_place = equal_taken + (before >> 16);
#pragma unroll
    for (int e = 0; e < each; e++) {
      if (first + e >= n || key[e] > prefix) continue;
      int64_t at = -1;
      if (key[e] < prefix)
        at = place++;
      else if (equal_place++ < rank)
        at = k - rank + equal_place - 1;
      if (at < 0) continue;
      values[at] = in[first + e];
      indices[at] = first + e;
    }
    taken += all & 0xffff;
    equal_taken += all >> 16;
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
