// unique.cpp: distinct elements and rows, membership.
// build: small
#include "core/kernels/cpu/sort/unique.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/sort/keys.h"
#include "core/kernels/cpu/sort/searched_keys.h"
#include "core/kernels/cpu/temporary.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

Tensor ints(const std::vector<int64_t>& v) {
  int64_t n = static_cast<int64_t>(v.size());
  Tensor t = empty(IntSpan(&n, 1), DType::Int64, kCpu);
  std::copy(v.begin(), v.end(), t.data_as<int64_t>());
  return t;
}
Tensor new_ints(int64_t n) { return empty(IntSpan(&n, 1), DType::Int64, kCpu); }
Tensor no_ints() { return new_ints(0); }
Tensor shaped(const Tensor& t, IntSpan sizes) {
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset(), t.dtype());
}

// The groups of equal elements: the position of the first of each, their sizes, and, if asked for, the group of each
// element.
struct Groups {
  std::vector<int64_t> first, counts;
  Tensor inverse = no_ints();
};

// order: positions with equal elements adjacent. same(a, b): are the elements at two positions equal?
template <class Same>
Groups group(const std::vector<int64_t>& order, bool inverse, Same&& same) {
  Groups g;
  if (inverse) g.inverse = new_ints(static_cast<int64_t>(order.size()));
  int64_t* to = g.inverse.data_as<int64_t>();
  for (size_t i = 0; i < order.size(); i++) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      g.first.push_back(order[i]);
      g.counts.push_back(0);
    }
    g.counts.back()++;
    if (inverse) to[order[i]] = static_cast<int64_t>(g.first.size()) - 1;
  }
  return g;
}

// The runs of equal elements among n, found in one pass without branches that depend on the elements: where each
// starts, and at the end n.
struct RunStarts;
struct Runs {
  Temporary<RunStarts, int64_t> memory;
  int64_t count = 0;
  Tensor inverse = no_ints();
  int64_t* starts() const { return memory.get(); }
  Tensor counts() const {
    Tensor t = new_ints(count);
    int64_t* to = t.data_as<int64_t>();
    for (int64_t k = 0; k < count; k++) to[k] = starts()[k + 1] - starts()[k];
    return t;
  }
};
constexpr int64_t kMarked = 512;  // elements compared with their predecessors before a run's start is written

// mark(i, count, marks): whether each of `count` elements from i on differs from the one before it.
template <class Mark>
Runs find_runs(int64_t n, bool inverse, Mark&& mark) {
  Runs r{Temporary<RunStarts, int64_t>(n + 1)};
  int64_t *starts = r.starts(), count = n > 0;
  uint8_t marks[kMarked];
  starts[0] = 0;
  if (inverse) r.inverse = new_ints(n);
  int64_t* to = r.inverse.data_as<int64_t>();
  if (inverse && n) to[0] = 0;
  for (int64_t begin = 1; begin < n; begin += kMarked) {
    const int64_t block = std::min(kMarked, n - begin);
    mark(begin, block, marks);
    for (int64_t i = 0; i < block; i++) {
      starts[count] = begin + i;  // overwritten unless a run starts here
      count += marks[i];
      if (inverse) to[begin + i] = count - 1;
    }
  }
  starts[count] = n;
  r.count = count;
  return r;
}

// For each of n elements from p on: does it differ from the one before it?
template <class T>
void mark_elements(const T* p, int64_t n, uint8_t* marks) {
  if constexpr (kIsHalf<T>)
    mark_half_runs(reinterpret_cast<const uint16_t*>(p), n, DTypeOf<T>::value == DType::BFloat16 ? 0x7f80 : 0x7c00,
                   marks);
  else if constexpr (std::is_floating_point_v<T>)
    mark_runs(p, n, marks);
  else if constexpr (sizeof(T) == 4)
    mark_runs(reinterpret_cast<const uint32_t*>(p), n, marks);
  else if constexpr (sizeof(T) == 8)
    mark_runs(reinterpret_cast<const uint64_t*>(p), n, marks);
  else
    for (int64_t i = 0; i < n; i++) marks[i] = p[i] != p[i - 1];
}

// The first element of each run, in one pass. Each element is read once: a second load, at the same offset in a page as
// the store before it, would wait for that.
template <class T>
Tensor first_of_runs(const Tensor& in, const T* p) {
  const int64_t n = in.numel();
  Tensor all = empty_on_device_of(in, IntSpan(&n, 1), in.dtype());
  T* kept = all.data_as<T>();
  int64_t count = n > 0;
  uint8_t marks[kMarked];
  if (n) kept[0] = p[0];
  for (int64_t begin = 1; begin < n; begin += kMarked) {
    const int64_t block = std::min(kMarked, n - begin);
    mark_elements(p + begin, block, marks);
    for (int64_t i = 0; i < block; i++) {
      kept[count] = p[begin + i];  // overwritten unless a run starts here
      count += marks[i];
    }
  }
  Tensor values = empty_on_device_of(in, IntSpan(&count, 1), in.dtype());
  std::copy_n(kept, count, values.data_as<T>());
  return values;
}

std::vector<int64_t> positions(int64_t n) {
  std::vector<int64_t> p(static_cast<size_t>(n));
  std::iota(p.begin(), p.end(), int64_t{0});
  return p;
}

// Integers in a small range are counted in a table instead of sorted; returns false if the range is too large.
bool count_integers(const Tensor& in, bool inverse, bool counts, UniqueElements& result) {
  if (!is_integral(in.dtype()) || in.dtype() == DType::Bool || in.numel() == 0) return false;
  Tensor wide = contiguous_as(in, DType::Int64);
  const int64_t* p = wide.data_as<int64_t>();
  const int64_t n = wide.numel();
  auto [least, most] = std::minmax_element(p, p + n);
  const int64_t low = *least, high = *most;
  if (static_cast<uint64_t>(high) - static_cast<uint64_t>(low) >= static_cast<uint64_t>(n)) return false;
  std::vector<int64_t> table(static_cast<size_t>(high - low + 1));
  for (int64_t i = 0; i < n; i++) table[static_cast<size_t>(p[i] - low)]++;
  std::vector<int64_t> values, many;
  for (size_t v = 0; v < table.size(); v++) {
    if (!table[v]) continue;
    values.push_back(low + static_cast<int64_t>(v));
    many.push_back(table[v]);
    table[v] = static_cast<int64_t>(values.size()) - 1;  // from now on, the index of the value
  }
  Tensor places = no_ints();
  if (inverse) {
    places = empty_on_device_of(in, in.sizes(), DType::Int64);
    int64_t* to = places.data_as<int64_t>();
    parallel_for(0, n, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) to[i] = table[static_cast<size_t>(p[i] - low)];
    });
  }
  result = {contiguous_as(ints(values), in.dtype()), places, counts ? ints(many) : no_ints()};
  return true;
}

}  // namespace

UniqueElements unique(const Tensor& in, bool sort, bool inverse, bool counts) {
  if (UniqueElements found; sort && count_integers(in, inverse, counts, found)) return found;
  UniqueElements result;
  dispatch_real(in.dtype(), "unique", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = in.data_as<T>();
    auto same = [p](int64_t a, int64_t b) { return static_cast<OpMath<T>>(p[a]) == static_cast<OpMath<T>>(p[b]); };
    auto pick = [&](const int64_t* first, int64_t n) {
      result.values = empty_on_device_of(in, IntSpan(&n, 1), in.dtype());
      T* to = result.values.template data_as<T>();
      for (int64_t i = 0; i < n; i++) to[i] = p[first[i]];
    };
    if (!sort && !inverse && !counts) {
      result = {first_of_runs(in, p), no_ints(), no_ints()};
      return;
    }
    if (!sort) {
      Runs r = find_runs(in.numel(), inverse,
                         [p](int64_t i, int64_t count, uint8_t* marks) { mark_elements(p + i, count, marks); });
      pick(r.starts(), r.count);
      result.inverse = r.inverse;
      result.counts = counts ? r.counts() : no_ints();
      return;
    }
    std::vector<int64_t> order = positions(in.numel());
    if (in.numel())
      sort_positions(LineKeys<T>(Line<T>{in.data(), in.itemsize()}, in.numel(), false).get(), in.numel(), order.data());
    Groups g = group(order, inverse, same);
    pick(g.first.data(), static_cast<int64_t>(g.first.size()));
    result.inverse = g.inverse;
    result.counts = counts ? ints(g.counts) : no_ints();
  });
  if (inverse) result.inverse = shaped(result.inverse, in.sizes());
  return result;
}

// Rows are compared lexicographically.
UniqueElements unique_rows(const Tensor& rows, bool sort, bool inverse, bool counts) {
  const int64_t n = rows.size(0), width = rows.numel() / n;
  UniqueElements result;
  dispatch_real(rows.dtype(), "unique_dim", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using M = OpMath<T>;
    const T* p = rows.data_as<T>();
    auto less = [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < width; i++) {
        M x = static_cast<M>(p[a * width + i]), y = static_cast<M>(p[b * width + i]);
        if (x < y) return true;
        if (x > y) return false;
      }
      return false;
    };
    auto same = [&](int64_t a, int64_t b) {
      for (int64_t i = 0; i < width; i++)
        if (static_cast<M>(p[a * width + i]) != static_cast<M>(p[b * width + i])) return false;
      return true;
    };
    auto pick = [&](const int64_t* first, int64_t count) {
      Dims sizes(rows.sizes());
      sizes[0] = count;
      result.values = empty_on_device_of(rows, sizes, rows.dtype());
      for (int64_t i = 0; i < count; i++)
        std::copy_n(p + first[i] * width, width, result.values.template data_as<T>() + i * width);
    };
    if (!sort) {
      Runs r = find_runs(n, inverse, [&](int64_t i, int64_t count, uint8_t* marks) {
        for (int64_t k = 0; k < count; k++) marks[k] = !same(i + k - 1, i + k);
      });
      pick(r.starts(), r.count);
      result.inverse = r.inverse;
      result.counts = counts ? r.counts() : no_ints();
      return;
    }
    std::vector<int64_t> order = positions(n);
    std::stable_sort(order.begin(), order.end(), less);
    Groups g = group(order, inverse, same);
    pick(g.first.data(), static_cast<int64_t>(g.first.size()));
    result.inverse = g.inverse;
    result.counts = counts ? ints(g.counts) : no_ints();
  });
  return result;
}

void isin(const Tensor& out, const Tensor& in, const Tensor& among, bool invert) {
  dispatch_real(in.dtype(), "isin", [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<KeyOf<T>> sorted;
    for (int64_t i = 0; i < among.numel(); i++)
      if (!is_nan_value(among.data_as<T>()[i])) sorted.push_back(key_of(among.data_as<T>()[i]));
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const int64_t n = static_cast<int64_t>(sorted.size());
    const T* p = in.data_as<T>();
    bool* o = out.data_as<bool>();
    parallel_for(0, in.numel(), 8192, [&](int64_t begin, int64_t end) {
      rank_values(sorted.data(), n, p + begin, end - begin, false, [&](int64_t i, KeyOf<T> key, int64_t at) {
        o[begin + i] = (at < n && sorted[static_cast<size_t>(at)] == key) != invert;
      });
    });
  });
}

}  // namespace undertow::core::cpu
