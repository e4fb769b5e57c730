// random.h: kernels that draw random numbers. A kernel takes the generator's lock itself, for as long as it draws.
#pragma once
#include "core/kernels/generator.h"
#include "core/kernels/kernel.h"

namespace undertow::core {

// Distributions with at most two parameters, and what the parameters mean.
enum class Draw : uint8_t {
  Uniform,      // from, to
  Normal,       // mean, standard deviation
  LogNormal,    // of the logarithm: mean, standard deviation
  Exponential,  // rate
  Cauchy,       // median, sigma
  Geometric,    // probability
  Bernoulli,    // probability
};

struct RandomKernels {
  // Fills every element of out, in memory order. The caller has checked the parameters, and that out's dtype supports
  // the distribution.
  Kernel<"random", void(const Tensor& out, Draw draw, double a, double b, Generator& g)> fill;
  // Integers in from + [0, range), in out's dtype.
  Kernel<"random_", void(const Tensor& out, int64_t from, uint64_t range, Generator& g)> integers;
  // All non-negative values of an integer dtype; all integers that a floating dtype represents exactly.
  Kernel<"random_", void(const Tensor& out, Generator& g)> all_values;
  // All 64 bits: row-major int64.
  Kernel<"random_", void(const Tensor& out, Generator& g)> all_bits;
  // 0 to n - 1 in random order: row-major.
  Kernel<"randperm", void(const Tensor& out, Generator& g)> permutation;
  // p has a floating dtype and out's shape and layout. Raises for a probability outside [0, 1].
  Kernel<"bernoulli", void(const Tensor& out, const Tensor& p, Generator& g)> bernoulli;
  // Raises for a negative standard deviation. std: row-major float64.
  Kernel<"normal", void(const Tensor& std)> check_std;
  // rates: float64. Both row-major.
  Kernel<"poisson", void(const Tensor& out, const Tensor& rates, Generator& g)> poisson;
  // Row-major float64: replaces shapes by samples of at least `least`.
  Kernel<"_standard_gamma", void(const Tensor& shapes, double least, Generator& g)> gamma;
  // Row-major float64: replaces shapes by the derivatives of the samples with respect to them.
  Kernel<"_standard_gamma_grad", void(const Tensor& shapes, const Tensor& draws)> gamma_grad;
  // Row-major float64: replaces counts by samples.
  Kernel<"binomial", void(const Tensor& counts, const Tensor& probs, Generator& g)> binomial;
  // out: rows of indices. weights: rows, row-major, float32 or float64; `drawn` is their original dtype.
  Kernel<"multinomial", void(const Tensor& out, const Tensor& weights, DType drawn, bool replacement, Generator& g)>
      multinomial;
};

}  // namespace undertow::core
