// batch.h: iterates over a batch of matrices.
#pragma once
#include "core/base/parallel.h"
#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

// The number of matrices in the last two dimensions.
inline int64_t batch_count(const Tensor& t) { return product(t.sizes().first(static_cast<size_t>(t.dim() - 2))); }
// A leading dimension is at least one, even for matrices without rows.
inline int64_t lead(int64_t rows) { return std::max<int64_t>(1, rows); }

// Calls f(i) for every matrix of a batch; `cost` is the approximate number of operations for one, without a fixed
// overhead.
template <class F>
void for_each_matrix(int64_t count, int64_t cost, F&& f) {
  constexpr int64_t kBegin = 256;
  parallel_for(0, count, std::max<int64_t>(1, 65536 / (cost + kBegin)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) f(i);
  });
}

}  // namespace undertow::core::cpu
