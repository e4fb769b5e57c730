// fft_plan.h: what transforms of the same length share: factors and roots of unity.
// Knows numbers only; the loops are in fft.isa.cpp, the iteration over lines in fft.cpp.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/kernels/cpu/fft/fft_kernels.h"

namespace undertow::core::cpu {

template <class T>
const FftLoops<T>& fft_loops() {
  static const FftLoops<T>& chosen = UNDERTOW_CHOOSE_ISA(fft_loops<T>());
  return chosen;
}

// The transform of a block (Note [Lanes Of Lines]): self-sorting stages of small radices (Stockham), or, for lengths
// with a large prime factor, a convolution with a chirp over a length without one (Bluestein). Immutable.
template <class T>
class FftPlan {
 public:
  using Complex = std::complex<T>;

  // Shared between calls: the roots cost more than one transform.
  static std::shared_ptr<const FftPlan> of(int64_t n);

  explicit FftPlan(int64_t n);
  int64_t length() const { return n_; }
  // The size, in elements, of each of the two blocks passed to `run`.
  int64_t room() const { return inner_ ? inner_->n_ : n_; }
  // Transforms `block`; returns the pointer to the result, which is `block` or `other`.
  T* run(T* block, T* other, bool swapped) const;

  bool is_chirp() const { return inner_ != nullptr; }
  // For Bluestein's algorithm: exp(-pi i k k / n), and the transform of its conjugate over the inner length, divided by
  // that length.
  const std::vector<Complex>& chirp() const { return chirp_; }
  const std::vector<Complex>& chirp_transform() const { return chirp_transform_; }
  const FftPlan& inner() const { return *inner_; }

 private:
  struct Stage {
    int64_t radix, m, stride;
    std::vector<Complex> roots, radix_roots;
  };

  int64_t n_;
  std::vector<Stage> stages_;
  std::vector<Complex> chirp_, chirp_transform_;
  std::shared_ptr<const FftPlan> inner_;
};

// One long line as a square: n = rows * columns. Element j = a * columns + b; transforms along a, times root(a' b),
// then along b give result a' + rows * b'. Both use adjacent lanes.
template <class T>
struct FftSplit {
  static std::shared_ptr<const FftSplit> of(int64_t n);
  explicit FftSplit(int64_t n);

  int64_t rows, columns;
  std::shared_ptr<const FftPlan<T>> along_rows, along_columns;  // for lengths `rows` and `columns`
  std::vector<T> roots;  // for each group of lanes of columns, a block of `rows` elements
};

// exp(-2 pi i k / n) for k up to n / 2.
template <class T>
struct FftRoots {
  static std::shared_ptr<const FftRoots> of(int64_t n);
  explicit FftRoots(int64_t n);
  std::vector<std::complex<T>> roots;
};

// True if no prime factor of n is too large for a stage.
bool fft_is_smooth(int64_t n);

}  // namespace undertow::core::cpu
