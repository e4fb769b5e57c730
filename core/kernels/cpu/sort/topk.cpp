// topk.cpp: the largest or smallest elements of each line, in torch's choice among equal ones.
#include "core/kernels/cpu/sort/topk.h"

#include <algorithm>

#include "core/kernels/cpu/sort/keys.h"
#include "core/kernels/cpu/sort/rows.h"

namespace undertow::core::cpu {

namespace {

template <class K>
struct Keyed {
  K key;
  int64_t index;
};
template <class K>
bool key_before(const Keyed<K>& a, const Keyed<K>& b) {
  return a.key < b.key;
}

struct TopItems;  // scratch
struct TopOrder;

// The k least, by a heap, in order. At each step the heap has the same contents as in std::partial_sort, so the choice
// among equal keys is the same.
template <class K>
void heap_top(const K* keys, int64_t n, int64_t k, Keyed<K>* top) {
  for (int64_t i = 0; i < k; i++) top[i] = {keys[i], i};
  std::make_heap(top, top + k, key_before<K>);
  for (int64_t i = first_below(keys, k, n, top[0].key); i < n; i = first_below(keys, i + 1, n, top[0].key)) {
    top[k] = {keys[i], i};
    std::pop_heap(top, top + k + 1, key_before<K>);  // removes the largest
  }
  std::sort_heap(top, top + k, key_before<K>);
}

// The positions of the k least of n keys, found with torch's algorithms: a heap for few of many, else a partition that
// is then sorted. If no two relevant keys are equal, there is only one answer, and the fastest method is used.
template <class K>
void top_positions(const K* keys, int64_t n, int64_t k, bool sorted, bool likely_equal, int64_t* out) {
  bool few = k * 64 <= n, one_answer = sorted && !likely_equal, by_heap = few || (one_answer && k <= 32 && k * 8 <= n);
  if (by_heap) {
    Temporary<TopItems, Keyed<K>> heap(k + 1);
    Keyed<K>* items = heap.get();
    heap_top(keys, n, k, items);
    bool unique = few || count_upto(keys, n, items[k - 1].key) == k;
    for (int64_t i = 0; i < k; i++) {
      out[i] = items[i].index;
      unique &= few || i == 0 || items[i - 1].key != items[i].key;
    }
    if (unique) return;
  } else if (one_answer) {
    Temporary<TopOrder, int64_t> all(n);
    int64_t* order = all.get();
    sort_positions(keys, n, order);
    bool unique = true;
    for (int64_t i = 0; i < k; i++) {
      out[i] = order[i];
      unique &= i + 1 == n || keys[order[i]] != keys[order[i + 1]];
    }
    if (unique) return;
  }
  Temporary<TopItems, Keyed<K>> line(n);
  Keyed<K>* items = line.get();
  for (int64_t i = 0; i < n; i++) items[i] = {keys[i], i};
  std::nth_element(items, items + k - 1, items + n, key_before<K>);
  if (sorted) std::sort(items, items + k - 1, key_before<K>);
  for (int64_t i = 0; i < k; i++) out[i] = items[i].index;
}

}  // namespace

void topk(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool largest, bool sorted) {
  int64_t n = in.size(d), k = values.size(d);
  dispatch_real(in.dtype(), "topk", [&](auto tag) {
    using T = typename decltype(tag)::type;
    along(d, in, values, indices, [&](const Tensor& from, const Tensor& v, const Tensor& i) {
      for_rows<T>(from, v, i, [&](const Line<T>& x, T* to, int64_t* order) {
        top_positions(LineKeys<T>(x, n, largest).get(), n, k, sorted, std::is_integral_v<T> || kIsHalf<T>, order);
        for (int64_t r = 0; r < k; r++) to[r] = x[order[r]];
      });
    });
  });
}

}  // namespace undertow::core::cpu
