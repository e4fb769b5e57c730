// order.cpp: see order.h. Launches of radix.cuh and short_rows.cuh.
//
// n keys of w bytes with positions are sorted in passes of 8 bits. A pass reads and writes n * (w + 4) bytes; the first
// reads no positions, the last writes indices of 8 bytes; counting reads n * w. 10 million floats: 680 MB, 4 passes, 6
// launches and a fill.
#include "core/kernels/cuda/sort/order.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/sort/radix_params.h"

namespace undertow::core::cuda {

namespace {

using undertow::RadixPass;

KernelTemplate radix_count("sort/radix.cuh", "radix_count");
KernelTemplate radix_count_rows("sort/radix.cuh", "radix_count_rows<>");
KernelTemplate radix_sweep("sort/radix.cuh", "radix_sweep");
KernelTemplate sort_short_keys("sort/short_rows.cuh", "sort_short_keys");

constexpr unsigned kDigits = 256;  // and threads; as in digits.cuh
constexpr int kDigitBits = 8;
constexpr int64_t kTile = int64_t{kDigits} * undertow::kRadixEach;

// What is sorted by which bits, and what is wanted of it: outputs that are not have no data.
struct RadixSort {
  Tensor in;
  int64_t row_length;  // of rows that are sorted separately
  int first_bit, end_bit;
  bool descending;
  char *values, *order, *indices;
};

void run_sort(const Launcher& on, const RadixSort& s) {
  const int64_t n = s.in.numel(), tiles = blocks_for(n, kTile);
  UT_CHECK(n < int64_t{1} << 32, "sort: a CUDA tensor of ", n, " elements is too large");
  const DType t = s.in.dtype();
  const auto rows = static_cast<uint32_t>(n / s.row_length), row_length = static_cast<uint32_t>(s.row_length);
  const int key_passes = std::max(1, (s.end_bit - s.first_bit + kDigitBits - 1) / kDigitBits),
            row_passes = (std::bit_width(rows - 1) + kDigitBits - 1) / kDigitBits, passes = key_passes + row_passes;
  // Counts of digits, a ticket per pass, and the words of tiles: see Note [Looking Back].
  const int64_t counts_bytes = passes * int64_t{kDigits} * 4, tickets_bytes = (passes + 1) / 2 * 8;
  Tensor shared = empty_on_device_of(s.in, Dims{counts_bytes + tickets_bytes + tiles * kDigits * 8}, DType::UInt8);
  zero(shared);
  char *counts = shared.data(), *tickets = counts + counts_bytes, *words = tickets + tickets_bytes;
  on.run(radix_count, {t},
         {.blocks = std::min<int64_t>(blocks_for(n, kTile), int64_t{8} * on.multiprocessors()), .threads = kDigits},
         counts, s.in.data(), n, s.first_bit, key_passes, s.descending);
  if (row_passes)
    on.run(radix_count_rows, {}, {.blocks = row_passes, .threads = kDigits}, counts + key_passes * int64_t{kDigits} * 4,
           rows, row_length);

  Tensor elements[2], positions[2];  // between passes
  auto buffer = [&](Tensor(&pair)[2], int pass, DType dtype) {
    Tensor& b = pair[pass % 2];
    if (!b.defined()) b = empty_on_device_of(s.in, Dims{n}, dtype);
    return b.data();
  };
  const char *elements_now = s.in.data(), *positions_now = nullptr;
  for (int p = 0; p < passes; p++) {
    const bool last = p == passes - 1, by_row = p >= key_passes;
    const bool keys_are_used = s.values || p < key_passes - 1;
    char* elements_to = last ? s.values : keys_are_used ? buffer(elements, p, t) : nullptr;
    char* positions_to = last ? s.order : buffer(positions, p, DType::UInt32);
    const int shift = by_row ? (p - key_passes) * kDigitBits : s.first_bit + p * kDigitBits;
    on.run(radix_sweep, {t, by_row}, {.blocks = tiles, .threads = kDigits}, elements_to, positions_to,
           last ? s.indices : nullptr, elements_now, positions_now, counts + p * int64_t{kDigits} * 4,
           tickets + p * int64_t{4}, words, RadixPass{n, row_length, shift, p, s.descending});
    elements_now = elements_to;
    positions_now = positions_to;
  }
}

}  // namespace

Tensor order_of_keys(const Launcher& on, const Tensor& keys, int first_bit, int end_bit) {
  const int64_t n = keys.numel();
  Tensor order = empty_on_device_of(keys, Dims{n}, DType::UInt32);
  if (n == 0) return order;
  if (n <= kShortRow) {
    const int count = static_cast<int>(n), width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(n)));
    on.run(sort_short_keys, {keys.dtype()},
           {.threads = static_cast<unsigned>(std::clamp(width / 2, 32, 1024)),
            .shared_bytes = static_cast<unsigned>(width * (keys.itemsize() + 4))},
           order.data(), keys.data(), count, width);
    return order;
  }
  run_sort(on, {keys, n, first_bit, end_bit, false, nullptr, order.data(), nullptr});
  return order;
}

void sort_long_rows(const Launcher& on, const Tensor& values, const Tensor& indices, const Tensor& in, int64_t n,
                    bool descending) {
  run_sort(on, {in, n, 0, static_cast<int>(in.itemsize()) * 8, descending, values.data(), nullptr, indices.data()});
}

}  // namespace undertow::core::cuda
