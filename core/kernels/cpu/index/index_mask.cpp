// index_mask.cpp: see index_mask.h.
#include "core/kernels/cpu/index/index_mask.h"

#include <algorithm>
#include <vector>

#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/index/index_loops.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/pointwise/where_kernels.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

WhereFn where_loop_of(int64_t width) { return UNDERTOW_CHOOSE_ISA(where_loop(width)); }

// For each chunk of a contiguous mask, the number of true elements before it; the last entry is the total.
std::vector<int64_t> count_before(const Tensor& mask) {
  int64_t n = mask.numel();
  auto* chosen = reinterpret_cast<const uint8_t*>(mask.data());
  std::vector<int64_t> before(static_cast<size_t>((n + kParallelGrain - 1) / kParallelGrain) + 1, 0);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
    before[static_cast<size_t>(begin / kParallelGrain) + 1] = index_loops().count_true(chosen + begin, end - begin);
  });
  for (size_t i = 1; i < before.size(); i++) before[i] += before[i - 1];
  return before;
}

// Calls update(element, next element of row-major `from`) for each element of row-major `to` selected by the mask.
// Branch-free, because masks are unpredictable: every element is written, those not selected with their old value.
template <class T, class Update>
void update_chosen(const Tensor& to, const Tensor& mask, const Tensor& from, const std::vector<int64_t>& before,
                   Update&& update) {
  int64_t total = before.back();
  if (total == 0) return;
  auto* chosen = reinterpret_cast<const uint8_t*>(mask.data());
  T* out = to.data_as<T>();
  const T* in = from.data_as<T>();
  parallel_for(0, mask.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
    size_t chunk = static_cast<size_t>(begin / kParallelGrain);
    int64_t at = before[chunk], last = total - 1;
    for (int64_t i = begin; i < end; i++) {
      bool yes = chosen[i] != 0;
      T next = update(out[i], in[at < last ? at : last]);
      out[i] = yes ? next : out[i];
      at += yes;
    }
  });
}
void set_chosen(const Tensor& to, const Tensor& mask, const Tensor& from, const std::vector<int64_t>& before) {
  dispatch_width(to.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    update_chosen<T>(to, mask, from, before, [](T, T next) { return next; });
  });
}

// A copy if the two share memory.
Tensor copy_if_overlapping(const Tensor& out, const Tensor& t) {
  if (&out.storage() != &t.storage()) return contiguous(t);
  Tensor copied = empty(t.sizes(), t.dtype(), kCpu);
  copy(copied, t);
  return copied;
}

}  // namespace

void masked_fill(const ElementwiseIter& iter, const Tensor& value) {
  WhereFn choose = where_loop_of(value.itemsize());
  walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    char* operands[4] = {p[0], p[2], value.data(), p[1]};
    int64_t strides[4] = {s[0], s[2], 0, s[1]};
    choose(operands, strides, n);
  });
}

Tensor masked_select(const Tensor& in, const Tensor& mask) {
  auto* chosen = reinterpret_cast<const uint8_t*>(mask.data());
  std::vector<int64_t> before = count_before(mask);
  Tensor out = empty(Dims{before.back()}, in.dtype(), kCpu);
  int64_t w = in.itemsize();
  IndexLoops::Pick pick = index_loops().pick(w);
  parallel_for(0, mask.numel(), kParallelGrain, [&](int64_t begin, int64_t) {
    size_t chunk = static_cast<size_t>(begin / kParallelGrain);
    pick(out.data() + before[chunk] * w, in.data() + begin * w, chosen + begin, before[chunk + 1] - before[chunk]);
  });
  return out;
}

void masked_scatter(const Tensor& out, const Tensor& mask, const Tensor& source) {
  std::vector<int64_t> before = count_before(mask);
  UT_CHECK(before.back() <= source.numel(), "Number of elements of source < number of ones in mask: ", source.numel(),
           " < ", before.back());
  set_chosen(out, mask, source, before);
}

// A single mask over all elements of row-major memory needs no list of indices if there is one value per true element,
// or one value for all.
bool put_masked(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate) {
  if (indices.size() != 1 || indices[0].dtype() != DType::Bool || out.dim() == 0 || !out.is_contiguous() ||
      !same(indices[0].sizes(), out.sizes()))
    return false;
  Tensor mask = copy_if_overlapping(out, indices[0]);
  if (values.numel() == 1 && !accumulate) {
    Tensor one = empty({}, values.dtype(), kCpu);
    copy(one, alias(values, {}, {}, values.storage_offset(), values.dtype()));
    ElementwiseIter iter;
    iter.add_output(out, out.dtype());
    iter.add_input(out);
    iter.add_input(mask);
    iter.build();
    masked_fill(iter, one);
    return true;
  }
  std::vector<int64_t> before = count_before(mask);
  if (values.dim() != 1 || values.numel() != before.back()) return false;
  Tensor from = copy_if_overlapping(out, values);
  if (!accumulate) {
    set_chosen(out, mask, from, before);
    return true;
  }
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    update_chosen<T>(out, mask, from, before, [](T now, T more) {
      if constexpr (std::is_same_v<T, bool>)
        return now || more;
      else
        return T(OpMath<T>(now) + OpMath<T>(more));
    });
  });
  return true;
}

Tensor nonzero(const Tensor& mask) {
  auto* chosen = reinterpret_cast<const uint8_t*>(mask.data());
  int64_t nd = mask.dim(), n = mask.numel();
  std::vector<int64_t> before = count_before(mask);
  int64_t total = before.back(), column = total;
  // Stored column-major, so that each dimension's indices are contiguous.
  Tensor out = empty_strided(Dims{total, nd}, Dims{1, column}, DType::Int64, kCpu);
  if (total == 0 || nd == 0) return out;
  int64_t* o = out.data_as<int64_t>();
  const int64_t width = mask.size(nd - 1);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
    size_t chunk = static_cast<size_t>(begin / kParallelGrain);
    int64_t at = before[chunk], stop = before[chunk + 1];
    int64_t* inner = o + (nd - 1) * column;
    for (int64_t i = begin; i < end && at < stop;) {
      // The rest of one row: first the last index of each true element, branch-free, then the indices that the whole
      // row shares.
      int64_t row = i / width, c = i - row * width, first = at, line_end = std::min(end, (row + 1) * width);
      for (; i < line_end && at < stop; i++, c++) {
        inner[at] = c;
        at += chosen[i] != 0;
      }
      i = line_end;
      for (int64_t d = nd - 1; d-- > 0; row /= mask.size(d))
        std::fill(o + d * column + first, o + d * column + at, row % mask.size(d));
    }
  });
  return out;
}

}  // namespace undertow::core::cpu
