// select.cpp: selects one element of each line and returns its index: median, kthvalue, mode.
#include "core/kernels/cpu/reduce/select.h"

#include <algorithm>
#include <vector>

#include "core/kernels/cpu/sort/keys.h"

namespace undertow::core::cpu {

namespace {

// One value and index per line along d: pick(line, n, value&, index&).
template <class Pick>
void per_line(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, Pick&& pick) {
  int64_t n = in.size(d);
  dispatch_real(in.dtype(), "median", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
      pick(line<T>(p[0], in, d), n, *reinterpret_cast<T*>(p[1]), *reinterpret_cast<int64_t*>(p[2]));
    });
  });
}

// Among equal elements, the index returned by kthvalue depends on the quickselect variant (median of three, Hoare's
// partition). Users compare indices with torch's, so this is the same variant.
template <class T>
int64_t quick_select(const Line<T>& x, int64_t n, int64_t k) {
  std::vector<std::pair<T, int64_t>> a;
  a.reserve(static_cast<size_t>(n));
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

void median(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan) {
  per_line(values, indices, in, d, [&]<class T>(const Line<T>& x, int64_t n, T& value, int64_t& index) {
    LineKeys<T> line(x, n, false);
    const KeyOf<T>* keys = line.get();
    int64_t numbers = n;
    if constexpr (!std::is_integral_v<T>) {
      constexpr KeyOf<T> nan = ~KeyOf<T>{0};
      numbers = count_upto(keys, n, nan - 1);
      if (numbers < n && (!ignore_nan || numbers == 0)) {
        index = std::find(keys, keys + n, nan) - keys;
        value = x[index];
        return;
      }
    }
    index = select_position(keys, n, (numbers - 1) / 2);
    value = x[index];
  });
}

void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k) {
  per_line(values, indices, in, d, [&]<class T>(const Line<T>& x, int64_t count, T& value, int64_t& index) {
    LineKeys<T> line(x, count, false);
    const KeyOf<T>* keys = line.get();
    index = select_position(keys, count, k - 1);
    KeyOf<T> key = keys[index];
    bool unique = count_upto(keys, count, key) == k && (key == 0 ? 0 : count_upto(keys, count, key - 1)) == k - 1;
    if (!unique) index = quick_select(x, count, k - 1);
    value = x[index];
  });
}

// The most frequent value, or the smallest of several; the index of one of its occurrences: whichever an unstable sort
// puts last, as in torch.
void mode(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
  per_line(values, indices, in, d, [&]<class T>(const Line<T>& x, int64_t n, T& value, int64_t& index) {
    using M = OpMath<T>;
    if constexpr (std::is_floating_point_v<T>) {  // if all differ, it is the smallest
      LineKeys<T> line(x, n, false);
      std::vector<int64_t> order(static_cast<size_t>(n));
      sort_positions(line.get(), n, order.data());
      bool differ = true;
      for (size_t i = 1; i < order.size(); i++) differ &= x[order[i - 1]] != x[order[i]];
      if (differ) {
        index = order[0];
        value = x[index];
        return;
      }
    }
    std::vector<std::pair<T, int64_t>> sorted;
    sorted.reserve(static_cast<size_t>(n));
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

}  // namespace undertow::core::cpu
