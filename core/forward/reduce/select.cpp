// select.cpp: reductions that pick an element and say where it was: max, min, argmax, median, kthvalue, mode.
#include <algorithm>
#include <numeric>

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/lines.h"
#include "core/forward/reduce/plan.h"
#include "core/forward/sort/keys.h"
#include "core/kernels/cpu/reduce/reduce_index.h"
#include "generated/fwd_reduce.h"

namespace undertow::fwd {

Tensor drop_dim(const Tensor& t, int64_t d, bool keepdim, int64_t ndim) {
  if (keepdim && ndim) return t;
  Dims sizes(t.sizes()), strides(t.strides());
  sizes.erase(static_cast<size_t>(d));
  strides.erase(static_cast<size_t>(d));
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset(), t.dtype());
}

namespace {

using Picked = std::tuple<Tensor, Tensor>;

// Where along d the value of `values` (d kept, of size one) stands first in `in`.
Tensor first_index(const Tensor& in, const Tensor& values, int64_t d) {
  Tensor plain = contiguous(in), at = empty(values.sizes(), DType::Int64);
  int64_t outer = 1, n = plain.size(d), inner = 1;
  for (int64_t k = 0; k < d; k++) outer *= plain.size(k);
  for (int64_t k = d + 1; k < plain.dim(); k++) inner *= plain.size(k);
  auto find = cpu::find_fn(plain.dtype());
  int64_t slab = n * inner, grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, slab));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    int64_t w = plain.itemsize();
    for (int64_t o = begin; o < end; o++)
      find(plain.data() + o * slab * w, values.data() + o * inner * w, n, inner, at.data_as<int64_t>() + o * inner);
  });
  return at;
}

Picked extremum(Fold op, const Tensor& self, int64_t dim, bool keepdim, const char* name) {
  UT_CHECK(!self.is_complex(), name, "(): does not support complex input");
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, name);
  Tensor in = at_least_1d(self);
  Tensor values = fold(op, in, uint64_t{1} << d, true, name);
  return {drop_dim(values, d, keepdim, self.dim()), drop_dim(first_index(in, values, d), d, keepdim, self.dim())};
}

Tensor arg_extremum(Fold op, const Tensor& self, std::optional<int64_t> dim, bool keepdim, const char* name) {
  UT_CHECK(!self.is_complex(), name, "(): does not support complex input");
  UT_CHECK(self.dtype() != DType::Bool, name, "(): does not support bool input");
  if (dim) {
    check_nonempty_dim(self, wrap_dim(*dim, self.dim()), name);
    return std::get<1>(extremum(op, self, *dim, keepdim, name));
  }
  UT_CHECK_INDEX(self.numel() != 0, name, "(): Expected reduction dim to be specified for input.numel() == 0.");
  Tensor plain = contiguous(self);
  int64_t n = self.numel(), one = 1;
  Tensor flat = alias(plain, IntSpan(&n, 1), IntSpan(&one, 1), plain.storage_offset(), plain.dtype());
  Tensor at = std::get<1>(extremum(op, flat, 0, false, name));
  if (!keepdim) return at;
  Dims ones(static_cast<size_t>(self.dim()), 1);
  return alias(at, ones, ones, 0, DType::Int64);
}

void check_ordered(const Tensor& self, const char* kernel) {
  UT_CHECK_AS(NotImplemented, !self.is_complex() && self.dtype() != DType::Bool, "\"", kernel,
              "\" not implemented for '", long_name(self.dtype()), "'");
}

// One value and index per line along dim: pick(line, n, value&, index&).
template <class Pick>
Picked per_line(const Tensor& self, int64_t dim, bool keepdim, const char* name, const char* kernel, Pick&& pick) {
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, name);
  Tensor in = at_least_1d(self);
  Dims sizes(in.sizes());
  sizes[static_cast<size_t>(d)] = 1;
  Tensor values = empty(sizes, in.dtype()), indices = empty(sizes, DType::Int64);
  int64_t n = in.size(d);
  if (values.numel())
    dispatch_real(in.dtype(), kernel, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
        pick(line<T>(p[0], in, d), n, *reinterpret_cast<T*>(p[1]), *reinterpret_cast<int64_t*>(p[2]));
      });
    });
  return {drop_dim(values, d, keepdim, self.dim()), drop_dim(indices, d, keepdim, self.dim())};
}

Picked median_along(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan, const char* name) {
  check_ordered(self, "median_out");
  return per_line(self, dim, keepdim, name, name, [&]<class T>(const Line<T>& x, int64_t n, T& value, int64_t& index) {
    LineKeys<T> line(x, n, false);
    const KeyOf<T>* keys = line.get();
    int64_t numbers = n;
    if constexpr (!std::is_integral_v<T>) {
      constexpr KeyOf<T> nan = ~KeyOf<T>{0};
      numbers = cpu::count_upto(keys, n, nan - 1);
      if (numbers < n && (!ignore_nan || numbers == 0)) {
        index = std::find(keys, keys + n, nan) - keys;
        value = x[index];
        return;
      }
    }
    index = cpu::select_position(keys, n, (numbers - 1) / 2);
    value = x[index];
  });
}

Tensor median_of_all(const Tensor& self, bool ignore_nan, const char* name) {
  check_ordered(self, "median_cpu");
  if (self.numel() == 0) {
    Tensor out = empty({}, self.dtype());
    fill_into(out, is_integral(self.dtype()) ? Scalar(static_cast<long>(0))
                                             : Scalar(std::numeric_limits<double>::quiet_NaN()));
    if (self.dtype() == DType::Int64) *out.data_as<int64_t>() = std::numeric_limits<int64_t>::min();
    if (self.dtype() == DType::Int32) *out.data_as<int32_t>() = std::numeric_limits<int32_t>::min();
    return out;
  }
  Tensor plain = contiguous(self);
  int64_t n = self.numel(), one = 1;
  return std::get<0>(median_along(alias(plain, IntSpan(&n, 1), IntSpan(&one, 1), plain.storage_offset(), plain.dtype()),
                                  0, false, ignore_nan, name));
}

}  // namespace

std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum(Fold::Max, self, dim, keepdim, "max");
}
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim) {
  return extremum(Fold::Min, self, dim, keepdim, "min");
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(Fold::Max, self, dim, keepdim, "argmax");
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(Fold::Min, self, dim, keepdim, "argmin");
}

Tensor median(const Tensor& self) { return median_of_all(self, false, "median"); }
Tensor nanmedian(const Tensor& self) { return median_of_all(self, true, "nanmedian"); }
Picked median(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along(self, dim, keepdim, false, "median");
}
Picked nanmedian(const Tensor& self, int64_t dim, bool keepdim) {
  return median_along(self, dim, keepdim, true, "nanmedian");
}

namespace {
// Which of several equal elements kthvalue names is the quick selection's choice (median of three, Hoare's partition);
// users compare indices with torch's, so it is the same selection.
template <class T>
int64_t quick_select(const Line<T>& x, int64_t n, int64_t k) {
  std::vector<std::pair<T, int64_t>> a;
  for (int64_t i = 0; i < n; i++) a.emplace_back(x[i], i);
  auto at = [&](int64_t i) -> std::pair<T, int64_t>& { return a[static_cast<size_t>(i)]; };
  auto greater = [](T p, T q) { return less_nan_last<T>(q, p); };
  for (int64_t l = 0, r = n - 1; l < r;) {
    if (r == l + 1) {
      if (greater(at(l).first, at(r).first)) std::swap(at(l), at(r));
      break;
    }
    std::swap(at(l + (r - l) / 2), at(l + 1));
    if (greater(at(l + 1).first, at(r).first)) std::swap(at(l + 1), at(r));
    if (greater(at(l).first, at(r).first)) std::swap(at(l), at(r));
    if (greater(at(l + 1).first, at(l).first)) std::swap(at(l + 1), at(l));
    int64_t i = l + 1, j = r;
    T pivot = at(l).first;
    while (true) {
      do i++;
      while (greater(pivot, at(i).first));
      do j--;
      while (greater(at(j).first, pivot));
      if (j < i) break;
      std::swap(at(i), at(j));
    }
    std::swap(at(l), at(j));
    if (j <= k) l = i;
    if (j >= k) r = j - 1;
  }
  return at(k).second;
}
}  // namespace

Picked kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  int64_t d = wrap_dim(dim, self.dim());
  check_nonempty_dim(self, d, "kthvalue");
  int64_t n = self.dim() ? self.size(d) : 1;
  UT_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, "; k is ", k,
           ", the dimension has ", n, " elements");
  check_ordered(self, "kthvalue_cpu");
  return per_line(self, dim, keepdim, "kthvalue", "kthvalue_cpu",
                  [&]<class T>(const Line<T>& x, int64_t count, T& value, int64_t& index) {
                    LineKeys<T> line(x, count, false);
                    const KeyOf<T>* keys = line.get();
                    index = cpu::select_position(keys, count, k - 1);
                    KeyOf<T> key = keys[index];
                    bool unique = cpu::count_upto(keys, count, key) == k &&
                                  (key == 0 ? 0 : cpu::count_upto(keys, count, key - 1)) == k - 1;
                    if (!unique) index = quick_select(x, count, k - 1);
                    value = x[index];
                  });
}

// The most frequent value, of several the smallest; the index of one of its occurrences: whichever an unstable sort
// puts last, as torch's does.
Picked mode(const Tensor& self, int64_t dim, bool keepdim) {
  return per_line(
      self, dim, keepdim, "mode", "mode_cpu", [&]<class T>(const Line<T>& x, int64_t n, T& value, int64_t& index) {
        using M = OpMath<T>;
        if constexpr (std::is_floating_point_v<T>) {  // where all differ, the smallest is the one
          LineKeys<T> line(x, n, false);
          std::vector<int64_t> order(static_cast<size_t>(n));
          cpu::sort_positions(line.get(), n, order.data());
          bool differ = true;
          for (size_t i = 1; i < order.size(); i++) differ &= x[order[i - 1]] != x[order[i]];
          if (differ) {
            index = order[0];
            value = x[index];
            return;
          }
        }
        std::vector<std::pair<T, int64_t>> sorted;
        for (int64_t i = 0; i < n; i++) sorted.emplace_back(x[i], i);
        std::sort(sorted.begin(), sorted.end(),
                  [](const auto& a, const auto& b) { return less_nan_last<T>(a.first, b.first); });
        int64_t best = 0, run = 0;
        for (size_t i = 0; i < sorted.size(); i++) {
          run++;
          if (i + 1 < sorted.size() && static_cast<M>(sorted[i].first) == static_cast<M>(sorted[i + 1].first)) continue;
          if (run > best) {
            best = run;
            std::tie(value, index) = sorted[i];
          }
          run = 0;
        }
      });
}

}  // namespace undertow::fwd
