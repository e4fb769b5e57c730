// random.cpp: see random.h. Launches of fill.cuh and sample.cuh.
#include "core/kernels/cuda/random/random.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/device/strided_host.h"
#include "core/kernels/cuda/random/philox_stream.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/sort/order.h"
#include "core/kernels/cuda/sort/sort.h"

namespace undertow::core::cuda {

std::unique_ptr<RandomStream> new_random_stream(Device) { return std::make_unique<PhiloxStream>(); }

namespace {

KernelTemplate fill_kernel("random/fill.cuh", "fill_random");
KernelTemplate integers_kernel("random/fill.cuh", "fill_integers");
KernelTemplate bernoulli_kernel("random/fill.cuh", "fill_bernoulli");
KernelTemplate poisson_kernel("random/sample.cuh", "sample_poisson");
KernelTemplate gamma_kernel("random/sample.cuh", "sample_gamma<>");
KernelTemplate gamma_grad_kernel("random/sample.cuh", "gamma_derivatives<>");
KernelTemplate binomial_kernel("random/sample.cuh", "sample_binomial<>");
KernelTemplate check_kernel("random/sample.cuh", "check_not_negative<>");
KernelTemplate cumulative_kernel("random/sample.cuh", "cumulative_weights");
KernelTemplate replacement_kernel("random/sample.cuh", "sample_with_replacement<>");
KernelTemplate race_kernel("random/sample.cuh", "race_scores");

constexpr unsigned kThreads = 256;
constexpr int64_t kUnknownBlocks = 1 << 16;  // reserved by kernels whose elements draw as many as they need

LaunchShape shape_for(int64_t n) {
  return {.blocks = std::min<int64_t>(blocks_for(n, kThreads), 65536), .threads = kThreads};
}

// The elements of an output in memory order.
struct Filled {
  StridedLayout layout{};
  char* data;
  int64_t n;
  bool dense;
  explicit Filled(const Tensor& out) : data(out.data()), n(out.numel()), dense(out.is_contiguous()) {
    dense &= misalignment(out) == 0;
    if (dense) return;
    ElementwiseIter iter;
    iter.add_output(out, out.dtype());
    iter.build();
    data = iter.pointer(0);
    layout = layout_of(iter);
  }
};

// Names of the structs in fill.cuh, and the elements each makes from a block of words (of float and double).
struct Distribution {
  const char* name;
  int count, count_of_double;
};
constexpr Distribution kDistributions[] = {{"Uniform", 4, 2},
                                           {"Normal", 4, 2},
                                           {"LogNormal", 2, 2},
                                           {"FromUniform<Exponential>::Of", 2, 2},
                                           {"FromUniform<Cauchy>::Of", 2, 2},
                                           {"FromUniform<Geometric>::Of", 2, 2},
                                           {"Bernoulli", 4, 4}};
constexpr Distribution kAllValues{"AllValues", 2, 2}, kAllBits{"AllBits", 2, 2};

void fill_from(const Tensor& out, const Distribution& d, double a, double b, Generator& g) {
  if (out.numel() == 0) return;
  Launcher on(out);
  Filled f(out);
  const int64_t blocks = blocks_for(f.n, out.dtype() == DType::Float64 ? d.count_of_double : d.count);
  on.run(fill_kernel, {out.dtype(), d.name, f.dense}, shape_for(blocks), f.data, f.n, a, b,
         reserve(g, blocks, on.device()), f.layout);
}

void fill(const Tensor& out, Draw draw, double a, double b, Generator& g) {
  fill_from(out, kDistributions[static_cast<size_t>(draw)], a, b, g);
}
void all_values(const Tensor& out, Generator& g) { fill_from(out, kAllValues, 0, 0, g); }
void all_bits(const Tensor& out, Generator& g) { fill_from(out, kAllBits, 0, 0, g); }

void integers(const Tensor& out, int64_t from, uint64_t range, Generator& g) {
  if (out.numel() == 0) return;
  Launcher on(out);
  Filled f(out);
  const bool wide = range >= uint64_t{1} << 28;  // a remainder of 32 bits would favour small numbers
  const int64_t blocks = blocks_for(f.n, wide ? 2 : 4);
  on.run(integers_kernel, {out.dtype(), wide, f.dense}, shape_for(blocks), f.data, f.n, from, range,
         reserve(g, blocks, on.device()), f.layout);
}

// Random keys are sorted: with three times as many bits as positions have, equal ones hardly occur.
void permutation(const Tensor& out, Generator& g) {
  const int64_t n = out.numel();
  if (n == 0) return;
  Launcher on(out);
  Tensor keys = empty_on_device_of(out, Dims{n}, DType::Int64);
  all_bits(keys, g);
  const int bits = std::min(64, 3 * static_cast<int>(std::bit_width(static_cast<uint64_t>(n))));
  Tensor order = order_of_keys(on, alias(keys, keys.sizes(), keys.strides(), 0, DType::UInt64), 0, bits);
  copy(out, order);
}

double number_in(int64_t bits) { return std::bit_cast<double>(bits); }
int64_t address_of(void (*raise)(int64_t, int64_t, int64_t)) { return reinterpret_cast<int64_t>(raise); }

void raise_bad_chance(int64_t bits, int64_t, int64_t) {
  UT_FAIL("Expected p_in >= 0 && p_in <= 1 to be true, but got false. The probability is ", number_in(bits));
}
void bernoulli(const Tensor& out, const Tensor& p, Generator& g) {
  if (out.numel() == 0) return;
  Launcher on(out);
  ElementwiseIter iter;
  iter.add_output(out, out.dtype());
  iter.add_input(p);
  iter.build();
  const int64_t blocks = blocks_for(iter.numel(), 2);
  on.run(bernoulli_kernel, {out.dtype(), p.dtype()}, shape_for(blocks), iter.pointer(0), iter.pointer(1), iter.numel(),
         reserve(g, blocks, on.device()), layout_of(iter), device_error_slot(on.device()),
         address_of(raise_bad_chance));
}

void check_std(const Tensor& std) {
  if (std.numel() == 0) return;
  Launcher on(std);
  on.run(check_kernel, {}, shape_for(std.numel()), std.data(), std.numel(), device_error_slot(on.device()),
         address_of([](int64_t, int64_t, int64_t) { UT_FAIL("normal expects all elements of std >= 0.0"); }));
}

void raise_bad_rate(int64_t bits, int64_t, int64_t) {
  UT_FAIL("invalid Poisson rate, expected rate to be non-negative, got ", number_in(bits));
}
void poisson(const Tensor& out, const Tensor& rates, Generator& g) {
  if (out.numel() == 0) return;
  Launcher on(out);
  on.run(poisson_kernel, {out.dtype()}, shape_for(out.numel()), out.data(), rates.data(), out.numel(),
         reserve(g, kUnknownBlocks, on.device()), device_error_slot(on.device()), address_of(raise_bad_rate));
}

void gamma(const Tensor& shapes, double least, Generator& g) {
  if (shapes.numel() == 0) return;
  Launcher on(shapes);
  on.run(gamma_kernel, {}, shape_for(shapes.numel()), shapes.data(), least, shapes.numel(),
         reserve(g, kUnknownBlocks, on.device()));
}

void gamma_grad(const Tensor& shapes, const Tensor& draws) {
  if (shapes.numel() == 0) return;
  Launcher on(shapes);
  on.run(gamma_grad_kernel, {}, shape_for(shapes.numel()), shapes.data(), draws.data(), shapes.numel());
}

void binomial(const Tensor& counts, const Tensor& probs, Generator& g) {
  if (counts.numel() == 0) return;
  Launcher on(counts);
  on.run(binomial_kernel, {}, shape_for(counts.numel()), counts.data(), probs.data(), counts.numel(),
         reserve(g, kUnknownBlocks, on.device()));
}

void raise_bad_weights(int64_t code, int64_t, int64_t) {
  UT_CHECK(code != 0, "invalid multinomial distribution (encountering probability entry < 0)");
  UT_CHECK(code != 1, "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
  UT_FAIL("invalid multinomial distribution (sum of probabilities <= 0)");
}
void multinomial(const Tensor& out, const Tensor& weights, DType, bool replacement, Generator& g) {
  if (out.numel() == 0) return;
  Launcher on(weights);
  const int64_t n = weights.size(-1), rows = weights.numel() / n, per_row = out.numel() / rows;
  const DType t = weights.dtype();
  if (!replacement) {
    Tensor scores = empty_on_device_of(weights, Dims{rows, n}, t);
    Tensor values = empty_on_device_of(weights, Dims{rows, per_row}, t);
    Tensor indices = alias(out, Dims{rows, per_row}, Dims{per_row, 1}, out.storage_offset(), DType::Int64);
    on.run(race_kernel, {t}, shape_for(weights.numel()), scores.data(), weights.data(), weights.numel(),
           reserve(g, weights.numel(), on.device()));
    return sort_kernels.topk(values, indices, scores, 1, true, true);
  }
  Tensor sums = empty_on_device_of(weights, Dims{rows, n}, DType::Float64);
  on.run(cumulative_kernel, {t}, {.blocks = rows, .threads = kThreads}, sums.data(), weights.data(), n,
         device_error_slot(on.device()), address_of(raise_bad_weights));
  on.run(replacement_kernel, {}, shape_for(out.numel()), out.data(), sums.data(), n, per_row, out.numel(),
         reserve(g, out.numel(), on.device()));
}

}  // namespace

const RandomKernels random_kernels = {
    .fill = fill,
    .integers = integers,
    .all_values = all_values,
    .all_bits = all_bits,
    .permutation = permutation,
    .bernoulli = bernoulli,
    .check_std = check_std,
    .poisson = poisson,
    .gamma = gamma,
    .gamma_grad = gamma_grad,
    .binomial = binomial,
    .multinomial = multinomial,
};

}  // namespace undertow::core::cuda
