// sample.cpp: distributions whose parameters are in a tensor: bernoulli, normal, poisson, multinomial, gamma, binomial.
// build: small
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/random/generator_for.h"
#include "core/kernels/random.h"
#include "core/tensor/layout.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_random.h"

namespace undertow::core::fwd {

namespace {

// A copy of src in out's layout, so that iterating over both in memory order pairs their elements.
Tensor laid_out_like(const Tensor& src, const Tensor& out) {
  Tensor same_layout =
      empty_strided_on_device_of(src, out.sizes(), dense_strides_like(out.sizes(), out.strides()), src.dtype());
  copy_into(same_layout, src);
  return same_layout;
}

// Gamma and binomial samples are drawn in double, whatever the dtype, as in torch.
void check_drawn(const Tensor& t, const char* kernel) {
  if (t.dtype() != DType::Float32 && t.dtype() != DType::Float64) throw_not_implemented(kernel, t.dtype());
}

// Row-major doubles in new memory.
Tensor doubles(const Tensor& t, IntSpan sizes) {
  Tensor own = empty_on_device_of(t, sizes, DType::Float64);
  copy_into(own, t);
  return own;
}

double smallest(DType t) {
  return t == DType::Float32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
}

}  // namespace

void bernoulli_out(const Tensor& out, const Tensor&, const Tensor& p, Generator* g) {
  UT_CHECK(is_expandable_to(p.sizes(), out.sizes()), "output with shape ", ShapeText{out.sizes()},
           " doesn't match the broadcast shape ", ShapeText{broadcast_sizes(out.sizes(), p.sizes())});
  if (out.is_complex()) throw_not_implemented("bernoulli_tensor_cpu_self_", out.dtype());
  if (!p.is_floating()) throw_not_implemented("bernoulli_tensor_cpu_p_", p.dtype());
  backend_of(out).random->bernoulli(out, laid_out_like(p, out), generator_for(out, g));
}
Tensor bernoulli(const Tensor& self, const Tensor& p, Generator* g) {
  Tensor out = allocate_like(self, self.dtype());
  bernoulli_out(out, self, p, g);
  return out;
}
// Row-major, as in torch; with a tensor of probabilities it follows self.
Tensor bernoulli(const Tensor& self, Generator* g) {
  Tensor out = empty_on_device_of(self, self.sizes(), self.dtype());
  bernoulli_out(out, self, self, g);
  return out;
}

Tensor normal(const Tensor& mean, const Tensor& std, Generator* g) {
  UT_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  Tensor out = empty_on_device_of(mean, broadcast_sizes(mean.sizes(), std.sizes()), mean.dtype());
  backend_of(std).random->check_std(contiguous(to_dtype(std, DType::Float64)));
  normal_out(out, out, 0, 1, g);
  mul_out(out, out, std);
  add_out(out, out, mean, Scalar(1));
  return out;
}
Tensor normal(const Tensor& mean, double std, Generator* g) {
  Tensor out = empty_on_device_of(mean, mean.sizes(), mean.dtype());
  normal_out(out, out, 0, std, g);
  add_out(out, out, mean, Scalar(1));
  return out;
}
Tensor normal(double mean, const Tensor& std, Generator* g) {
  return normal(full_on_device_of(std, std.sizes(), Scalar(mean), std.dtype()), std, g);
}

Tensor poisson(const Tensor& self, Generator* g) {
  if (!self.is_floating()) throw_not_implemented("poisson_cpu", self.dtype());
  Tensor out = empty_on_device_of(self, self.sizes(), self.dtype());
  backend_of(self).random->poisson(out, contiguous(to_dtype(self, DType::Float64)), generator_for(self, g));
  return out;
}

Tensor multinomial(const Tensor& self, int64_t count, bool replacement, Generator* g) {
  UT_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim, got shape ", ShapeText{self.sizes()});
  UT_CHECK(count > 0, "cannot sample n_sample <= 0 samples, got ", count);
  int64_t n = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  UT_CHECK(replacement || count <= n,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", count, " of ", n);
  UT_CHECK(self.is_floating(),
           "multinomial only supports floating-point dtypes for input, got: ", long_name(self.dtype()));
  UT_CHECK(n <= 1 << 24, "number of categories cannot exceed 2^24, got ", n);
  Tensor out = empty_on_device_of(self, self.dim() == 2 ? Dims{rows, count} : Dims{count}, DType::Int64);
  if (rows == 0) return out;
  UT_CHECK(n > 0, "invalid multinomial distribution (sum of probabilities <= 0): there are no categories");
  Tensor weights = contiguous(to_dtype(self, self.dtype() == DType::Float64 ? DType::Float64 : DType::Float32));
  backend_of(self).random->multinomial(out, weights, self.dtype(), replacement, generator_for(self, g));
  return out;
}

Tensor _standard_gamma(const Tensor& self, Generator* g) {
  check_drawn(self, "gamma_cpu");
  Tensor drawn = doubles(self, self.sizes());
  backend_of(self).random->gamma(drawn, smallest(self.dtype()), generator_for(self, g));
  return to_dtype(drawn, self.dtype());
}

Tensor _standard_gamma_grad(const Tensor& self, const Tensor& output) {
  check_drawn(self, "_standard_gamma_grad_cpu");
  UT_CHECK(self.dtype() == output.dtype(), "Found dtype ", long_name(output.dtype()), " but expected ",
           long_name(self.dtype()));
  Dims sizes = broadcast_sizes(self.sizes(), output.sizes());
  Tensor derivatives = doubles(self, sizes);
  backend_of(self).random->gamma_grad(derivatives, doubles(output, sizes));
  return to_dtype(derivatives, self.dtype());
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* g) {
  UT_CHECK_VALUE(count.is_floating(),
                 "binomial only supports floating-point dtypes for count, got: ", long_name(count.dtype()));
  UT_CHECK_VALUE(prob.is_floating(),
                 "binomial only supports floating-point dtypes for prob, got: ", long_name(prob.dtype()));
  check_drawn(count, "binomial_cpu");
  UT_CHECK(count.dtype() == prob.dtype(), "Found dtype ", long_name(prob.dtype()), " but expected ",
           long_name(count.dtype()));
  Dims sizes = broadcast_sizes(count.sizes(), prob.sizes());
  Tensor counts = doubles(count, sizes);
  backend_of(count).random->binomial(counts, doubles(prob, sizes), generator_for(count, g));
  return to_dtype(counts, count.dtype());
}

}  // namespace undertow::core::fwd
