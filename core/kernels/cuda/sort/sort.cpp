// sort.cpp: see sort.h. Launches of short_rows.cuh and rows.cuh.
#include "core/kernels/cuda/sort/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/sort/order.h"
#include "core/kernels/cuda/sort/unique.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate short_kernel("sort/short_rows.cuh", "sort_short_rows");
KernelTemplate by_digits_kernel("sort/short_rows.cuh", "sort_rows_by_digits");
KernelTemplate select_kernel("sort/rows.cuh", "select_least");
KernelTemplate look_up_kernel("sort/rows.cuh", "look_up_rows<>");
KernelTemplate search_kernel("sort/rows.cuh", "search_rows");
KernelTemplate bins_kernel("sort/rows.cuh", "count_bins<>");
KernelTemplate extent_kernel("sort/rows.cuh", "find_extent<>");
KernelTemplate integer_extent_kernel("sort/rows.cuh", "integer_extent<>");
KernelTemplate count_kernel("sort/rows.cuh", "count_integers<>");
KernelTemplate weights_kernel("sort/rows.cuh", "sum_weights");
KernelTemplate members_kernel("sort/rows.cuh", "find_members");

constexpr unsigned kSelectThreads = 1024;  // as in rows.cuh

LaunchShape shape_for(int64_t n) { return {.blocks = std::min<int64_t>(blocks_for(n, 256), 65536), .threads = 256}; }

// Dimension d swapped with the last one.
Tensor with_last(const Tensor& t, int64_t d) {
  Dims sizes(t.sizes()), strides(t.strides());
  std::swap(sizes[static_cast<size_t>(d)], sizes.back());
  std::swap(strides[static_cast<size_t>(d)], strides.back());
  return alias(t, sizes, strides, t.storage_offset(), t.dtype());
}

// rows(in, values, indices) does the work on row-major tensors along the last dimension; other layouts are converted to
// that and back.
template <class Rows>
void along(int64_t d, const Tensor& in, const Tensor& values, const Tensor& indices, Rows&& rows) {
  if (values.numel() == 0) return;
  if (d == in.dim() - 1 && in.is_contiguous() && values.is_contiguous() && indices.is_contiguous())
    return rows(in, values, indices);
  Tensor v = with_last(values, d), i = with_last(indices, d);
  Tensor plain_v = empty_on_device_of(v, v.sizes(), v.dtype()),
         plain_i = empty_on_device_of(i, i.sizes(), DType::Int64);
  rows(contiguous(with_last(in, d)), plain_v, plain_i);
  copy(v, plain_v);
  copy(i, plain_i);
}

// The first k of each sorted row of at most kShortRow elements.
void sort_short(const Launcher& on, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t length,
                int64_t first, bool descending) {
  const int64_t rows = in.numel() / length;
  constexpr int64_t kBitonic = 256, kDigits = 256;  // up to so many elements; threads of the other kernel
  if (length > kBitonic) {
    const auto each = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(blocks_for(length, kDigits))));
    return on.run(by_digits_kernel, {in.dtype(), each}, {.blocks = rows, .threads = kDigits}, values.data(),
                  indices.data(), in.data(), static_cast<int>(length), static_cast<int>(first), descending);
  }
  const int n = static_cast<int>(length), k = static_cast<int>(first),
            width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(length, 2)))),
            at_once = std::max(1, 512 / width);
  const int64_t key_bytes = in.itemsize() == 8 ? 8 : 4;
  on.run(short_kernel, {in.dtype()},
         {.blocks = blocks_for(rows, at_once),
          .threads = static_cast<unsigned>(std::clamp(width * at_once / 2, 32, 1024)),
          .shared_bytes = static_cast<unsigned>(width * at_once * (key_bytes + 4))},
         values.data(), indices.data(), in.data(), rows, n, k, width, at_once, descending);
}

void sort_rows(const Tensor& in, const Tensor& values, const Tensor& indices, bool descending) {
  Launcher on(in);
  const int64_t n = in.size(-1);
  if (n <= kShortRow) return sort_short(on, values, indices, in, n, n, descending);
  sort_long_rows(on, values, indices, in, n, descending);
}

void sort(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool descending) {
  along(d, in, values, indices,
        [&](const Tensor& from, const Tensor& v, const Tensor& i) { sort_rows(from, v, i, descending); });
}

void topk_rows(const Tensor& in, const Tensor& values, const Tensor& indices, bool largest, bool sorted) {
  Launcher on(in);
  const int64_t n = in.size(-1), k = values.size(-1), rows = in.numel() / n;
  if (n <= kShortRow) return sort_short(on, values, indices, in, n, k, largest);
  if (k == n) return sort_rows(in, values, indices, largest);
  // A few very long rows would keep only a few multiprocessors busy: sorting them whole uses all.
  constexpr int64_t kFewRows = 4, kVeryLong = 1 << 18;
  if (rows <= kFewRows && n >= kVeryLong) {
    Tensor sorted = empty_on_device_of(in, in.sizes(), in.dtype()),
           order = empty_on_device_of(in, in.sizes(), DType::Int64);
    sort_rows(in, sorted, order, largest);
    auto first_of = [&](const Tensor& t) { return alias(t, Dims{rows, k}, Dims{n, 1}, t.storage_offset(), t.dtype()); };
    auto as_rows = [&](const Tensor& t) { return alias(t, Dims{rows, k}, Dims{k, 1}, t.storage_offset(), t.dtype()); };
    copy(as_rows(values), first_of(sorted));
    copy(as_rows(indices), first_of(order));
    return;
  }
  if (!sorted) {
    on.run(select_kernel, {in.dtype()}, {.blocks = rows, .threads = kSelectThreads}, values.data(), indices.data(),
           in.data(), n, k, largest);
    return;
  }
  Tensor chosen = empty_on_device_of(values, values.sizes(), values.dtype()),
         places = empty_on_device_of(indices, indices.sizes(), DType::Int64);
  on.run(select_kernel, {in.dtype()}, {.blocks = rows, .threads = kSelectThreads}, chosen.data(), places.data(),
         in.data(), n, k, largest);
  sort_rows(chosen, values, indices, largest);
  on.run(look_up_kernel, {}, shape_for(rows * k), indices.data(), places.data(), rows * k, k);
}

void topk(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool largest, bool sorted) {
  along(d, in, values, indices,
        [&](const Tensor& from, const Tensor& v, const Tensor& i) { topk_rows(from, v, i, largest, sorted); });
}

void searchsorted(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& sorter, bool right) {
  if (out.numel() == 0) return;
  Launcher on(out);
  const int64_t n = keys.dim() ? keys.size(-1) : 1, per_row = keys.dim() == 1 ? 0 : values.dim() ? values.size(-1) : 1;
  auto raise = [](int64_t, int64_t, int64_t) { UT_FAIL("undertow.searchsorted(): sorter index out of range"); };
  on.run(search_kernel, {keys.dtype(), right}, shape_for(out.numel()), out.data(), keys.data(), values.data(),
         sorter.defined() ? sorter.data() : nullptr, out.numel(), n, per_row, device_error_slot(on.device()),
         reinterpret_cast<int64_t>(static_cast<void (*)(int64_t, int64_t, int64_t)>(raise)));
}

// Small results on the host, after a kernel has changed them.
template <size_t n, class F>
std::array<int64_t, n> changed_on_device(const Tensor& like, std::array<int64_t, n> start, F&& launch) {
  Tensor host = empty(Dims{static_cast<int64_t>(n)}, DType::Int64),
         device = empty_on_device_of(like, host.sizes(), DType::Int64);
  std::copy(start.begin(), start.end(), host.data_as<int64_t>());
  copy_kernels.copy_across(device, host);
  launch(device);
  copy_kernels.copy_across(host, device);
  std::copy_n(host.data_as<int64_t>(), n, start.begin());
  return start;
}

// The inverse of the device's key of a finite double.
double number_of_key(int64_t key) {
  const uint64_t bits = static_cast<uint64_t>(key), sign = uint64_t{1} << 63;
  return std::bit_cast<double>(bits & sign ? bits ^ sign : ~bits);
}

void histc(const Tensor& out, const Tensor& in, double low, double high) {
  Launcher on(in);
  const int64_t n = in.numel(), bins = out.numel();
  if (low == high && n > 0) {
    auto [least, most, infinite] = changed_on_device<3>(in, {-1, 0, 0}, [&](const Tensor& extent) {
      on.run(extent_kernel, {}, shape_for(n), extent.data(), in.data(), n);
    });
    UT_CHECK(!infinite, "undertow.histc: the range of the elements is not finite");
    low = number_of_key(least);
    high = number_of_key(most);
  }
  UT_CHECK(std::isfinite(low) && std::isfinite(high), "undertow.histc: range of [", low, ", ", high, "] is not finite");
  if (low == high) low -= 1, high += 1;
  Tensor counts = empty_on_device_of(in, Dims{bins}, DType::Int64);
  zero(counts);
  if (n) on.run(bins_kernel, {}, shape_for(n), counts.data(), in.data(), n, low, high, bins);
  copy(out, counts);
}

std::pair<int64_t, int64_t> extent(const Tensor& in) {
  if (in.numel() == 0) return {0, 0};
  Launcher on(in);
  auto [least, most] = changed_on_device<2>(in, {0, 0}, [&](const Tensor& extent) {
    on.run(integer_extent_kernel, {}, shape_for(in.numel()), extent.data(), in.data(), in.numel());
  });
  return {least, most};
}

void bincount(const Tensor& out, const Tensor& in, const Tensor& weights) {
  const int64_t n = in.numel();
  if (n == 0) return;
  Launcher on(in);
  if (!weights.defined()) return on.run(count_kernel, {}, shape_for(n), out.data(), in.data(), n);
  Tensor order = order_of_keys(on, alias(in, Dims{n}, Dims{1}, in.storage_offset(), DType::UInt64), 0,
                               std::max<int>(1, std::bit_width(static_cast<uint64_t>(out.numel()))));
  on.run(weights_kernel, {out.dtype()}, shape_for(n), out.data(), in.data(), weights.data(), order.data(), n);
}

void isin(const Tensor& out, const Tensor& in, const Tensor& among, bool invert) {
  if (out.numel() == 0) return;
  Launcher on(out);
  const int64_t n = among.numel();
  Tensor flat = alias(among, Dims{n}, Dims{1}, among.storage_offset(), among.dtype()),
         sorted = empty_on_device_of(among, Dims{n}, among.dtype()),
         indices = empty_on_device_of(among, Dims{n}, DType::Int64);
  if (n) sort_rows(flat, sorted, indices, false);
  on.run(members_kernel, {in.dtype()}, shape_for(out.numel()), out.data(), in.data(), sorted.data(), out.numel(), n,
         invert);
}

}  // namespace

const SortKernels sort_kernels = {
    .sort = sort,
    .topk = topk,
    .searchsorted = searchsorted,
    .histc = histc,
    .extent = extent,
    .bincount = bincount,
    .unique = unique,
    .unique_rows = unique_rows,
    .isin = isin,
};

}  // namespace undertow::core::cuda
