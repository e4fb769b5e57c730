// fft.isa.cpp: the loops of Fourier transforms over blocks of lanes: stages of small radices, and moving data into and
// out of a block. See Note [Lanes Of Lines] and Note [One Namespace Per Instruction Set].
// build: unrolled
#include "core/kernels/cpu/fft/fft_kernels.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

constexpr int64_t kLargestRadix = 31;

template <class T>
struct Z {
  Vec<T> re, im;
};
template <class T>
inline Z<T> operator+(Z<T> a, Z<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
inline Z<T> operator-(Z<T> a, Z<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
inline Z<T> times_minus_i(Z<T> a) {
  return {a.im, -a.re};
}
template <class T>
inline Z<T> times(Z<T> a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <class T>
inline Z<T> scaled(Z<T> a, T s) {
  return {a.re * s, a.im * s};
}

// The positions of the real and imaginary parts in an element of a block.
template <class T>
struct Parts {
  int64_t re, im;
  explicit Parts(bool swapped) : re(swapped ? kLanes<T> : 0), im(kLanes<T> - re) {}
  Z<T> load(const T* p) const { return {cpu::load(p + re), cpu::load(p + im)}; }
  void store(T* p, Z<T> z) const {
    cpu::store(p + re, z.re);
    cpu::store(p + im, z.im);
  }
};
template <class T>
constexpr int64_t kElement = 2 * kLanes<T>;

template <int kRadix, class T>
inline void butterfly(Z<T> (&a)[kRadix]) {
  if constexpr (kRadix == 2) {
    Z<T> x = a[0], y = a[1];
    a[0] = x + y;
    a[1] = x - y;
  } else if constexpr (kRadix == 3) {
    Z<T> sum = a[1] + a[2], rotated = scaled(times_minus_i(a[1] - a[2]), static_cast<T>(0.86602540378443864676)),
         middle = a[0] - scaled(sum, T(0.5));
    a[0] = a[0] + sum;
    a[1] = middle + rotated;
    a[2] = middle - rotated;
  } else if constexpr (kRadix == 4) {
    Z<T> even = a[0] + a[2], odd = a[1] + a[3], across = a[0] - a[2], rotated = times_minus_i(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = across + rotated;
    a[2] = even - odd;
    a[3] = across - rotated;
  } else if constexpr (kRadix == 5) {
    const T c1 = static_cast<T>(0.30901699437494742410), c2 = static_cast<T>(-0.80901699437494742410);
    const T s1 = static_cast<T>(0.95105651629515357212), s2 = static_cast<T>(0.58778525229247312917);
    Z<T> p = a[1] + a[4], q = a[2] + a[3], u = times_minus_i(a[1] - a[4]), v = times_minus_i(a[2] - a[3]), x = a[0];
    Z<T> near = x + scaled(p, c1) + scaled(q, c2), far = x + scaled(p, c2) + scaled(q, c1);
    Z<T> near_turn = scaled(u, s1) + scaled(v, s2), far_turn = scaled(u, s2) - scaled(v, s1);
    a[0] = x + p + q;
    a[1] = near + near_turn;
    a[2] = far + far_turn;
    a[3] = far - far_turn;
    a[4] = near - near_turn;
  } else {
    static_assert(kRadix == 8);
    const T root = static_cast<T>(0.70710678118654752440);
    Z<T> even[4] = {a[0] + a[4], a[1] + a[5], a[2] + a[6], a[3] + a[7]};
    Z<T> odd[4] = {a[0] - a[4], a[1] - a[5], a[2] - a[6], a[3] - a[7]};
    odd[1] = scaled(odd[1] + times_minus_i(odd[1]), root);
    odd[2] = times_minus_i(odd[2]);
    odd[3] = scaled(times_minus_i(odd[3]) - odd[3], root);
    butterfly<4, T>(even);
    butterfly<4, T>(odd);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) a[2 * i] = even[i], a[2 * i + 1] = odd[i];
  }
}

template <int kRadix, bool kTwiddled, class T>
inline void pass(int64_t m, int64_t stride, const T* from, T* to, const T* roots, Parts<T> parts) {
  const int64_t step = m * stride * kElement<T>;
  for (int64_t j = 0; j < m; j++, roots += 2 * (kRadix - 1)) {
    const T* in = from + j * stride * kElement<T>;
    T* out = to + j * stride * kRadix * kElement<T>;
    for (int64_t q = 0; q < stride * kElement<T>; q += kElement<T>) {
      Z<T> a[kRadix];
#pragma GCC unroll 8
      for (int r = 0; r < kRadix; r++) a[r] = parts.load(in + q + r * step);
      butterfly<kRadix, T>(a);
      parts.store(out + q, a[0]);
#pragma GCC unroll 8
      for (int r = 1; r < kRadix; r++) {
        if constexpr (kTwiddled) a[r] = times(a[r], roots[2 * r - 2], roots[2 * r - 1]);
        parts.store(out + q + r * stride * kElement<T>, a[r]);
      }
    }
  }
}

// Any odd radix: elements k and radix - k are paired, because their roots are conjugate.
template <class T>
void odd_pass(int64_t radix, int64_t m, int64_t stride, const T* from, T* to, const T* roots, const T* radix_roots,
              Parts<T> parts) {
  const int64_t step = m * stride * kElement<T>, half = radix / 2;
  Z<T> sums[kLargestRadix / 2 + 1], differences[kLargestRadix / 2 + 1];
  for (int64_t j = 0; j < m; j++, roots += 2 * (radix - 1)) {
    for (int64_t q = 0; q < stride * kElement<T>; q += kElement<T>) {
      const T* in = from + j * stride * kElement<T> + q;
      T* out = to + j * stride * radix * kElement<T> + q;
      Z<T> first = parts.load(in), all = first;
      for (int64_t k = 1; k <= half; k++) {
        Z<T> x = parts.load(in + k * step), y = parts.load(in + (radix - k) * step);
        sums[k] = x + y;
        differences[k] = times_minus_i(x - y);
        all = all + sums[k];
      }
      parts.store(out, all);
      for (int64_t r = 1; r <= half; r++) {
        Z<T> even = first, odd{};
        for (int64_t k = 1, at = r; k <= half; k++, at = at + r >= radix ? at + r - radix : at + r) {
          even = even + scaled(sums[k], radix_roots[2 * at]);
          odd = odd - scaled(differences[k], radix_roots[2 * at + 1]);  // a root's imaginary part is minus the sine
        }
        const T *low = roots + 2 * (r - 1), *high = roots + 2 * (radix - r - 1);
        parts.store(out + r * stride * kElement<T>, times(even + odd, low[0], low[1]));
        parts.store(out + (radix - r) * stride * kElement<T>, times(even - odd, high[0], high[1]));
      }
    }
  }
}

template <class T>
void stage(int64_t radix, int64_t m, int64_t stride, const T* from, T* to, const T* roots, const T* radix_roots,
           bool swapped) {
  Parts<T> parts(swapped);
  if (radix == 8)
    return m > 1 ? pass<8, true, T>(m, stride, from, to, roots, parts)
                 : pass<8, false, T>(m, stride, from, to, roots, parts);
  if (radix == 4)
    return m > 1 ? pass<4, true, T>(m, stride, from, to, roots, parts)
                 : pass<4, false, T>(m, stride, from, to, roots, parts);
  if (radix == 2)
    return m > 1 ? pass<2, true, T>(m, stride, from, to, roots, parts)
                 : pass<2, false, T>(m, stride, from, to, roots, parts);
  if (radix == 3) return pass<3, true, T>(m, stride, from, to, roots, parts);
  if (radix == 5) return pass<5, true, T>(m, stride, from, to, roots, parts);
  odd_pass<T>(radix, m, stride, from, to, roots, radix_roots, parts);
}

template <class T>
void rows_in(int64_t length, int64_t rows, const T* from, int64_t row_stride, T* to, int64_t to_stride) {
  constexpr int kL = kLanes<T>;
  for (int64_t e = 0; e < length; e += kL) {
    Vec<T> square[kL] = {};
    int64_t left = min64(kL, length - e);
    if (left == kL && rows == kL) {
#pragma GCC unroll 16
      for (int i = 0; i < kL; i++) square[i] = load(from + i * row_stride + e);
    } else {
      Partial<T> part(left);
      for (int i = 0; i < rows; i++) square[i] = part.load(from + i * row_stride + e);
    }
    transpose<T>(square);
    for (int i = 0; i < left; i++) store(to + (e + i) * to_stride, square[i]);
  }
}

template <class T>
void rows_out(int64_t length, int64_t rows, const T* from, int64_t from_stride, T* to, int64_t row_stride, T scale) {
  constexpr int kL = kLanes<T>;
  for (int64_t e = 0; e < length; e += kL) {
    Vec<T> square[kL] = {};
    int64_t left = min64(kL, length - e);
    for (int i = 0; i < left; i++) square[i] = load(from + (e + i) * from_stride) * scale;
    transpose<T>(square);
    if (left == kL && rows == kL) {
#pragma GCC unroll 16
      for (int i = 0; i < kL; i++) store(to + i * row_stride + e, square[i]);
    } else {
      Partial<T> part(left);
      for (int i = 0; i < rows; i++) part.store(to + i * row_stride + e, square[i]);
    }
  }
}

// Elements to prefetch: they are in other pages, which the hardware prefetcher does not cross.
constexpr int64_t kAhead = 12;

template <class T>
void pairs_in(int64_t n, int64_t lanes, const T* from, int64_t stride, T* to) {
  constexpr int kL = kLanes<T>;
  if (lanes == kL) {
    for (int64_t k = 0; k < n; k++) {
      Vec<T> low = load(from + 2 * k * stride), high = load(from + 2 * k * stride + kL);
      if (k + kAhead < n) {
        __builtin_prefetch(from + 2 * (k + kAhead) * stride);
        __builtin_prefetch(from + 2 * (k + kAhead) * stride + 2 * kL - 1);
      }
      store(to + k * kElement<T>, even_lanes<T>(low, high));
      store(to + k * kElement<T> + kL, odd_lanes<T>(low, high));
    }
    return;
  }
  for (int64_t k = 0; k < n; k++) {
    T* at = to + k * kElement<T>;
    for (int64_t i = 0; i < lanes; i++) at[i] = from[2 * (k * stride + i)], at[kL + i] = from[2 * (k * stride + i) + 1];
    for (int64_t i = lanes; i < kL; i++) at[i] = at[kL + i] = T(0);
  }
}

template <class T>
void pairs_out(int64_t n, int64_t lanes, const T* from, T* to, int64_t stride, T scale) {
  constexpr int kL = kLanes<T>;
  for (int64_t k = 0; k < n; k++) {
    const T* at = from + k * kElement<T>;
    T* put = to + 2 * k * stride;
    if (lanes == kL) {
      if (k + kAhead < n) {
        __builtin_prefetch(put + 2 * kAhead * stride, 1);
        __builtin_prefetch(put + 2 * kAhead * stride + 2 * kL - 1, 1);
      }
      Vec<T> re = load(at) * scale, im = load(at + kL) * scale;
      store(put, interleave_low<T>(re, im));
      store(put + kL, interleave_high<T>(re, im));
    } else {
      for (int64_t i = 0; i < lanes; i++) put[2 * i] = at[i] * scale, put[2 * i + 1] = at[kL + i] * scale;
    }
  }
}

template <class T>
void scale_elements(int64_t n, const T* from, const T* factors, T* to, T scale, bool swapped) {
  Parts<T> parts(swapped);
  for (int64_t k = 0; k < n; k++)
    parts.store(to + k * kElement<T>,
                times(parts.load(from + k * kElement<T>), factors[2 * k] * scale, factors[2 * k + 1] * scale));
}

template <class T>
void scale_lanes(int64_t n, const T* from, const T* factors, T* to, bool swapped) {
  Parts<T> parts(swapped), plain(false);
  for (int64_t k = 0; k < n * kElement<T>; k += kElement<T>) {
    Z<T> a = parts.load(from + k), w = plain.load(factors + k);
    parts.store(to + k, {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re});
  }
}

// With Z the transform of x[2j] + i x[2j+1]: E = (Z[k] + conj Z[h-k]) / 2 and O = (Z[k] - conj Z[h-k]) / 2i are the
// transforms of the even and the odd elements; X[k] = E + w^k O, and X[h-k] = conj(E - w^k O).
template <class T>
void unravel(int64_t h, const T* from, T* to, const T* roots, bool all) {
  Parts<T> parts(false);
  Z<T> first = parts.load(from);
  parts.store(to, {first.re + first.im, Vec<T>{}});
  parts.store(to + h * kElement<T>, {first.re - first.im, Vec<T>{}});
  for (int64_t k = 1; 2 * k <= h; k++) {
    Z<T> a = parts.load(from + k * kElement<T>), b = parts.load(from + (h - k) * kElement<T>);
    Z<T> even = scaled(Z<T>{a.re + b.re, a.im - b.im}, T(0.5)), odd = scaled(Z<T>{a.im + b.im, b.re - a.re}, T(0.5));
    odd = times(odd, roots[2 * k], roots[2 * k + 1]);
    parts.store(to + k * kElement<T>, even + odd);
    parts.store(to + (h - k) * kElement<T>, {even.re - odd.re, odd.im - even.im});
    if (all) {  // X[2h-k] = conj X[k]
      parts.store(to + (2 * h - k) * kElement<T>, {even.re + odd.re, -(even.im + odd.im)});
      parts.store(to + (h + k) * kElement<T>, {even.re - odd.re, even.im - odd.im});
    }
  }
}

// Z[k] = E + i O with E = X[k] + conj X[h-k] and O = (X[k] - conj X[h-k]) conj w^k.
template <class T>
void ravel(int64_t h, const T* from, T* to, const T* roots) {
  Parts<T> parts(false);
  Vec<T> low = parts.load(from).re,
         high = parts.load(from + h * kElement<T>).re;  // these two are real: their imaginary parts are not read
  for (int64_t k = 1; 2 * k <= h; k++) {
    Z<T> a = parts.load(from + k * kElement<T>), b = parts.load(from + (h - k) * kElement<T>);
    Z<T> even{a.re + b.re, a.im - b.im}, odd = times(Z<T>{a.re - b.re, a.im + b.im}, roots[2 * k], -roots[2 * k + 1]);
    parts.store(to + k * kElement<T>, {even.re - odd.im, even.im + odd.re});
    parts.store(to + (h - k) * kElement<T>, {even.re + odd.im, odd.re - even.im});
  }
  parts.store(to, {low + high, low - high});
}

template <class T>
constexpr FftLoops<T> kKernels = {.lanes = kLanes<T>,
                                  .rows_in = rows_in<T>,
                                  .rows_out = rows_out<T>,
                                  .pairs_in = pairs_in<T>,
                                  .pairs_out = pairs_out<T>,
                                  .stage = stage<T>,
                                  .scale_elements = scale_elements<T>,
                                  .scale_lanes = scale_lanes<T>,
                                  .unravel = unravel<T>,
                                  .ravel = ravel<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const FftLoops<T>& fft_loops() {
  return kKernels<T>;
}
template const FftLoops<float>& fft_loops<float>();
template const FftLoops<double>& fft_loops<double>();
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
