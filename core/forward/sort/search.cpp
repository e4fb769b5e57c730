// search.cpp: searching sorted sequences, and histograms.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/lines.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_sort.h"

namespace undertow::fwd {

namespace {

constexpr int64_t kCountGrain = 256 << 10;  // elements counted by one chunk, which has bins of its own

bool is_right(bool right, const std::optional<std::string_view>& side) {
  if (!side) return right;
  UT_CHECK(*side == "left" || *side == "right", "undertow.searchsorted(): side can only be 'left' or 'right' but got ",
           *side);
  UT_CHECK(!right || *side == "right",
           "undertow.searchsorted(): side and right can't be set to opposites, got side of ", *side,
           " while right was True");
  return *side == "right";
}

// NaN counts as greater than every number. Without a branch: where a search goes is as good as random.
template <class T>
bool less_without_branch(T a, T b) {
  auto x = static_cast<OpMath<T>>(a), y = static_cast<OpMath<T>>(b);
  if constexpr (std::is_integral_v<T>)
    return x < y;
  else
    return static_cast<int>(x < y) | (static_cast<int>(y != y) & static_cast<int>(x == x));
}

// How many of the n sorted keys (reached through `sorter` if given) come before v.
template <bool right, class T>
int64_t rank(const T* keys, const int64_t* sorter, int64_t n, T v) {
  int64_t low = 0;
  for (int64_t length = n; length > 0;) {
    int64_t half = length / 2, mid = low + half;
    T key = keys[sorter ? sorter[mid] : mid];
    int64_t before = right ? !less_without_branch<T>(v, key) : less_without_branch<T>(key, v);
    low += (half + 1) & -before;
    length = half - (before & ~length & 1);  // behind the middle there is one less, if their number is even
  }
  return low;
}

Tensor search(const Tensor& sequence, const Tensor& values, bool out_int32, bool right, const Tensor& sorter) {
  UT_CHECK_AS(NotImplemented, !sequence.is_complex() && sequence.dtype() != DType::Bool,
              "\"searchsorted_out_cpu\" not implemented for '", long_name(sequence.dtype()), "'");
  bool one_sequence = sequence.dim() == 1;
  DType t = sequence.dtype();
  Tensor keys = contiguous(sequence), in = contiguous(values.dtype() == t ? values : to_dtype(values, t));
  Tensor by = sorter.defined() ? contiguous(sorter) : Tensor();
  Tensor out = empty(values.sizes(), DType::Int64);
  int64_t n = keys.dim() ? keys.size(-1) : 1, per_row = one_sequence ? in.numel() : in.dim() ? in.size(-1) : 1;
  dispatch_real(t, "searchsorted_out_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *k = keys.data_as<T>(), *v = in.data_as<T>();
    const int64_t* s = by.defined() ? by.data_as<int64_t>() : nullptr;
    int64_t* o = out.data_as<int64_t>();
    parallel_for(0, in.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        int64_t row = one_sequence ? 0 : i / per_row * n;
        const int64_t* order = s ? s + row : nullptr;
        o[i] = right ? rank<true>(k + row, order, n, v[i]) : rank<false>(k + row, order, n, v[i]);
      }
    });
  });
  return out_int32 ? to_dtype(out, DType::Int32) : out;
}

void check_search(const Tensor& sequence, IntSpan sizes, bool is_number, const Tensor& sorter) {
  constexpr const char* who = "undertow.searchsorted(): ";
  UT_CHECK(sequence.dim() != 0, who, "boundaries tensor should have positive dimension, but got 0 dimension");
  UT_CHECK(!is_number || sequence.dim() == 1, who,
           "input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(",
           sequence.dim(), ") and input value's dim(0) numel(1)");
  bool match = sequence.dim() == 1 || sizes.size() == sequence.sizes().size();
  for (size_t d = 0; match && sequence.dim() > 1 && d + 1 < sizes.size(); d++) match = sizes[d] == sequence.sizes()[d];
  UT_CHECK(match, who,
           "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value "
           "tensor must match, but we got boundaries tensor ",
           ShapeText{sequence.sizes()}, " and input value tensor ", ShapeText{sizes});
  if (!sorter.defined()) return;
  UT_CHECK(same(sorter.sizes(), sequence.sizes()), who,
           "boundary and sorter must have the same size, but got boundary tensor ", ShapeText{sequence.sizes()},
           "and got sorter tensor ", ShapeText{sorter.sizes()});
  UT_CHECK(sorter.dtype() == DType::Int64, who, "sorter must be a tensor of long dtype but got dtype ",
           long_name(sorter.dtype()));
  Tensor s = contiguous(sorter);
  for (int64_t i = 0; i < s.numel(); i++)
    UT_CHECK(s.data_as<int64_t>()[i] >= 0 && s.data_as<int64_t>()[i] < sequence.size(-1), who,
             "sorter index out of range");
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  bool r = is_right(right, side);
  check_search(sorted_sequence, self.sizes(), self.dim() == 0 && self.numel() == 1, sorter);
  DType wide = promote_types(sorted_sequence.dtype(), self.dtype());
  return search(to_dtype(sorted_sequence, wide), to_dtype(self, wide), out_int32, r, sorter);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  bool r = is_right(right, side);
  check_search(sorted_sequence, {}, true, sorter);
  DType wide = promote_types(sorted_sequence.dtype(), scalar_dtype(self));
  return search(to_dtype(sorted_sequence, wide), full({}, self, wide), out_int32, r, sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  UT_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  DType t = result_type(boundaries, self);
  return search(to_dtype(boundaries, t), to_dtype(self, t), out_int32, right, {});
}
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  UT_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  DType t = promote_types(boundaries.dtype(), scalar_dtype(self));
  return search(to_dtype(boundaries, t), full({}, self, t), out_int32, right, {});
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  UT_CHECK(bins > 0, "undertow.histc(): bins must be > 0, but got ", bins);
  UT_CHECK_AS(NotImplemented,
              self.dtype() == DType::Float32 || self.dtype() == DType::Float64 || is_reduced_float(self.dtype()),
              "\"histogram_cpu\" not implemented for '", long_name(self.dtype()), "'");
  double low = min.to_double(), high = max.to_double();
  Tensor in = contiguous(to_dtype(self, DType::Float64));
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
  UT_CHECK(low < high, "undertow.histc: max must be larger than min");
  std::vector<int64_t> count(static_cast<size_t>(bins));
  for (int64_t i = 0; i < in.numel(); i++) {
    if (!(p[i] >= low && p[i] <= high)) continue;
    int64_t at = static_cast<int64_t>((p[i] - low) / (high - low) * static_cast<double>(bins));
    count[static_cast<size_t>(std::min(at, bins - 1))]++;
  }
  Tensor out = empty(IntSpan(&bins, 1), DType::Float64);
  for (int64_t i = 0; i < bins; i++) out.data_as<double>()[i] = static_cast<double>(count[static_cast<size_t>(i)]);
  return to_dtype(out, self.dtype());
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  UT_CHECK_AS(NotImplemented, is_integral(self.dtype()) && self.dtype() != DType::Bool,
              "\"bincount_cpu\" not implemented for '", long_name(self.dtype()), "'");
  UT_CHECK(minlength >= 0, "minlength should be >= 0");
  bool weighted = weights.defined() && weights.numel() > 0;
  if (self.dim() == 1 && self.numel() == 0) return zeros(IntSpan(&minlength, 1), DType::Int64);
  Tensor in = contiguous(to_dtype(self, DType::Int64));
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
  UT_CHECK(self.dim() == 1 && least >= 0, "bincount only supports 1-d non-negative integral inputs.");
  UT_CHECK(!weights.defined() || (weights.dim() == 1 && weights.size(0) == self.size(0)),
           "weights should be 1-d and have the same length as input");
  int64_t n = std::max(most + 1, minlength);
  if (!weighted) {
    Tensor out = zeros(IntSpan(&n, 1), DType::Int64);
    int64_t* total = out.data_as<int64_t>();
    if (n > kCountGrain / 4) {
      for (int64_t i = 0; i < numel; i++) total[p[i]]++;
      return out;
    }
    // Few bins: every chunk has its own, in four copies, because one count waits for the one before it.
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
    return out;
  }
  auto add = [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor w = contiguous(to_dtype(weights, DTypeOf<T>::value)), out = zeros(IntSpan(&n, 1), DTypeOf<T>::value);
    for (int64_t i = 0; i < in.numel(); i++) out.template data_as<T>()[p[i]] += w.template data_as<T>()[i];
    return out;
  };
  return weights.dtype() == DType::Float32 ? add(TypeTag<float>{}) : add(TypeTag<double>{});
}

}  // namespace undertow::fwd
