// embedding.h: kernels on rows of a table selected by int64 indices.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

enum class BagMode : int64_t { Sum = 0, Mean = 1, Max = 2 };

struct EmbeddingBags {
  BagMode mode;
  bool last_offset;     // the last offset is the end of the last bag, not the start of another one
  int64_t padding_idx;  // an index to skip; -1 for none
};

// The inputs, all row-major: out[b] reduces the table's rows at indices[offsets[b]] up to the next offset.
struct BagOperands {
  Tensor table, indices, offsets;
  Tensor scales;  // one per index, or undefined
};
struct BagResults {
  Tensor out;     // (bags, width), in the table's dtype
  Tensor bag_of;  // the bag of each index
  Tensor counts;  // the number of indices in each bag, without skipped ones
  Tensor maxima;  // for BagMode::Max: the table row each element of out was taken from
};

struct EmbeddingKernels {
  // Raises for an index out of range, and for offsets that do not start at 0, decrease, or exceed the number of
  // indices.
  Kernel<"embedding_bag", void(const BagResults& to, const BagOperands& from, const EmbeddingBags& bags)> bags;
  // Scales rows whose norm exceeds max_norm down to it; indices are row-major. Raises for an index out of range.
  Kernel<"embedding_renorm_", void(const Tensor& table, const Tensor& indices, double max_norm, double norm_type)>
      renorm;
};

}  // namespace undertow::core
