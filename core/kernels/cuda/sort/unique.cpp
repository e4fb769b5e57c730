// unique.cpp: see unique.h. Launches of unique.cuh.
#include "core/kernels/cuda/sort/unique.h"

#include <algorithm>

#include "core/kernels/cuda/index/index.h"
#include "core/kernels/cuda/sort/order.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate keys_kernel("sort/unique.cuh", "column_keys");
KernelTemplate compose_kernel("sort/unique.cuh", "compose_orders<>");
KernelTemplate heads_kernel("sort/unique.cuh", "find_heads");
KernelTemplate take_kernel("sort/unique.cuh", "take_heads");
KernelTemplate lengths_kernel("sort/unique.cuh", "run_lengths<>");
KernelTemplate numbers_kernel("sort/unique.cuh", "run_numbers<>");

LaunchShape shape_for(int64_t n) { return {.blocks = std::min<int64_t>(blocks_for(n, 256), 65536), .threads = 256}; }

// Sorts rows by their columns, the last one first: each sort is stable.
Tensor order_of_rows(const Launcher& on, const Tensor& rows, int64_t n, int64_t width) {
  Tensor order;
  for (int64_t column = width; column-- > 0;) {
    Tensor keys = empty_on_device_of(rows, Dims{n}, key_dtype(rows.dtype()));
    on.run(keys_kernel, {rows.dtype()}, shape_for(n), keys.data(), rows.data(),
           order.defined() ? order.data() : nullptr, n, width, column);
    Tensor then = order_of_keys(on, keys, 0, static_cast<int>(rows.itemsize()) * 8);
    if (!order.defined()) {
      order = then;
      continue;
    }
    Tensor both = empty_on_device_of(rows, Dims{n}, DType::UInt32);
    on.run(compose_kernel, {}, shape_for(n), both.data(), order.data(), then.data(), n);
    order = both;
  }
  return order;
}

UniqueElements distinct(const Tensor& rows, IntSpan row_sizes, IntSpan inverse_sizes, int64_t n, int64_t width,
                        bool sort, bool inverse, bool counts) {
  Launcher on(rows);
  UniqueElements result;
  auto ints = [&](IntSpan sizes) { return empty_on_device_of(rows, sizes, DType::Int64); };
  Dims sizes{0};
  for (int64_t s : row_sizes) sizes.push_back(s);
  Tensor starts = ints(Dims{0}), order;
  if (n) {
    if (sort) order = order_of_rows(on, rows, n, width);
    Tensor heads = empty_on_device_of(rows, Dims{n}, DType::Bool);
    on.run(heads_kernel, {rows.dtype()}, shape_for(n), heads.data(), rows.data(),
           order.defined() ? order.data() : nullptr, n, width);
    starts = index_kernels.nonzero(heads);
  }
  const int64_t runs = starts.numel();
  char* at = order.defined() ? order.data() : nullptr;
  sizes[0] = runs;
  result.values = empty_on_device_of(rows, sizes, rows.dtype());
  if (runs * width > 0)
    on.run(take_kernel, {rows.dtype()}, shape_for(runs * width), result.values.data(), rows.data(), at, starts.data(),
           runs, width);
  result.counts = ints(counts ? Dims{runs} : Dims{0});
  if (counts && runs) on.run(lengths_kernel, {}, shape_for(runs), result.counts.data(), starts.data(), runs, n);
  result.inverse = inverse ? ints(inverse_sizes) : ints(Dims{0});
  if (inverse && n) on.run(numbers_kernel, {}, shape_for(n), result.inverse.data(), at, starts.data(), runs, n);
  return result;
}

}  // namespace

UniqueElements unique(const Tensor& in, bool sort, bool inverse, bool counts) {
  return distinct(in, {}, in.sizes(), in.numel(), 1, sort, inverse, counts);
}

UniqueElements unique_rows(const Tensor& rows, bool sort, bool inverse, bool counts) {
  const int64_t n = rows.size(0);
  return distinct(rows, rows.sizes().subspan(1), IntSpan(&n, 1), n, n ? rows.numel() / n : 0, sort, inverse, counts);
}

}  // namespace undertow::core::cuda
