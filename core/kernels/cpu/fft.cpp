// fft.cpp: fft.h by stages of small radices, which keep the order of the elements (Stockham), or as a convolution (Bluestein).
#include "core/kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

namespace undertow::cpu {

namespace {

constexpr int64_t kLargestRadix = 31;  // above it, a convolution is cheaper than radix * radix products
constexpr size_t kPlansKept = 32;

// exp(-2 pi i k / n), its angle brought into the first eighth of the circle, where sine and cosine are exact to the last digit.
std::complex<double> root(int64_t k, int64_t n) {
  int64_t eighths = 8 * k;
  int64_t octant = eighths / n;
  auto at = [n](int64_t j) { return 2 * M_PI * static_cast<double>(j) / static_cast<double>(n); };
  auto quarter = [&](int64_t j) {  // angle of j in units of a quarter of 1/n
    return 2 * M_PI * static_cast<double>(j) / (4 * static_cast<double>(n));
  };
  double c, s;
  switch (octant) {
    case 0: c = std::cos(at(k)), s = std::sin(at(k)); break;
    case 1: c = std::sin(quarter(n - 4 * k)), s = std::cos(quarter(n - 4 * k)); break;
    case 2: c = -std::sin(quarter(4 * k - n)), s = std::cos(quarter(4 * k - n)); break;
    case 3: c = -std::cos(quarter(2 * n - 4 * k)), s = std::sin(quarter(2 * n - 4 * k)); break;
    case 4: c = -std::cos(quarter(4 * k - 2 * n)), s = -std::sin(quarter(4 * k - 2 * n)); break;
    case 5: c = -std::sin(quarter(3 * n - 4 * k)), s = -std::cos(quarter(3 * n - 4 * k)); break;
    case 6: c = std::sin(quarter(4 * k - 3 * n)), s = -std::cos(quarter(4 * k - 3 * n)); break;
    default: c = std::cos(at(n - k)), s = -std::sin(at(n - k)); break;
  }
  return {c, -s};
}

template <class T>
std::complex<T> rounded(std::complex<double> z) {
  return {static_cast<T>(z.real()), static_cast<T>(z.imag())};
}

template <class T>
inline std::complex<T> times_minus_i(std::complex<T> z) {
  return {z.imag(), -z.real()};
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t n) : n_(n) {
  int64_t rest = n;
  for (int64_t radix : {4, 2, 3, 5})
    while (rest % radix == 0) factors_.push_back(radix), rest /= radix;
  for (int64_t p = 7; rest > 1; p += 2) {
    if (p * p > rest) p = rest;
    while (rest % p == 0) factors_.push_back(p), rest /= p;
  }
  if (factors_.empty() || *std::max_element(factors_.begin(), factors_.end()) <= kLargestRadix) {
    roots_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; k++) roots_[static_cast<size_t>(k)] = rounded<T>(root(k, n));
    return;
  }
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  inner_ = of(m);
  chirp_.resize(static_cast<size_t>(n));
  bent_.assign(static_cast<size_t>(m), Complex(0));
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {  // square is k * k modulo 2n
    Complex c = rounded<T>(root(square, 2 * n));
    chirp_[static_cast<size_t>(k)] = c;
    bent_[static_cast<size_t>(k)] = bent_[static_cast<size_t>((m - k) % m)] = std::conj(c);
  }
  std::vector<Complex> scratch(static_cast<size_t>(inner_->scratch()));
  inner_->forward(bent_.data(), scratch.data());
}

template <class T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::of(int64_t n) {
  static std::mutex guard;  // of kept
  static std::unordered_map<int64_t, std::shared_ptr<const FftPlan>> kept;
  {
    std::lock_guard lock(guard);
    if (auto found = kept.find(n); found != kept.end()) return found->second;
  }
  auto made = std::make_shared<const FftPlan>(n);  // outside the lock: it may ask for the plan of another length
  std::lock_guard lock(guard);
  if (kept.size() >= kPlansKept) kept.clear();
  return kept.try_emplace(n, std::move(made)).first->second;
}

// One stage, decimation in frequency: of `length` numbers (each `stride` wide) every length/radix-th goes together, and
// the result r of place j is multiplied by the root j * r of that length.
template <class T>
void FftPlan<T>::stage(int64_t radix, int64_t length, int64_t stride, const Complex* in, Complex* out) const {
  const int64_t m = length / radix, turn = n_ / length, third = n_ / radix;
  const T half_root_3 = static_cast<T>(0.86602540378443864676);
  for (int64_t j = 0; j < m; j++) {
    const Complex* a = in + j * stride;
    Complex* y = out + j * radix * stride;
    const int64_t step = m * stride;
    if (radix == 2) {
      const Complex w = roots_[static_cast<size_t>(j * turn)];
      for (int64_t q = 0; q < stride; q++) {
        Complex u = a[q], v = a[q + step];
        y[q] = u + v;
        y[q + stride] = (u - v) * w;
      }
    } else if (radix == 4) {
      const Complex w1 = roots_[static_cast<size_t>(j * turn)], w2 = roots_[static_cast<size_t>(2 * j * turn)], w3 = roots_[static_cast<size_t>(3 * j * turn)];
      for (int64_t q = 0; q < stride; q++) {
        Complex even = a[q] + a[q + 2 * step], odd = a[q + step] + a[q + 3 * step];
        Complex difference = a[q] - a[q + 2 * step], turned = times_minus_i(a[q + step] - a[q + 3 * step]);
        y[q] = even + odd;
        y[q + stride] = (difference + turned) * w1;
        y[q + 2 * stride] = (even - odd) * w2;
        y[q + 3 * stride] = (difference - turned) * w3;
      }
    } else if (radix == 3) {
      const Complex w1 = roots_[static_cast<size_t>(j * turn)], w2 = roots_[static_cast<size_t>(2 * j * turn)];
      for (int64_t q = 0; q < stride; q++) {
        Complex u = a[q], sum = a[q + step] + a[q + 2 * step], turned = times_minus_i(a[q + step] - a[q + 2 * step]) * half_root_3;
        Complex middle = u - sum * T(0.5);
        y[q] = u + sum;
        y[q + stride] = (middle + turned) * w1;
        y[q + 2 * stride] = (middle - turned) * w2;
      }
    } else {
      for (int64_t q = 0; q < stride; q++)
        for (int64_t r = 0; r < radix; r++) {
          Complex sum = a[q];
          for (int64_t k = 1, at = r; k < radix; k++, at = at + r >= radix ? at + r - radix : at + r)
            sum += a[q + k * step] * roots_[static_cast<size_t>(at * third)];
          y[q + r * stride] = sum * roots_[static_cast<size_t>(j * r * turn)];
        }
    }
  }
}

template <class T>
void FftPlan<T>::forward(Complex* line, Complex* scratch) const {
  if (!chirp_.empty()) return chirp(line, scratch);
  Complex *from = line, *to = scratch;
  int64_t length = n_, stride = 1;
  for (int64_t radix : factors_) {
    stage(radix, length, stride, from, to);
    length /= radix;
    stride *= radix;
    std::swap(from, to);
  }
  if (from != line) std::copy_n(from, n_, line);
}

// jk = (j*j + k*k - (k-j)*(k-j)) / 2 makes the transform a convolution with the chirp.
template <class T>
void FftPlan<T>::chirp(Complex* line, Complex* scratch) const {
  const int64_t m = inner_->length();
  Complex *work = scratch, *rest = scratch + m;
  for (int64_t k = 0; k < n_; k++) work[k] = line[k] * chirp_[static_cast<size_t>(k)];
  std::fill(work + n_, work + m, Complex(0));
  inner_->forward(work, rest);
  for (int64_t k = 0; k < m; k++) work[k] *= bent_[static_cast<size_t>(k)];
  inner_->run(work, rest, true);
  const T scale = T(1) / static_cast<T>(m);
  for (int64_t k = 0; k < n_; k++) line[k] = work[k] * chirp_[static_cast<size_t>(k)] * scale;
}

// With real and imaginary parts exchanged before and after, the forward transform is the inverse one.
template <class T>
void FftPlan<T>::run(Complex* line, Complex* scratch, bool inverse) const {
  auto exchange = [&] {
    for (int64_t k = 0; k < n_; k++) line[k] = Complex(line[k].imag(), line[k].real());
  };
  if (inverse) exchange();
  forward(line, scratch);
  if (inverse) exchange();
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace undertow::cpu
