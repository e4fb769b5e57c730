// pool.isa.cpp: the loops of pool_loops.h. See Note [One Namespace Per Instruction Set] in simd.h.
// A row of windows is computed together: each column of the kernel is one pass over the row, which vectorises.
// build: unrolled
#include "core/kernels/cpu/pool/pool_loops.h"

namespace undertow::core::cpu {
namespace {

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = int32_t;
};
template <>
struct BitsOf<double> {
  using type = int64_t;
};

// Uses masks instead of a branch, because which of two elements is larger is unpredictable.
template <class T, int64_t S>
inline void take_larger(const T* __restrict from, int64_t stride, int32_t at, T* __restrict best,
                        int32_t* __restrict index, int64_t n) {
  using Bits = typename BitsOf<T>::type;
  const int32_t step = static_cast<int32_t>(S ? S : stride), count = static_cast<int32_t>(n);
#pragma GCC ivdep
  for (int32_t o = 0; o < count; o++) {
    const T v = from[o * step], b = best[o];
    const int32_t was = index[o], here = at + o * step;
    const Bits keep = ~-static_cast<Bits>((v > b) | (v != v));  // once NaN is the best, only another NaN replaces it
    const Bits x = __builtin_bit_cast(Bits, v), y = __builtin_bit_cast(Bits, b);
    best[o] = __builtin_bit_cast(T, static_cast<Bits>(x ^ ((x ^ y) & keep)));
    index[o] = here ^ ((here ^ was) & static_cast<int32_t>(keep));
  }
}

template <int64_t S>
inline void larger_row(const float* __restrict from, int64_t stride, float* __restrict best, int64_t n) {
  const int32_t step = static_cast<int32_t>(S ? S : stride), count = static_cast<int32_t>(n);
#pragma GCC ivdep
  for (int32_t o = 0; o < count; o++) {  // as take_larger
    const float v = from[o * step], b = best[o];
    const int32_t keep = ~-static_cast<int32_t>((v > b) | (v != v));
    const int32_t x = __builtin_bit_cast(int32_t, v), y = __builtin_bit_cast(int32_t, b);
    best[o] = __builtin_bit_cast(float, x ^ ((x ^ y) & keep));
  }
}

void larger(const float* from, int64_t stride, float* best, int64_t n) {
  stride == 2 ? larger_row<2>(from, 2, best, n) : larger_row<0>(from, stride, best, n);
}

template <class T, int64_t S>
inline void add_row(const T* from, int64_t stride, T* sum, int64_t n) {
  const int64_t step = S ? S : stride;
#pragma GCC ivdep
  for (int64_t o = 0; o < n; o++) sum[o] += from[o * step];
}

template <class T>
void largest(const PoolGrid& g, const T* plane, T* best, int64_t* index, int32_t* row) {
  const auto &az = g.axis[0], &ay = g.axis[1], &ax = g.axis[2];
  for (int64_t z = 0; z < az.out; z++)
    for (int64_t y = 0; y < ay.out; y++, best += ax.out, index += ax.out) {
      PoolSpan tz = taps_of_window(az, z), ty = taps_of_window(ay, y);
      int64_t z0 = z * az.stride - az.padding, y0 = y * ay.stride - ay.padding;
      int64_t corner = ((z0 + tz.begin * az.dilation) * ay.in + y0 + ty.begin * ay.dilation) * ax.in;
      for (int64_t o = 0; o < ax.out; o++) {
        best[o] = static_cast<T>(-__builtin_inf());
        row[o] = static_cast<int32_t>(corner) + g.first[o];
      }
      for (int64_t kz = tz.begin; kz < tz.end; kz++)
        for (int64_t ky = ty.begin; ky < ty.end; ky++) {
          int64_t line = ((z0 + kz * az.dilation) * ay.in + y0 + ky * ay.dilation) * ax.in;
          for (int64_t k = 0; k < ax.kernel; k++) {
            PoolSpan w = g.columns[k];
            int64_t at = line + w.begin * ax.stride - ax.padding + k * ax.dilation, n = w.end - w.begin;
            if (n <= 0) continue;
            if (ax.stride == 1)
              take_larger<T, 1>(plane + at, 1, static_cast<int32_t>(at), best + w.begin, row + w.begin, n);
            else if (ax.stride == 2)
              take_larger<T, 2>(plane + at, 2, static_cast<int32_t>(at), best + w.begin, row + w.begin, n);
            else
              take_larger<T, 0>(plane + at, ax.stride, static_cast<int32_t>(at), best + w.begin, row + w.begin, n);
          }
        }
      for (int64_t o = 0; o < ax.out; o++) index[o] = row[o];
    }
}

template <class T>
void average(const PoolGrid& g, const T* plane, T* out, const T* depth, const T* height, const T* width) {
  const auto &az = g.axis[0], &ay = g.axis[1], &ax = g.axis[2];
  for (int64_t z = 0; z < az.out; z++)
    for (int64_t y = 0; y < ay.out; y++, out += ax.out) {
      PoolSpan tz = taps_of_window(az, z), ty = taps_of_window(ay, y);
      int64_t z0 = z * az.stride - az.padding, y0 = y * ay.stride - ay.padding;
      for (int64_t o = 0; o < ax.out; o++) out[o] = 0;
      for (int64_t kz = tz.begin; kz < tz.end; kz++)
        for (int64_t ky = ty.begin; ky < ty.end; ky++) {
          const T* line = plane + ((z0 + kz) * ay.in + y0 + ky) * ax.in;
          for (int64_t k = 0; k < ax.kernel; k++) {
            PoolSpan w = g.columns[k];
            const T* from = line + w.begin * ax.stride - ax.padding + k;
            if (ax.stride == 1)
              add_row<T, 1>(from, 1, out + w.begin, w.end - w.begin);
            else if (ax.stride == 2)
              add_row<T, 2>(from, 2, out + w.begin, w.end - w.begin);
            else
              add_row<T, 0>(from, ax.stride, out + w.begin, w.end - w.begin);
          }
        }
      const T scale = depth[z] * height[y];
#pragma GCC ivdep
      for (int64_t o = 0; o < ax.out; o++) out[o] /= scale * width[o];
    }
}

template <class T>
void largest_at(const PoolTable& t, int64_t windows, const T* __restrict planes, T* __restrict best,
                int32_t* __restrict place) {
  using Bits = typename BitsOf<T>::type;
  const int32_t n = static_cast<int32_t>(windows);
  for (int32_t o = 0; o < n; o++) {
    best[o] = static_cast<T>(-__builtin_inf());
    place[o] = t.at[o];
  }
  for (int64_t k = 0; k < t.taps; k++) {
    const int32_t* __restrict at = t.at + k * t.stride;
#pragma GCC ivdep
    for (int32_t o = 0; o < n; o++) {  // as take_larger
      const int32_t here = at[o], was = place[o];
      const T v = planes[here], b = best[o];
      const Bits keep = ~-static_cast<Bits>((v > b) | (v != v));
      const Bits x = __builtin_bit_cast(Bits, v), y = __builtin_bit_cast(Bits, b);
      best[o] = __builtin_bit_cast(T, static_cast<Bits>(x ^ ((x ^ y) & keep)));
      place[o] = here ^ ((here ^ was) & static_cast<int32_t>(keep));
    }
  }
}

template <class T>
void average_at(const PoolTable& t, int64_t windows, const T* __restrict planes, T divisor, T* __restrict out) {
  const int32_t n = static_cast<int32_t>(windows);
  for (int32_t o = 0; o < n; o++) out[o] = 0;
  for (int64_t k = 0; k < t.taps; k++) {
    const int32_t* __restrict at = t.at + k * t.stride;
#pragma GCC ivdep
    for (int32_t o = 0; o < n; o++) out[o] += planes[at[o]];
  }
  for (int32_t o = 0; o < n; o++) out[o] /= divisor;
}

}  // namespace

namespace UNDERTOW_ISA_NS {
const PoolLoops<float>& pool_float() {
  static constexpr PoolLoops<float> kernels{largest<float>, larger, average<float>, largest_at<float>,
                                            average_at<float>};
  return kernels;
}
const PoolLoops<double>& pool_double() {
  static constexpr PoolLoops<double> kernels{largest<double>, nullptr, average<double>, largest_at<double>,
                                             average_at<double>};
  return kernels;
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
