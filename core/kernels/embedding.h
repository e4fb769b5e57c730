// embedding.h: kernels on rows of a table that are named by int64 indices.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

enum class BagMode : int64_t { Sum = 0, Mean = 1, Max = 2 };

struct EmbeddingBags {
  BagMode mode;
  bool last_offset;     // the last offset is an end, and not the start of another bag
  int64_t padding_idx;  // an index that is left out; -1 for none
};

// What bags are made of, all row-major: out[b] is made of the table's rows at indices[offsets[b]] up to the next
// offset.
struct BagOperands {
  Tensor table, indices, offsets;
  Tensor scales;  // one for each index, or undefined
};
struct BagResults {
  Tensor out;     // (bags, width), of the table's dtype
  Tensor bag_of;  // for each index, its bag
  Tensor counts;  // for each bag, how many indices it has that are not left out
  Tensor maxima;  // for BagMode::Max: for each element of out, the row it was taken from
};

struct EmbeddingKernels {
  // Raises for an index outside, and for offsets that do not start at 0, decrease, or pass the end.
  Kernel<"embedding_bag", void(const BagResults& to, const BagOperands& from, const EmbeddingBags& bags)> bags;
  // Rows whose norm is more than max_norm are scaled down to it; indices are row-major. Raises for one outside.
  Kernel<"embedding_renorm_", void(const Tensor& table, const Tensor& indices, double max_norm, double norm_type)>
      renorm;
};

}  // namespace undertow
