// pool.cpp: see pool.h. Launches of pool.cuh.
#include "core/kernels/cuda/pool/pool.h"

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/index/index_launch.h"
#include "core/kernels/cuda/pool/pool_params.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate average_kernel("pool/pool.cuh", "average_windows");
KernelTemplate spread_kernel("pool/pool.cuh", "spread_windows");
KernelTemplate largest_kernel("pool/pool.cuh", "largest_of_windows");
KernelTemplate fractional_kernel("pool/pool.cuh", "largest_of_fractional");
KernelTemplate gather_kernel("pool/pool.cuh", "gather_at");
KernelTemplate scatter_kernel("pool/pool.cuh", "scatter_at");
KernelTemplate offsets_kernel("pool/pool.cuh", "index_offsets<>");
KernelTemplate add_kernel("pool/pool.cuh", "add_at");

// Windows that are not a regular grid divide the axis evenly: the kernels compute both.
PoolShape shape_of(const Pooling& p) {
  PoolShape s{};
  for (int d = 0; d < 3; d++) {
    const Windows& w = p.axis[d];
    const WindowGrid& g = p.grid[d];
    if (p.regular)
      s.axis[d] = {g.in, g.out, g.kernel, g.stride, g.padding, g.dilation, false};
    else
      s.axis[d] = {w.in, w.out(), 0, 1, 0, 1, true};
  }
  s.in_plane = p.in_plane;
  s.out_plane = p.out_plane;
  return s;
}
PoolDivisor divisor_of(const AverageBy& by) { return {by.divisor.value_or(0), by.count_include_pad}; }

void average(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& by) {
  if (out.numel() == 0) return;
  Launcher on(out);
  on.run(average_kernel, {in.dtype()}, shape_of_index(out.numel()), out.data(), in.data(), out.numel(), shape_of(p),
         divisor_of(by));
}
void average_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& p, const AverageBy& by) {
  if (grad_input.numel() == 0) return;
  if (grad_output.numel() == 0) return zero(grad_input);
  Launcher on(grad_input);
  on.run(spread_kernel, {grad_input.dtype()}, shape_of_index(grad_input.numel()), grad_input.data(), grad_output.data(),
         grad_input.numel(), shape_of(p), divisor_of(by));
}

void largest(const Tensor& out, const Tensor& index, const Tensor& in, const Pooling& p) {
  if (out.numel() == 0) return;
  Launcher on(out);
  Tensor places = index.defined() ? index : empty(out.sizes(), DType::Int64, out.device());
  on.run(largest_kernel, {in.dtype()}, shape_of_index(out.numel()), out.data(), places.data(), in.data(), out.numel(),
         shape_of(p));
}

void fractional_largest(const Tensor& out, const Tensor& index, const Tensor& in, const Tensor& samples,
                        const Pooling& p, IntSpan kernel) {
  if (out.numel() == 0) return;
  Launcher on(out);
  PoolShape s = shape_of(p);
  const int spatial = static_cast<int>(kernel.size());
  for (int d = 0; d < 3; d++) {
    s.axis[d].in = p.axis[d].in;
    s.axis[d].out = p.axis[d].out();
    if (d >= 3 - spatial) s.axis[d].kernel = kernel[static_cast<size_t>(d - (3 - spatial))];
  }
  on.run(fractional_kernel, {in.dtype()}, shape_of_index(out.numel()), out.data(), index.data(), in.data(),
         contiguous_as(samples, in.dtype()).data(), out.numel(), s, spatial);
}

void raise_bad_index(int64_t at, int64_t, int64_t) { UT_FAIL("Found an invalid max index: ", at); }

PoolIndices indices_of(const Launcher& on, const Tensor& index, const IndexGrid& g) {
  return {index.data_as<int64_t>(),
          index.numel(),
          g.pooled,
          g.full,
          error_slot(on),
          reinterpret_cast<int64_t>(raise_bad_index)};
}

void gather(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  if (index.numel() == 0) return;
  Launcher on(out);
  on.run(gather_kernel, {word_of(in.itemsize())}, shape_of_index(index.numel()), out.data(), in.data(),
         indices_of(on, index, g));
}
void scatter(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  zero(out);
  if (index.numel() == 0) return;
  Launcher on(out);
  on.run(scatter_kernel, {word_of(in.itemsize())}, shape_of_index(index.numel()), out.data(), in.data(),
         indices_of(on, index, g));
}
void add_at(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  zero(out);
  if (index.numel() == 0) return;
  Launcher on(out);
  if (wants_same_bits(out.dtype())) {
    Tensor offsets = empty_on_device_of(index, index.sizes(), DType::Int64);
    Nest places = empty_nest();
    add_dim(places, index.numel(), in.itemsize());
    on.run(offsets_kernel, {}, shape_of_index(index.numel()), offsets.data(), indices_of(on, index, g), out.itemsize());
    return update_in_order(on, out, offsets, in, empty_nest(), 1, places, Update::Add);
  }
  on.run(add_kernel, {out.dtype()}, shape_of_index(index.numel()), out.data(), in.data(), indices_of(on, index, g));
}

}  // namespace

const PoolKernels pool_kernels = {
    .average = average,
    .average_backward = average_backward,
    .largest = largest,
    .fractional_largest = fractional_largest,
    .gather = gather,
    .scatter = scatter,
    .add_at = add_at,
};

}  // namespace undertow::core::cuda
