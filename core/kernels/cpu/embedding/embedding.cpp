// embedding.cpp: the CPU's EmbeddingKernels: bags of table rows, and rows scaled down to a norm.
#include "core/kernels/embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/index/index_loops.h"

namespace undertow::core::cpu {

namespace {

void check_bags(const int64_t* at, int64_t n, const int64_t* start, int64_t given, int64_t rows, BagMode mode) {
  if (given) {
    UT_CHECK(start[0] == 0,
             "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
             "However, got ",
             start[0]);
    UT_CHECK(start[given - 1] <= n, "offsets[-1] can not be greater than input's length ", n,
             " but got offsets[-1] of ", start[given - 1]);
  }
  for (int64_t i = 1; i < given; i++)
    UT_CHECK_INDEX(start[i] >= start[i - 1],
                   "index out of range in self: embedding_bag: offsets must not decrease, but offsets[", i, "] is ",
                   start[i]);
  for (int64_t i = 0; i < n; i++) {
    if (at[i] >= 0 && at[i] < rows) continue;
    UT_CHECK(mode != BagMode::Max, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ",
             at[i], ", and num_embeddings is ", rows);
    UT_FAIL("Index ", i, " of input takes value ", at[i], " which is not in the valid range [0, ", rows, ")");
  }
}

// The bags of a float or double table; out is zero on entry.
template <class T>
void sum_bags(const Tensor& out, const BagResults& to, const Tensor& table, const BagOperands& from,
              const Tensor& scales, const EmbeddingBags& how) {
  const int64_t *at = from.indices.data_as<int64_t>(), *start = from.offsets.data_as<int64_t>();
  int64_t n = from.indices.numel(), given = from.offsets.numel(), bags = out.size(0), width = out.size(1);
  const T *p = table.data_as<T>(), *s = scales.defined() ? scales.data_as<T>() : nullptr;
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width * (bags ? n / bags + 1 : 1)));
  parallel_for(0, bags, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      T* o = out.data_as<T>() + b * width;
      int64_t* best = how.mode == BagMode::Max ? to.maxima.data_as<int64_t>() + b * width : nullptr;
      int64_t stop = b + 1 < given ? start[b + 1] : n, count = 0;
      for (int64_t i = start[b]; i < stop; i++) {
        to.bag_of.data_as<int64_t>()[i] = b;
        if (at[i] == how.padding_idx) continue;
        const T* row = p + at[i] * width;
        if (how.mode == BagMode::Max) {
          for (int64_t j = 0; j < width; j++)
            if (count == 0 || row[j] > o[j]) {
              o[j] = row[j];
              best[j] = at[i];
            }
        } else if (s) {
          for (int64_t j = 0; j < width; j++) o[j] += row[j] * s[i];
        } else if constexpr (std::is_same_v<T, float>) {
          index_loops().add_float(o, row, width);
        } else {
          index_loops().add_double(o, row, width);
        }
        count++;
      }
      to.counts.data_as<int64_t>()[b] = count;
      if (how.mode == BagMode::Mean && count > 0)
        for (int64_t j = 0; j < width; j++) o[j] /= static_cast<T>(count);
    }
  });
}

void bags(const BagResults& to, const BagOperands& from, const EmbeddingBags& how) {
  check_bags(from.indices.data_as<int64_t>(), from.indices.numel(), from.offsets.data_as<int64_t>(),
             from.offsets.numel(), from.table.size(0), how.mode);
  DType wide = is_reduced_float(from.table.dtype()) ? DType::Float32 : from.table.dtype();
  Tensor table = contiguous_as(from.table, wide),
         scales = from.scales.defined() ? contiguous_as(from.scales, wide) : Tensor();
  Tensor out = to.out.dtype() == wide ? to.out : empty(to.out.sizes(), wide, kCpu);
  zero(out);
  zero(to.counts);
  zero(to.maxima);
  if (wide == DType::Float32)
    sum_bags<float>(out, to, table, from, scales, how);
  else
    sum_bags<double>(out, to, table, from, scales, how);
  if (!out.is_same(to.out)) copy(to.out, out);
}

template <class T>
void renorm_rows(const Tensor& table, const std::vector<int64_t>& rows, double max_norm, double norm_type) {
  for (int64_t r : rows) {
    T* p = table.data_as<T>() + r * table.stride(0);
    double norm = 0;
    for (int64_t c = 0; c < table.size(1); c++) {
      double v = std::abs(static_cast<double>(static_cast<OpMath<T>>(p[c * table.stride(1)])));
      norm = std::isinf(norm_type) ? std::max(norm, v) : norm + std::pow(v, norm_type);
    }
    if (!std::isinf(norm_type)) norm = std::pow(norm, 1 / norm_type);
    if (norm <= max_norm) continue;
    double scale = max_norm / (norm + 1e-7);
    for (int64_t c = 0; c < table.size(1); c++)
      p[c * table.stride(1)] = T(static_cast<OpMath<T>>(static_cast<OpMath<T>>(p[c * table.stride(1)]) * scale));
  }
}

void renorm(const Tensor& table, const Tensor& indices, double max_norm, double norm_type) {
  std::vector<int64_t> rows(indices.data_as<int64_t>(), indices.data_as<int64_t>() + indices.numel());
  for (int64_t r : rows)
    if (r < 0 || r >= table.size(0))
      UT_FAIL_AS(Index, "index out of range in self: index ", r, " for ", table.size(0), " rows");
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  dispatch(table.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) renorm_rows<T>(table, rows, max_norm, norm_type);
  });
}

}  // namespace

constinit const EmbeddingKernels embedding_kernels = {.bags = bags, .renorm = renorm};

}  // namespace undertow::core::cpu
