// fft.h: the discrete Fourier transform of one line of complex numbers, of any length.
// Knows lengths and lines; nothing of dimensions, normalisation or real numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace undertow::cpu {

// What a length needs: its factors, roots of unity, and for lengths with a large prime factor the chirp of Bluestein's
// way, which makes it a convolution of a length that is a power of two. Immutable, so any thread may use it.
template <class T>
class FftPlan {
 public:
  using Complex = std::complex<T>;

  // Shared between calls: the roots cost more than one transform.
  static std::shared_ptr<const FftPlan> of(int64_t n);

  explicit FftPlan(int64_t n);
  int64_t length() const { return n_; }
  // Numbers of scratch memory that run needs beside the line.
  int64_t scratch() const { return chirp_.empty() ? n_ : 2 * inner_->length(); }
  // line[k] becomes the sum over j of line[j] * exp(-2 pi i j k / n), or with +i where `inverse`; not divided by anything.
  void run(Complex* line, Complex* scratch, bool inverse) const;

 private:
  void forward(Complex* line, Complex* scratch) const;
  void chirp(Complex* line, Complex* scratch) const;
  void stage(int64_t radix, int64_t length, int64_t stride, const Complex* in, Complex* out) const;

  int64_t n_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / n)
  std::vector<Complex> chirp_;  // exp(-pi i k k / n); empty where the factors are small
  std::vector<Complex> bent_;   // the transform of the chirp's conjugate, over inner_'s length
  std::shared_ptr<const FftPlan> inner_;
};

}  // namespace undertow::cpu
