// embedding.cpp: see embedding.h. Launches of embedding.cuh.
#include "core/kernels/cuda/embedding/embedding.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/embedding/embedding_params.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/cuda/sort/order.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate bags_kernel("embedding/embedding.cuh", "reduce_bags");
KernelTemplate renorm_kernel("embedding/embedding.cuh", "renorm_rows");

void raise_bad_index(int64_t at, int64_t index, int64_t rows) {
  UT_FAIL("Index ", at, " of input takes value ", index, " which is not in the valid range [0, ", rows, ")");
}
void raise_bad_offset(int64_t bag, int64_t first, int64_t last) {
  UT_CHECK(bag != 0 || first == 0,
           "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
           "got ",
           first);
  UT_CHECK_INDEX(last >= first, "index out of range in self: embedding_bag: offsets must not decrease, but offsets[",
                 bag + 1, "] is ", last);
  UT_FAIL("offsets[-1] can not be greater than input's length but got offsets[-1] of ", last);
}
void raise_bad_row(int64_t row, int64_t rows, int64_t) {
  UT_FAIL_AS(Index, "index out of range in self: index ", row, " for ", rows, " rows");
}

// Names of the device's enum BagMode.
const char* name_of(BagMode mode) {
  static constexpr const char* kNames[] = {"SumOfBag", "MeanOfBag", "MaxOfBag"};
  return kNames[static_cast<size_t>(mode)];
}

void bags(const BagResults& to, const BagOperands& from, const EmbeddingBags& how) {
  Launcher on(from.table);
  const int64_t bags = to.out.size(0), width = to.out.size(1);
  zero(to.maxima);
  if (bags == 0) return;
  const BagParams a{to.bag_of.data_as<int64_t>(),
                    to.counts.data_as<int64_t>(),
                    how.mode == BagMode::Max ? to.maxima.data_as<int64_t>() : nullptr,
                    from.indices.data_as<int64_t>(),
                    from.offsets.data_as<int64_t>(),
                    from.indices.numel(),
                    from.offsets.numel(),
                    bags,
                    from.table.size(0),
                    width,
                    how.padding_idx,
                    device_error_slot(on.device()),
                    reinterpret_cast<int64_t>(raise_bad_index),
                    reinterpret_cast<int64_t>(raise_bad_offset)};
  on.run(bags_kernel, {from.table.dtype(), name_of(how.mode)},
         {.blocks = bags, .threads = static_cast<unsigned>(std::clamp<int64_t>((width + 31) / 32 * 32, 32, 256))},
         to.out.data(), from.table.data(), from.scales.defined() ? from.scales.data() : nullptr, a);
}

void renorm(const Tensor& table, const Tensor& indices, double max_norm, double norm_type) {
  const int64_t n = indices.numel();
  if (n == 0) return;
  Launcher on(table);
  Tensor keys = alias(indices, Dims{n}, Dims{1}, indices.storage_offset(), DType::UInt64);
  Tensor order = order_of_keys(on, keys, 0, 64);
  on.run(renorm_kernel, {table.dtype()}, {.blocks = blocks_for(n, 4), .threads = 128}, table.data(), indices.data(),
         order.data(), n, table.size(0), table.size(1), table.stride(0), table.stride(1), max_norm, norm_type,
         device_error_slot(on.device()), reinterpret_cast<int64_t>(raise_bad_row));
}

}  // namespace

const EmbeddingKernels embedding_kernels = {.bags = bags, .renorm = renorm};

}  // namespace undertow::core::cuda
