// random.h: kernels that draw random numbers. A kernel takes the generator's lock itself, for as long as it draws.
#pragma once
#include "core/kernels/generator.h"
#include "core/kernels/kernel.h"

namespace undertow {

// Distributions of a few numbers, and what the two numbers are.
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
  // Every element of out, in the order of memory. Checked before: the numbers, and that out's dtype has the
  // distribution.
  Kernel<"random", void(const Tensor& out, Draw draw, double a, double b, Generator& g)> fill;
  // Integers from + [0, range), as elements of out.
  Kernel<"random_", void(const Tensor& out, int64_t from, uint64_t range, Generator& g)> integers;
  // Every non-negative value of an integer dtype; every integer that a floating dtype holds exactly.
  Kernel<"random_", void(const Tensor& out, Generator& g)> all_values;
  // All 64 bits: row-major int64.
  Kernel<"random_", void(const Tensor& out, Generator& g)> all_bits;
  // 0 to n - 1 in random order: row-major.
  Kernel<"randperm", void(const Tensor& out, Generator& g)> permutation;
  // p: out's shape and layout, of a floating dtype. Raises for a probability outside [0, 1].
  Kernel<"bernoulli", void(const Tensor& out, const Tensor& p, Generator& g)> bernoulli;
  // Raises for a negative standard deviation: row-major float64.
  Kernel<"normal", void(const Tensor& std)> check_std;
  // rates: float64. Both row-major.
  Kernel<"poisson", void(const Tensor& out, const Tensor& rates, Generator& g)> poisson;
  // Row-major float64: shapes become draws of at least `least`.
  Kernel<"_standard_gamma", void(const Tensor& shapes, double least, Generator& g)> gamma;
  // Row-major float64: shapes become the derivatives of the draws by them.
  Kernel<"_standard_gamma_grad", void(const Tensor& shapes, const Tensor& draws)> gamma_grad;
  // Row-major float64: counts become draws.
  Kernel<"binomial", void(const Tensor& counts, const Tensor& probs, Generator& g)> binomial;
  // out: rows of positions. weights: rows, row-major, float32 or float64; `drawn` is the dtype they were given in.
  Kernel<"multinomial", void(const Tensor& out, const Tensor& weights, DType drawn, bool replacement, Generator& g)>
      multinomial;
};

}  // namespace undertow
