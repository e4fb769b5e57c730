// order.cpp: see order.h. Launches of radix.cuh and short_rows.cuh.
#include "core/kernels/cuda/sort/order.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/sort/radix_params.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate radix_count("sort/radix.cuh", "radix_count");
KernelTemplate radix_add_up("sort/radix.cuh", "radix_add_up<>");
KernelTemplate radix_move("sort/radix.cuh", "radix_move");
KernelTemplate sort_short_keys("sort/short_rows.cuh", "sort_short_keys");

constexpr unsigned kDigits = 256;  // and threads; as in radix.cuh
constexpr int kDigitBits = 8;
constexpr int64_t kTile = kDigits * 8;
constexpr int64_t kMostBlocks = 1024;

}  // namespace

Tensor order_of_keys(const Launcher& on, const Tensor& keys, int first_bit, int end_bit, int64_t row_length) {
  const int64_t n = keys.numel();
  UT_CHECK(n < int64_t{1} << 32, "sort: a CUDA tensor of ", n, " elements is too large");
  Tensor order = empty_on_device_of(keys, Dims{n}, DType::UInt32);
  if (n == 0) return order;
  const DType t = keys.dtype();
  if (n <= kShortRow && row_length == 0) {
    const int count = static_cast<int>(n), width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(n)));
    on.run(sort_short_keys, {t},
           {.threads = static_cast<unsigned>(std::clamp(width / 2, 32, 1024)),
            .shared_bytes = static_cast<unsigned>(width * (keys.itemsize() + 4))},
           order.data(), keys.data(), count, width);
    return order;
  }
  const int64_t tiles = blocks_for(n, kTile), blocks = std::min(tiles, kMostBlocks),
                per_block = blocks_for(tiles, blocks) * kTile;
  const int block_count = static_cast<int>(blocks);
  Tensor counts = empty_on_device_of(keys, Dims{int64_t{kDigits}, blocks}, DType::UInt32),
         totals = empty_on_device_of(keys, Dims{int64_t{kDigits}}, DType::UInt32);
  Tensor keys_now = keys, keys_next = empty_on_device_of(keys, Dims{n}, t), order_now, order_next = order;
  auto pass = [&](int shift, int64_t rows_of) {
    const RadixPass p{n, per_block, rows_of, shift};
    char* positions = order_now.defined() ? order_now.data() : nullptr;
    if (!order_next.defined()) order_next = empty_on_device_of(keys, Dims{n}, DType::UInt32);
    if (!keys_next.defined()) keys_next = empty_on_device_of(keys, Dims{n}, t);
    on.run(radix_count, {t}, {.blocks = blocks, .threads = kDigits}, counts.data(), keys_now.data(), positions, p);
    on.run(radix_add_up, {}, {.blocks = kDigits, .threads = kDigits}, counts.data(), totals.data(), block_count);
    on.run(radix_move, {t}, {.blocks = blocks, .threads = kDigits}, keys_next.data(), order_next.data(),
           keys_now.data(), positions, counts.data(), totals.data(), p);
    // The caller's keys are not written.
    std::swap(keys_now, keys_next);
    if (keys_next.is_same(keys)) keys_next = Tensor();
    std::swap(order_now, order_next);
  };
  for (int bit = first_bit; bit < end_bit; bit += kDigitBits) pass(bit, 0);
  if (row_length) {
    const uint64_t rows = static_cast<uint64_t>(n / row_length);
    for (int bit = 0; (rows - 1) >> bit; bit += kDigitBits) pass(bit, row_length);
  }
  return order_now;
}

}  // namespace undertow::core::cuda
