// select.cpp: selects one element of each line and returns its index: median, kthvalue, mode.
// The selection works on keys (sort/keys.h), so it is compiled for two types of keys, not for every dtype.
#include "core/kernels/cpu/reduce/select.h"

#include <algorithm>
#include <vector>

#include "core/kernels/cpu/sort/keys.h"

namespace undertow::core::cpu {

namespace {

// The keys of one line.
template <class K>
struct Keys {
  const K* keys;
  int64_t n;
  bool floating;
  static constexpr K kNan = ~K{0};  // of a floating dtype; integers may have this key too
  bool equal(K a, K b) const { return a == b && !(floating && a == kNan); }
};

// One value and index per line along d: pick(keys) returns the index.
template <class Pick>
void per_line(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, Pick&& pick) {
  int64_t n = in.size(d);
  dispatch_real(in.dtype(), "median", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
      Line<T> x = line<T>(p[0], in, d);
      LineKeys<T> keys(x, n, false);
      int64_t index = pick(Keys<KeyOf<T>>{keys.get(), n, !std::is_integral_v<T>});
      *reinterpret_cast<T*>(p[1]) = x[index];
      *reinterpret_cast<int64_t*>(p[2]) = index;
    });
  });
}

template <class K>
std::vector<std::pair<K, int64_t>> with_positions(const Keys<K>& x) {
  std::vector<std::pair<K, int64_t>> a;
  a.reserve(static_cast<size_t>(x.n));
  for (int64_t i = 0; i < x.n; i++) a.emplace_back(x.keys[i], i);
  return a;
}

// Among equal elements, the index returned by kthvalue depends on the quickselect variant (median of three, Hoare's
// partition). Users compare indices with torch's, so this is the same variant.
template <class K>
int64_t quick_select(const Keys<K>& x, int64_t k) {
  std::vector<std::pair<K, int64_t>> a = with_positions(x);
  auto at = [&](int64_t i) -> std::pair<K, int64_t>& { return a[static_cast<size_t>(i)]; };
  for (int64_t l = 0, r = x.n - 1; l < r;) {
    if (r == l + 1) {
      if (at(l).first > at(r).first) std::swap(at(l), at(r));
      break;
    }
    std::swap(at(l + (r - l) / 2), at(l + 1));
    if (at(l + 1).first > at(r).first) std::swap(at(l + 1), at(r));
    if (at(l).first > at(r).first) std::swap(at(l), at(r));
    if (at(l + 1).first > at(l).first) std::swap(at(l + 1), at(l));
    int64_t i = l + 1, j = r;
    K pivot = at(l).first;
    while (true) {
      do i++;
      while (pivot > at(i).first);
      do j--;
      while (at(j).first > pivot);
      if (j < i) break;
      std::swap(at(i), at(j));
    }
    std::swap(at(l), at(j));
    if (j <= k) l = i;
    if (j >= k) r = j - 1;
  }
  return at(k).second;
}

template <class K>
int64_t median_of(const Keys<K>& x, bool ignore_nan) {
  int64_t numbers = x.floating ? count_upto(x.keys, x.n, x.kNan - 1) : x.n;
  if (numbers < x.n && (!ignore_nan || numbers == 0)) return std::find(x.keys, x.keys + x.n, x.kNan) - x.keys;
  return select_position(x.keys, x.n, (numbers - 1) / 2);
}

template <class K>
int64_t kth_of(const Keys<K>& x, int64_t k) {
  int64_t index = select_position(x.keys, x.n, k - 1);
  K key = x.keys[index];
  bool unique = count_upto(x.keys, x.n, key) == k && (key == 0 ? 0 : count_upto(x.keys, x.n, key - 1)) == k - 1;
  return unique ? index : quick_select(x, k - 1);
}

// The most frequent value, or the smallest of several; the index of one of its occurrences: whichever an unstable sort
// puts last, as in torch.
template <class K>
int64_t mode_of(const Keys<K>& x) {
  if (x.floating) {  // if all differ, it is the smallest
    std::vector<int64_t> order(static_cast<size_t>(x.n));
    sort_positions(x.keys, x.n, order.data());
    bool differ = true;
    for (size_t i = 1; i < order.size(); i++) differ &= !x.equal(x.keys[order[i - 1]], x.keys[order[i]]);
    if (differ) return order[0];
  }
  std::vector<std::pair<K, int64_t>> sorted = with_positions(x);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t best = 0, run = 0, index = 0;
  for (size_t i = 0; i < sorted.size(); i++) {
    run++;
    if (i + 1 < sorted.size() && x.equal(sorted[i].first, sorted[i + 1].first)) continue;
    if (run > best) {
      best = run;
      index = sorted[i].second;
    }
    run = 0;
  }
  return index;
}

}  // namespace

void median(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan) {
  per_line(values, indices, in, d, [=](const auto& x) { return median_of(x, ignore_nan); });
}

void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k) {
  per_line(values, indices, in, d, [=](const auto& x) { return kth_of(x, k); });
}

void mode(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
  per_line(values, indices, in, d, [](const auto& x) { return mode_of(x); });
}

}  // namespace undertow::core::cpu
