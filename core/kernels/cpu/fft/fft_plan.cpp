// fft_plan.cpp: factors, roots of unity and chirps of fft_plan.h, and running a block through its stages.
// build: small
#include "core/kernels/cpu/fft/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "core/base/signals.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kLargestRadix = 31;  // above it, a convolution is cheaper than radix * radix products
constexpr size_t kPlansKept = 32;

// exp(-2 pi i k / n), with the angle reduced to the first octant, where sine and cosine are accurate to the last digit.
std::complex<double> root(int64_t k, int64_t n) {
  int64_t octant = 8 * k / n;
  auto at = [n](int64_t j) { return 2 * M_PI * static_cast<double>(j) / static_cast<double>(n); };
  auto quarter = [&](int64_t j) {  // the angle of j / (4n) of a full turn
    return 2 * M_PI * static_cast<double>(j) / (4 * static_cast<double>(n));
  };
  double c, s;
  switch (octant) {
    case 0:
      c = std::cos(at(k)), s = std::sin(at(k));
      break;
    case 1:
      c = std::sin(quarter(n - 4 * k)), s = std::cos(quarter(n - 4 * k));
      break;
    case 2:
      c = -std::sin(quarter(4 * k - n)), s = std::cos(quarter(4 * k - n));
      break;
    case 3:
      c = -std::cos(quarter(2 * n - 4 * k)), s = std::sin(quarter(2 * n - 4 * k));
      break;
    case 4:
      c = -std::cos(quarter(4 * k - 2 * n)), s = -std::sin(quarter(4 * k - 2 * n));
      break;
    case 5:
      c = -std::sin(quarter(3 * n - 4 * k)), s = -std::cos(quarter(3 * n - 4 * k));
      break;
    case 6:
      c = std::sin(quarter(4 * k - 3 * n)), s = -std::cos(quarter(4 * k - 3 * n));
      break;
    default:
      c = std::cos(at(n - k)), s = -std::sin(at(n - k));
      break;
  }
  return {c, -s};
}

template <class T>
std::complex<T> rounded(std::complex<double> z) {
  return {static_cast<T>(z.real()), static_cast<T>(z.imag())};
}

// Prime factors, with powers of two combined into eights and fours.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  int twos = 0;
  while (n % 2 == 0) n /= 2, twos++;
  for (; twos > 4 || twos == 3; twos -= 3) factors.push_back(8);
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos) factors.push_back(2);
  for (int64_t p = 3; n > 1; p += 2) {
    if (p * p > n) p = n;
    while (n % p == 0) factors.push_back(p), n /= p;
  }
  return factors;
}

// The smallest number from `least` on with only small prime factors.
int64_t smooth_from(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5, 9, 15, 25, 27, 45, 75}) {
    int64_t m = odd;
    while (m < least) m *= 2;
    if (m % 4 == 0) best = std::min(best, m);
  }
  return best;
}

// One object of each kind per length, created once.
template <class Kind>
std::shared_ptr<const Kind> kept(int64_t n) {
  static std::mutex guard;  // guards all plans
  static std::unordered_map<int64_t, std::shared_ptr<const Kind>> all;
  {
    std::lock_guard lock(guard);
    if (auto found = all.find(n); found != all.end()) return found->second;
  }
  auto made = std::make_shared<const Kind>(n);  // outside the lock: it may request the plan of another length
  std::lock_guard lock(guard);
  if (all.size() >= kPlansKept) all.clear();
  return all.try_emplace(n, std::move(made)).first->second;
}

}  // namespace

bool fft_is_smooth(int64_t n) {
  std::vector<int64_t> factors = factors_of(n);
  return factors.empty() || *std::max_element(factors.begin(), factors.end()) <= kLargestRadix;
}

template <class T>
FftPlan<T>::FftPlan(int64_t n) : n_(n) {
  if (fft_is_smooth(n)) {
    int64_t length = n, stride = 1;
    for (int64_t radix : factors_of(n)) {
      Stage s{radix, length / radix, stride, {}, {}};
      for (int64_t j = 0; j < s.m; j++) {
        if (j % 65536 == 65535) poll_signals();
        for (int64_t r = 1; r < radix; r++) s.roots.push_back(rounded<T>(root(j * r, length)));
      }
      for (int64_t r = 0; r < radix; r++) s.radix_roots.push_back(rounded<T>(root(r, radix)));
      length /= radix;
      stride *= radix;
      stages_.push_back(std::move(s));
    }
    return;
  }
  int64_t m = smooth_from(2 * n - 1);
  inner_ = of(m);
  chirp_.resize(static_cast<size_t>(n));
  std::vector<std::complex<double>> conj_chirp(static_cast<size_t>(m));
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {  // square is k * k modulo 2n
    if (k % 65536 == 65535) poll_signals();
    std::complex<double> c = root(square, 2 * n);
    chirp_[static_cast<size_t>(k)] = rounded<T>(c);
    conj_chirp[static_cast<size_t>(k)] = conj_chirp[static_cast<size_t>((m - k) % m)] =
        std::conj(c) / static_cast<double>(m);
  }
  // Its transform in double, computed in the first lane of a block.
  auto exact = FftPlan<double>::of(m);
  int64_t lanes = fft_loops<double>().lanes;
  std::vector<double> blocks(static_cast<size_t>(4 * lanes * m), 0.0);
  for (int64_t k = 0; k < m; k++) {
    blocks[static_cast<size_t>(2 * lanes * k)] = conj_chirp[static_cast<size_t>(k)].real();
    blocks[static_cast<size_t>(2 * lanes * k + lanes)] = conj_chirp[static_cast<size_t>(k)].imag();
  }
  const double* result = exact->run(blocks.data(), blocks.data() + 2 * lanes * m, false);
  for (int64_t k = 0; k < m; k++)
    chirp_transform_.push_back(rounded<T>({result[2 * lanes * k], result[2 * lanes * k + lanes]}));
}

template <class T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::of(int64_t n) {
  return kept<FftPlan<T>>(n);
}

template <class T>
T* FftPlan<T>::run(T* block, T* other, bool swapped) const {
  const FftLoops<T>& kernels = fft_loops<T>();
  if (!inner_) {
    for (const Stage& s : stages_) {
      if (n_ >= 65536) poll_signals();
      kernels.stage(s.radix, s.m, s.stride, block, other, reinterpret_cast<const T*>(s.roots.data()),
                    reinterpret_cast<const T*>(s.radix_roots.data()), swapped);
      std::swap(block, other);
    }
    return block;
  }
  // jk = (j*j + k*k - (k-j)*(k-j)) / 2 makes the transform a convolution with the chirp.
  const int64_t m = inner_->n_;
  const T* chirp = reinterpret_cast<const T*>(chirp_.data());
  kernels.scale_elements(n_, block, chirp, other, T(1), swapped);
  std::fill(other + n_ * 2 * kernels.lanes, other + m * 2 * kernels.lanes, T(0));
  T *result = inner_->run(other, block, swapped), *rest = result == other ? block : other;
  kernels.scale_elements(m, result, reinterpret_cast<const T*>(chirp_transform_.data()), rest, T(1), swapped);
  T *back = inner_->run(rest, result, !swapped), *end = back == rest ? result : rest;
  kernels.scale_elements(n_, back, chirp, end, T(1), swapped);
  return end;
}

template <class T>
FftSplit<T>::FftSplit(int64_t n) : rows(1) {
  for (int64_t d = 2; d * d <= n; d++)
    if (n % d == 0) rows = d;
  columns = n / rows;
  along_rows = FftPlan<T>::of(rows);
  along_columns = FftPlan<T>::of(columns);
  int64_t lanes = fft_loops<T>().lanes, groups = (columns + lanes - 1) / lanes;
  roots.assign(static_cast<size_t>(groups * rows * 2 * lanes), T(0));
  for (int64_t g = 0; g < groups; g++)
    for (int64_t a = 0; a < rows; a++)
      for (int64_t lane = 0; lane < lanes && g * lanes + lane < columns; lane++) {
        std::complex<double> w = root(a * (g * lanes + lane), n);
        T* at = roots.data() + (g * rows + a) * 2 * lanes + lane;
        at[0] = static_cast<T>(w.real());
        at[lanes] = static_cast<T>(w.imag());
      }
}

template <class T>
std::shared_ptr<const FftSplit<T>> FftSplit<T>::of(int64_t n) {
  return kept<FftSplit<T>>(n);
}

template <class T>
FftRoots<T>::FftRoots(int64_t n) {
  for (int64_t k = 0; k <= n / 2; k++) {
    if (k % 65536 == 65535) poll_signals();
    roots.push_back(rounded<T>(root(k, n)));
  }
}

template <class T>
std::shared_ptr<const FftRoots<T>> FftRoots<T>::of(int64_t n) {
  return kept<FftRoots<T>>(n);
}

template class FftPlan<float>;
template class FftPlan<double>;
template struct FftSplit<float>;
template struct FftSplit<double>;
template struct FftRoots<float>;
template struct FftRoots<double>;

}  // namespace undertow::core::cpu
