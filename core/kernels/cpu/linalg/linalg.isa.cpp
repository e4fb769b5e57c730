// linalg.isa.cpp: the loops of linalg_kernels.h. A complex number is two lanes of a vector of its real type.
// See Note [One Namespace Per Instruction Set].
#include "core/kernels/cpu/linalg/linalg_kernels.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

template <class T>
struct Number {
  using R = T;
  static constexpr bool kComplex = false;
};
template <class T>
struct Number<std::complex<T>> {
  using R = T;
  static constexpr bool kComplex = true;
};
template <class T>
using RealOf = typename Number<T>::R;

template <class T>
inline const RealOf<T>* lanes_of(const T* p) {
  return reinterpret_cast<const RealOf<T>*>(p);
}
template <class T>
inline RealOf<T>* lanes_of(T* p) {
  return reinterpret_cast<RealOf<T>*>(p);
}

// Real and imaginary parts swapped.
template <class R>
inline Vec<R> exchanged(Vec<R> v) {
  return exchange_lanes<R, 1>(v);
}
// -1, 1, -1, 1, ...
template <class R>
inline Vec<R> alternating() {
  return __builtin_convertvector((lane_numbers<R>() & 1) * 2 - 1, Vec<R>);
}

// The sum of conj(a) x: straight accumulates the real part, crossed the imaginary part (complex only).
template <class T>
struct Dot {
  using R = RealOf<T>;
  Vec<R> straight{}, crossed{};
  inline void add(Vec<R> a, Vec<R> x, Vec<R> x_exchanged) {
    straight += a * x;
    if constexpr (Number<T>::kComplex) crossed += a * x_exchanged;
  }
  inline T sum() const {
    if constexpr (Number<T>::kComplex)
      return T(sum_of_lanes<R>(straight), -sum_of_lanes<R>(crossed * alternating<R>()));
    else
      return sum_of_lanes<R>(straight);
  }
};

// A factor that multiplies vectors.
template <class T>
struct Factor {
  using R = RealOf<T>;
  Vec<R> re, im;
  inline explicit Factor(T x) {
    if constexpr (Number<T>::kComplex) {
      re = broadcast<R>(x.real());
      im = alternating<R>() * x.imag();
    } else {
      re = im = broadcast<R>(x);
    }
  }
  inline Vec<R> times(Vec<R> v) const {
    if constexpr (Number<T>::kComplex)
      return v * re + exchanged<R>(v) * im;
    else
      return v * re;
  }
};

// Calls f(offset, width in lanes, whole or partial) along a column of n numbers.
template <class T, class Whole, class Part>
inline void along(int64_t n, Whole&& whole, Part&& part) {
  using R = RealOf<T>;
  const int64_t length = n * (Number<T>::kComplex ? 2 : 1);
  int64_t i = 0;
  for (; i + kLanes<R> <= length; i += kLanes<R>) whole(i);
  if (i < length) part(i, Partial<R>(length - i));
}

template <class T, int kColumns>
inline void dot_columns(int64_t m, const T* a, int64_t ld, const T* x, T* y) {
  using R = RealOf<T>;
  Dot<T> dots[kColumns];
  const R *at = lanes_of(a), *xs = lanes_of(x);
  const int64_t step = ld * (Number<T>::kComplex ? 2 : 1);
  along<T>(
      m,
      [&](int64_t i) {
        Vec<R> v = load(xs + i), crossed = exchanged<R>(v);
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; j++) dots[j].add(load(at + i + j * step), v, crossed);
      },
      [&](int64_t i, Partial<R> part) {
        Vec<R> v = part.load(xs + i), crossed = exchanged<R>(v);
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; j++) dots[j].add(part.load(at + i + j * step), v, crossed);
      });
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; j++) y[j] = dots[j].sum();
}

template <class T>
void dots(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) dot_columns<T, 4>(m, a + j * ld, ld, x, y + j);
  for (; j < n; j++) dot_columns<T, 1>(m, a + j * ld, ld, x, y + j);
}

template <class T, int kColumns>
inline void combine_columns(int64_t m, const T* a, int64_t ld, const T* x, T* y) {
  using R = RealOf<T>;
  const R* at = lanes_of(a);
  R* ys = lanes_of(y);
  const int64_t step = ld * (Number<T>::kComplex ? 2 : 1);
  Factor<T> f[4] = {Factor<T>(x[0]), Factor<T>(x[kColumns > 1 ? 1 : 0]), Factor<T>(x[kColumns > 2 ? 2 : 0]),
                    Factor<T>(x[kColumns > 3 ? 3 : 0])};
  along<T>(
      m,
      [&](int64_t i) {
        Vec<R> sum = load(ys + i);
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; j++) sum += f[j].times(load(at + i + j * step));
        store(ys + i, sum);
      },
      [&](int64_t i, Partial<R> part) {
        Vec<R> sum = part.load(ys + i);
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; j++) sum += f[j].times(part.load(at + i + j * step));
        part.store(ys + i, sum);
      });
}

template <class T>
void combine(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) combine_columns<T, 4>(m, a + j * ld, ld, x + j, y);
  for (; j < n; j++) combine_columns<T, 1>(m, a + j * ld, ld, x + j, y);
}

template <class T>
inline T conj_of(T x) {
  if constexpr (Number<T>::kComplex)
    return T(x.real(), -x.imag());
  else
    return x;
}
// to += a x, and x y, written out because the operators of std::complex are templates of the standard library.
template <class T>
inline void add_product(T& to, T a, T x) {
  if constexpr (Number<T>::kComplex)
    to =
        T(to.real() + a.real() * x.real() - a.imag() * x.imag(), to.imag() + a.real() * x.imag() + a.imag() * x.real());
  else
    to += a * x;
}
template <class T>
inline T minus_product(T x, T y) {
  if constexpr (Number<T>::kComplex)
    return T(x.imag() * y.imag() - x.real() * y.real(), -(x.real() * y.imag() + x.imag() * y.real()));
  else
    return -(x * y);
}

// kColumns columns at once, below the square they share on the diagonal.
template <class T, int kColumns>
inline void hermitian_columns(int64_t n, int64_t j, const T* a, int64_t ld, const T* x, T* y) {
  using R = RealOf<T>;
  for (int64_t c = j; c < j + kColumns; c++) {
    const R diagonal = *lanes_of(a + c + c * ld);
    if constexpr (Number<T>::kComplex)
      y[c] = T(y[c].real() + diagonal * x[c].real(), y[c].imag() + diagonal * x[c].imag());
    else
      y[c] += diagonal * x[c];
    for (int64_t r = c + 1; r < j + kColumns; r++) {
      add_product(y[r], a[r + c * ld], x[c]);
      add_product(y[c], conj_of(a[r + c * ld]), x[r]);
    }
  }
  const int64_t from = j + kColumns, step = ld * (Number<T>::kComplex ? 2 : 1);
  const R *at = lanes_of(a + from + j * ld), *xs = lanes_of(x + from);
  R* ys = lanes_of(y + from);
  Factor<T> f[4] = {Factor<T>(x[j]), Factor<T>(x[kColumns > 1 ? j + 1 : j]), Factor<T>(x[kColumns > 2 ? j + 2 : j]),
                    Factor<T>(x[kColumns > 3 ? j + 3 : j])};
  Dot<T> dots[kColumns];
  along<T>(
      n - from,
      [&](int64_t i) {
        Vec<R> v = load(xs + i), crossed = exchanged<R>(v), sum = load(ys + i);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; c++) {
          Vec<R> column = load(at + i + c * step);
          dots[c].add(column, v, crossed);
          sum += f[c].times(column);
        }
        store(ys + i, sum);
      },
      [&](int64_t i, Partial<R> part) {
        Vec<R> v = part.load(xs + i), crossed = exchanged<R>(v), sum = part.load(ys + i);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; c++) {
          Vec<R> column = part.load(at + i + c * step);
          dots[c].add(column, v, crossed);
          sum += f[c].times(column);
        }
        part.store(ys + i, sum);
      });
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; c++) {
    T sum = dots[c].sum();
    if constexpr (Number<T>::kComplex)
      y[j + c] = T(y[j + c].real() + sum.real(), y[j + c].imag() + sum.imag());
    else
      y[j + c] += sum;
  }
}

template <class T>
void hermitian(int64_t n, int64_t first, int64_t last, const T* a, int64_t ld, const T* x, T* y) {
  int64_t j = first;
  for (; j + 4 <= last; j += 4) hermitian_columns<T, 4>(n, j, a, ld, x, y);
  for (; j < last; j++) hermitian_columns<T, 1>(n, j, a, ld, x, y);
}

template <class T, int kColumns>
inline void reflect_columns(int64_t n, const T* v, T factor, T* c, int64_t ld) {
  using R = RealOf<T>;
  T sums[kColumns];
  // conj(c)^T v, conjugated again: v^H c.
  dot_columns<T, kColumns>(n, c, ld, v, sums);
  for (int j = 0; j < kColumns; j++) {
    const Factor<T> f(minus_product(conj_of(sums[j]), factor));
    const R* vs = lanes_of(v);
    R* cs = lanes_of(c + j * ld);
    along<T>(
        n, [&](int64_t i) { store(cs + i, load(cs + i) + f.times(load(vs + i))); },
        [&](int64_t i, Partial<R> part) { part.store(cs + i, part.load(cs + i) + f.times(part.load(vs + i))); });
  }
}

template <class T>
void reflect(int64_t n, int64_t columns, const T* v, T factor, T* c, int64_t ld) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) reflect_columns<T, 4>(n, v, factor, c + j * ld, ld);
  for (; j < columns; j++) reflect_columns<T, 1>(n, v, factor, c + j * ld, ld);
}

// Takes as many columns of b at a time as a vector has lanes, so that each row is a few whole vectors.
template <class T>
void substitute(bool upper, bool unit, int64_t n, int64_t columns, const T* a, int64_t a_rs, int64_t a_cs, T* b,
                int64_t b_rs, int64_t b_cs) {
  using R = RealOf<T>;
  constexpr bool kComplex = Number<T>::kComplex;
  constexpr int kL = kLanes<R>, kParts = kComplex ? 2 : 1;
  // Rows of the triangle in the order they are solved, without the diagonal, which is stored separately.
  R rows[kSubstituted * kSubstituted * kParts], diagonal[kSubstituted * kParts];
  auto at = [&](int64_t i) { return upper ? n - 1 - i : i; };
  for (int64_t i = 0; i < n; i++) {
    const R* d = lanes_of(a + at(i) * (a_rs + a_cs));
    for (int c = 0; c < kParts; c++) diagonal[i * kParts + c] = d[c];
    for (int64_t p = 0; p < i; p++) {
      const R* x = lanes_of(a + at(i) * a_rs + at(p) * a_cs);
      for (int c = 0; c < kParts; c++) rows[(i * kSubstituted + p) * kParts + c] = x[c];
    }
  }
  Vec<R> block[kSubstituted * kParts];
  for (int64_t j = 0; j < columns; j += kL) {
    const int64_t width = min64(kL, columns - j);
    T* from = b + j * b_cs;
    for (int64_t i = 0; i < n; i++) {
      R* to = reinterpret_cast<R*>(block + i * kParts);
      if (!kComplex && b_cs == 1 && width == kL) {
        block[i] = load(lanes_of(from + at(i) * b_rs));
        continue;
      }
      for (int64_t w = 0; w < width; w++) {
        const R* x = lanes_of(from + at(i) * b_rs + w * b_cs);
        for (int c = 0; c < kParts; c++) to[c * kL + w] = x[c];
      }
      for (int64_t w = width; w < kL; w++)
        for (int c = 0; c < kParts; c++) to[c * kL + w] = R(0);
    }
    for (int64_t i = 0; i < n; i++) {
      const R* row = rows + i * kSubstituted * kParts;
      if constexpr (kComplex) {
        Vec<R> re = block[2 * i], im = block[2 * i + 1];
        for (int64_t p = 0; p < i; p++) {
          const R x = row[2 * p], y = row[2 * p + 1];
          re -= block[2 * p] * x - block[2 * p + 1] * y;
          im -= block[2 * p] * y + block[2 * p + 1] * x;
        }
        if (!unit) {
          // Divides by the larger part first, so that squares neither overflow nor underflow.
          const R x = diagonal[2 * i], y = diagonal[2 * i + 1], ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
          if (ax >= ay) {
            const R ratio = y / x, size = x + y * ratio;
            Vec<R> low = (re + im * ratio) / size;
            im = (im - re * ratio) / size;
            re = low;
          } else {
            const R ratio = x / y, size = x * ratio + y;
            Vec<R> low = (re * ratio + im) / size;
            im = (im * ratio - re) / size;
            re = low;
          }
        }
        block[2 * i] = re;
        block[2 * i + 1] = im;
      } else {
        Vec<R> sum = block[i], second{};
        int64_t p = 0;
        for (; p + 2 <= i; p += 2) {
          sum -= block[p] * row[p];
          second -= block[p + 1] * row[p + 1];
        }
        if (p < i) sum -= block[p] * row[p];
        sum += second;
        block[i] = unit ? sum : sum / diagonal[i];
      }
    }
    for (int64_t i = 0; i < n; i++) {
      const R* done = reinterpret_cast<const R*>(block + i * kParts);
      if (!kComplex && b_cs == 1 && width == kL) {
        store(lanes_of(from + at(i) * b_rs), block[i]);
        continue;
      }
      for (int64_t w = 0; w < width; w++) {
        R* x = lanes_of(from + at(i) * b_rs + w * b_cs);
        for (int c = 0; c < kParts; c++) x[c] = done[c * kL + w];
      }
    }
  }
}

template <class T>
void rotate(int64_t n, T* x, T* y, double c, double s) {
  using R = RealOf<T>;
  const R cos = static_cast<R>(c), sin = static_cast<R>(s);
  R *xs = lanes_of(x), *ys = lanes_of(y);
  for (int64_t i = 0; i < n * (Number<T>::kComplex ? 2 : 1); i++) {
    R low = xs[i], high = ys[i];
    xs[i] = cos * low - sin * high;
    ys[i] = sin * low + cos * high;
  }
}

template <class T>
void rotate_complex(int64_t n, T* x, T* y, T c, T s) {
  using R = RealOf<T>;
  const Factor<T> cos(c), with(conj_of(s)), minus(minus_product(s, T(1)));
  R *xs = lanes_of(x), *ys = lanes_of(y);
  along<T>(
      n,
      [&](int64_t i) {
        Vec<R> low = load(xs + i), high = load(ys + i);
        store(xs + i, low * cos.re + with.times(high));
        store(ys + i, high * cos.re + minus.times(low));
      },
      [&](int64_t i, Partial<R> part) {
        Vec<R> low = part.load(xs + i), high = part.load(ys + i);
        part.store(xs + i, low * cos.re + with.times(high));
        part.store(ys + i, high * cos.re + minus.times(low));
      });
}

template <bool kFar>
inline SecularSums sums_of(int64_t n, const double* near, const double* far, double at, const double* z) {
  constexpr int kL = kLanes<double>;
  Vec<double> value{}, slope{};
  auto add = [&](Vec<double> gap, Vec<double> weight) {
    Vec<double> inverse = 1.0 / gap, term = weight * inverse;
    value += term;
    slope += term * inverse;
  };
  int64_t i = 0;
  for (; i + kL <= n; i += kL) {
    Vec<double> gap = load(near + i) - at;
    if constexpr (kFar) gap *= load(far + i) + at;
    add(gap, load(z + i));
  }
  SecularSums sums{sum_of_lanes<double>(value), sum_of_lanes<double>(slope)};
  for (; i < n; i++) {
    double gap = near[i] - at;
    if constexpr (kFar) gap *= far[i] + at;
    sums.value += z[i] / gap;
    sums.slope += z[i] / gap / gap;
  }
  return sums;
}

SecularSums sums(int64_t n, const double* near, const double* far, double at, const double* z) {
  return far ? sums_of<true>(n, near, far, at, z) : sums_of<false>(n, near, far, at, z);
}

void around(int64_t n, const double* poles, double origin, double* near, double* far) {
  for (int64_t i = 0; i < n; i++) {
    double pole = poles[i];
    near[i] = pole - origin;
    far[i] = pole + origin;
  }
}

void gaps(int64_t n, const double* near, const double* far, double at, double* out) {
  if (far) {
    for (int64_t i = 0; i < n; i++) out[i] = (near[i] - at) * (far[i] + at);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = near[i] - at;
  }
}

SecularSums vector(int64_t n, const double* z, const double* poles, double* gap) {
  constexpr int kL = kLanes<double>;
  Vec<double> plain{}, weighted{};
  int64_t i = 0;
  for (; i + kL <= n; i += kL) {
    Vec<double> x = load(z + i) / load(gap + i), y = x * load(poles + i);
    store(gap + i, x);
    plain += x * x;
    weighted += y * y;
  }
  SecularSums sums{sum_of_lanes<double>(plain), sum_of_lanes<double>(weighted)};
  for (; i < n; i++) {
    double x = gap[i] = z[i] / gap[i], y = x * poles[i];
    sums.value += x * x;
    sums.slope += y * y;
  }
  return sums;
}

void ratios(int64_t n, const double* gap, const double* poles, double pole, bool squares, double* product) {
  if (squares) {
    for (int64_t i = 0; i < n; i++) product[i] *= gap[i] / ((poles[i] - pole) * (poles[i] + pole));
  } else {
    for (int64_t i = 0; i < n; i++) product[i] *= gap[i] / (poles[i] - pole);
  }
}

template <class T>
constexpr DenseKernels<T> kKernels = {.dots = dots<T>,
                                      .combine = combine<T>,
                                      .hermitian = hermitian<T>,
                                      .reflect = reflect<T>,
                                      .substitute = substitute<T>,
                                      .rotate = rotate<T>,
                                      .rotate_complex = rotate_complex<T>};
constexpr SecularKernels kSecular = {.sums = sums, .around = around, .gaps = gaps, .vector = vector, .ratios = ratios};

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const DenseKernels<T>& dense_kernels() {
  return kKernels<T>;
}
template const DenseKernels<float>& dense_kernels<float>();
template const DenseKernels<double>& dense_kernels<double>();
template const DenseKernels<std::complex<float>>& dense_kernels<std::complex<float>>();
template const DenseKernels<std::complex<double>>& dense_kernels<std::complex<double>>();
const SecularKernels& secular_kernels() { return kSecular; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
