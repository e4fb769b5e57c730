// embedding.cpp: bags of table rows: sums, means and maxima; and the forward half of torch's checks of them.
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/index/index_kernels.h"
#include "core/tensor/layout.h"
#include "generated/fwd_embedding.h"

namespace undertow::fwd {

namespace {
enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

Tensor whole_numbers(const Tensor& t, const char* what) {
  UT_CHECK(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, "Expected tensor for argument #1 '", what,
           "' to have one of the following scalar types: Long, Int; but got ", long_name(t.dtype()),
           " instead (while checking arguments for embedding_bag)");
  UT_CHECK(t.dim() == 1, "embedding_bag: expected ", what, " of one dimension, got ", t.dim());
  return contiguous(to_dtype(t, DType::Int64));
}
}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(const Tensor& weight, const Tensor& indices,
                                                          const Tensor& offsets, bool, int64_t mode,
                                                          const Tensor& scales, bool last, int64_t padding_idx) {
  UT_CHECK(weight.dim() == 2, "embedding_bag: expected a weight of two dimensions, got ", weight.dim());
  UT_CHECK(is_floating(weight.dtype()), "\"embedding_bag\" not implemented for '", long_name(weight.dtype()), "'");
  UT_CHECK(!scales.defined() || scales.dtype() == weight.dtype(),
           "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 ",
           "'per_sample_weights'; but type ", long_name(weight.dtype()), " does not equal ",
           long_name(scales.defined() ? scales.dtype() : weight.dtype()),
           " (while checking arguments for embedding_bag)");
  UT_CHECK(!scales.defined() || (mode == kSum && same(scales.sizes(), indices.sizes())),
           "embedding_bag: per_sample_weights must have the shape of the indices, and mode must be sum");
  Tensor index = whole_numbers(indices, "indices"), starts = whole_numbers(offsets, "offsets");
  int64_t n = index.numel(), given = starts.numel(), rows = weight.size(0), width = weight.size(1);
  UT_CHECK(!last || given >= 1, "include_last_offset: number of offsets should be at least 1");
  const int64_t *at = index.data_as<int64_t>(), *start = starts.data_as<int64_t>();
  if (given) {
    UT_CHECK(start[0] == 0,
             "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
             "However, got ",
             start[0]);
    UT_CHECK(start[given - 1] <= n, "offsets[-1] can not be greater than input's length ", n,
             " but got offsets[-1] of ", start[given - 1]);
  }
  for (int64_t i = 1; i < given; i++)
    UT_CHECK(start[i] >= start[i - 1], "embedding_bag: offsets must not decrease, but offsets[", i, "] is ", start[i]);
  for (int64_t i = 0; i < n; i++)
    UT_CHECK(at[i] >= 0 && at[i] < rows, "embedding_bag: index ", at[i], " is out of range for a table of ", rows,
             " rows");
  int64_t bags = given - (last ? 1 : 0);
  DType wide = is_reduced_float(weight.dtype()) ? DType::Float32 : weight.dtype();
  Tensor table = contiguous(to_dtype(weight, wide)),
         scale = scales.defined() ? contiguous(to_dtype(scales, wide)) : Tensor();
  const int64_t out_sizes[2] = {bags, width}, none = 0;
  Tensor out = zeros(IntSpan(out_sizes, 2), wide), bag_of = empty(IntSpan(&n, 1), DType::Int64),
         counts = zeros(IntSpan(&bags, 1), DType::Int64);
  Tensor maxima = mode == kMax ? zeros(IntSpan(out_sizes, 2), DType::Int64) : empty(IntSpan(&none, 1), DType::Int64);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *p = table.data_as<T>(), *s = scale.defined() ? scale.data_as<T>() : nullptr;
    int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width * (bags ? n / bags + 1 : 1)));
    parallel_for(0, bags, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; b++) {
        T* o = out.data_as<T>() + b * width;
        int64_t* best = mode == kMax ? maxima.data_as<int64_t>() + b * width : nullptr;
        int64_t stop = b + 1 < given ? start[b + 1] : n, count = 0;
        for (int64_t i = start[b]; i < stop; i++) {
          bag_of.data_as<int64_t>()[i] = b;
          if (at[i] == padding_idx) continue;
          const T* row = p + at[i] * width;
          if (mode == kMax) {
            for (int64_t j = 0; j < width; j++)
              if (count == 0 || row[j] > o[j]) {
                o[j] = row[j];
                best[j] = at[i];
              }
          } else if (s) {
            for (int64_t j = 0; j < width; j++) o[j] += row[j] * s[i];
          } else if constexpr (std::is_same_v<T, float>) {
            cpu::index_kernels().add_float(o, row, width);
          } else {
            cpu::index_kernels().add_double(o, row, width);
          }
          count++;
        }
        counts.data_as<int64_t>()[b] = count;
        if (mode == kMean && count > 0)
          for (int64_t j = 0; j < width; j++) o[j] /= static_cast<T>(count);
      }
    });
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return {to_dtype(out, weight.dtype()), bag_of, counts, maxima};
}

}  // namespace undertow::fwd
