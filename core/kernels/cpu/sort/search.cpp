// search.cpp: searches in sorted sequences, and histograms.
#include "core/kernels/cpu/sort/search.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/sort/rank.h"
#include "core/kernels/cpu/sort/searched_keys.h"
#include "core/kernels/cpu/temporary.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

namespace {

struct SearchedKeys;  // scratch

constexpr int64_t kCountGrain = 256 << 10;  // elements counted by one chunk, which has its own bins

}  // namespace

void searchsorted(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& sorter, bool right) {
  bool one_sequence = keys.dim() == 1;
  int64_t n = keys.dim() ? keys.size(-1) : 1, per_row = one_sequence   ? values.numel()
                                                        : values.dim() ? values.size(-1)
                                                                       : 1;
  const int64_t* s = sorter.defined() ? sorter.data_as<int64_t>() : nullptr;
  if (s)
    for (int64_t i = 0; i < sorter.numel(); i++)
      UT_CHECK(s[i] >= 0 && s[i] < n, "undertow.searchsorted(): sorter index out of range");
  dispatch_real(keys.dtype(), "searchsorted_out_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *k = keys.data_as<T>(), *v = values.data_as<T>();
    int64_t* o = out.data_as<int64_t>();
    // Few values do not justify converting the keys.
    if (n <= kFewKeys<KeyOf<T>> && values.numel() >= 32 && 4 * values.numel() >= keys.numel()) {
      Temporary<SearchedKeys, KeyOf<T>> sorted(keys.numel());
      KeyOf<T>* const all = sorted.get();
      if (!s) keys_of_run(k, keys.numel(), KeyOf<T>{0}, all);
      for (int64_t i = 0; s && i < keys.numel(); i++) all[i] = key_of(k[i / n * n + s[i]]);
      parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t row = one_sequence ? 0 : i / per_row;
          const int64_t stop = one_sequence ? end : std::min(end, (row + 1) * per_row);
          rank_values(all + row * n, n, v + i, stop - i, right,
                      [&](int64_t at, KeyOf<T>, int64_t rank) { o[i + at] = rank; });
          i = stop;
        }
      });
      return;
    }
    parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        int64_t row = one_sequence ? 0 : i / per_row * n;
        const int64_t* order = s ? s + row : nullptr;
        o[i] = right ? rank<true>(k + row, order, n, v[i]) : rank<false>(k + row, order, n, v[i]);
      }
    });
  });
}

void histc(const Tensor& out, const Tensor& in, double low, double high) {
  const double* p = in.data_as<double>();
  if (low == high && in.numel() > 0) {
    low = high = p[0];
    for (int64_t i = 0; i < in.numel(); i++) {
      UT_CHECK(std::isfinite(p[i]), "undertow.histc: range of [", low, ", ", p[i], "] is not finite");
      low = std::min(low, p[i]);
      high = std::max(high, p[i]);
    }
  }
  UT_CHECK(std::isfinite(low) && std::isfinite(high), "undertow.histc: range of [", low, ", ", high, "] is not finite");
  if (low == high) low -= 1, high += 1;
  const int64_t bins = out.numel();
  std::vector<int64_t> count(static_cast<size_t>(bins));
  for (int64_t i = 0; i < in.numel(); i++) {
    if (!(p[i] >= low && p[i] <= high)) continue;
    int64_t at = static_cast<int64_t>((p[i] - low) / (high - low) * static_cast<double>(bins));
    count[static_cast<size_t>(std::min(at, bins - 1))]++;
  }
  for (int64_t i = 0; i < bins; i++) out.data_as<double>()[i] = static_cast<double>(count[static_cast<size_t>(i)]);
}

std::pair<int64_t, int64_t> extent(const Tensor& in) {
  const int64_t* p = in.data_as<int64_t>();
  const int64_t numel = in.numel();
  std::vector<std::pair<int64_t, int64_t>> extents(static_cast<size_t>((numel + kCountGrain - 1) / kCountGrain));
  parallel_for(0, numel, kCountGrain, [&](int64_t begin, int64_t end) {
    int64_t low = 0, high = 0;
    for (int64_t i = begin; i < end; i++) high = std::max(high, p[i]), low = std::min(low, p[i]);
    extents[static_cast<size_t>(begin / kCountGrain)] = {low, high};
  });
  int64_t most = 0, least = 0;
  for (auto [low, high] : extents) least = std::min(least, low), most = std::max(most, high);
  return {least, most};
}

namespace {
template <class T>
void add_weights(const Tensor& out, const Tensor& in, const Tensor& weights) {
  const int64_t* p = in.data_as<int64_t>();
  for (int64_t i = 0; i < in.numel(); i++) out.data_as<T>()[p[i]] += weights.data_as<T>()[i];
}
}  // namespace

void bincount(const Tensor& out, const Tensor& in, const Tensor& weights) {
  if (weights.defined())
    return out.dtype() == DType::Float32 ? add_weights<float>(out, in, weights) : add_weights<double>(out, in, weights);
  const int64_t* p = in.data_as<int64_t>();
  const int64_t numel = in.numel(), n = out.numel();
  int64_t* total = out.data_as<int64_t>();
  if (n > kCountGrain / 4) {
    for (int64_t i = 0; i < numel; i++) total[p[i]]++;
    return;
  }
  // Few bins: every chunk has its own, in four copies, because consecutive increments of one counter wait for each
  // other.
  std::mutex sums;  // guards total
  parallel_for(0, numel, kCountGrain, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> mine(static_cast<size_t>(4 * n));
    int32_t *a = mine.data(), *b = a + n, *c = b + n, *d = c + n;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) a[p[i]]++, b[p[i + 1]]++, c[p[i + 2]]++, d[p[i + 3]]++;
    for (; i < end; i++) a[p[i]]++;
    std::lock_guard lock(sums);
    for (int64_t k = 0; k < n; k++) total[k] += int64_t{a[k]} + b[k] + c[k] + d[k];
  });
}

}  // namespace undertow::core::cpu
