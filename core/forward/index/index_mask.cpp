// index_mask.cpp: elements chosen by a mask: masked_fill, masked_select, masked_scatter, and nonzero, which lists them.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/index/index_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/pointwise/where_kernels.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_index.h"

namespace undertow::cpu {
namespace {
WhereFn where_loop_of(int64_t width) { return UNDERTOW_CHOOSE_ISA(where_loop(width)); }
}  // namespace
}  // namespace undertow::cpu

namespace undertow::fwd {

namespace {

// For each chunk of a contiguous mask, how many trues stand before it; the last entry is the total.
std::vector<int64_t> count_before(const Tensor& mask) {
  int64_t n = mask.numel();
  auto* chosen = reinterpret_cast<const uint8_t*>(mask.data());
  std::vector<int64_t> before(static_cast<size_t>((n + kParallelGrain - 1) / kParallelGrain) + 1, 0);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
    before[static_cast<size_t>(begin / kParallelGrain) + 1] =
        cpu::index_kernels().count_true(chosen + begin, end - begin);
  });
  for (size_t i = 1; i < before.size(); i++) before[i] += before[i - 1];
  return before;
}

// For each element of row-major `to` that the mask chooses, update(element, the next of row-major `from`). Without a
// branch, for masks are as good as random: every element is written, most of them with what stands there.
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

// masked_fill's loop: out where the mask is false; self may be out itself.
void fill_where(const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  ElementwiseIter iter;
  iter.add_output(out, self.dtype());
  iter.add_input(self);
  iter.add_input(mask);
  iter.build();
  cpu::WhereFn choose = cpu::where_loop_of(self.itemsize());
  cpu::walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    char* operands[4] = {p[0], p[2], value.data(), p[1]};
    int64_t strides[4] = {s[0], s[2], 0, s[1]};
    choose(operands, strides, n);
  });
}

void check_fill_mask(const Tensor& mask) {
  UT_CHECK(mask.dtype() == DType::Bool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
           meta_name(mask.dtype()));
}
void check_fill_value(const Tensor& value) {
  UT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
}
void check_in_place_shape(const Tensor& out, const Tensor& mask) {
  Dims shape = broadcast_sizes(mask.sizes(), out.sizes());
  UT_CHECK(same(out.sizes(), shape), "output with shape ", ShapeText{out.sizes()},
           " doesn't match the broadcast shape ", ShapeText{shape});
  check_no_internal_overlap(out);
}

}  // namespace

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_fill_mask(mask);
  Tensor element = element_of(value, self.dtype());
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  // The layout of a clone: self's own when it is dense, as torch's is.
  Tensor from = broadcast(self, shape), out = empty_in_format(from, self.dtype(), MemoryFormat::Preserve);
  fill_where(out, from, broadcast(mask, shape), element);
  return out;
}
void masked_fill_out(const Tensor& out, const Tensor&, const Tensor& mask, const Scalar& value) {
  check_fill_mask(mask);
  Tensor element = element_of(value, out.dtype());
  check_in_place_shape(out, mask);
  Tensor m = partial_overlap(out, mask) ? clone_preserve(mask) : mask;
  fill_where(out, out, broadcast(m, out.sizes()), element);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_fill_value(value);
  return masked_fill(self, mask, item(value));
}
void masked_fill_out(const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_fill_value(value);
  masked_fill_out(out, self, mask, item(value));
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  UT_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask; got ", mask.dtype());
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  Tensor from = contiguous(broadcast(self, shape)), m = contiguous(broadcast(mask, shape));
  auto* chosen = reinterpret_cast<const uint8_t*>(m.data());
  std::vector<int64_t> before = count_before(m);
  Tensor out = empty(Dims{before.back()}, self.dtype());
  int64_t w = self.itemsize();
  cpu::IndexKernels::Pick pick = cpu::index_kernels().pick(w);
  parallel_for(0, m.numel(), kParallelGrain, [&](int64_t begin, int64_t) {
    size_t chunk = static_cast<size_t>(begin / kParallelGrain);
    pick(out.data() + before[chunk] * w, from.data() + begin * w, chosen + begin, before[chunk + 1] - before[chunk]);
  });
  return out;
}

void masked_scatter_out(const Tensor& out, const Tensor&, const Tensor& mask, const Tensor& source) {
  UT_CHECK(out.dtype() == source.dtype(), "masked_scatter: expected self and source to have same dtypes but got ",
           long_name(out.dtype()), " and ", long_name(source.dtype()));
  UT_CHECK(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           long_name(mask.dtype()));
  check_in_place_shape(out, mask);
  Tensor m = contiguous(broadcast(mask, out.sizes())), from = contiguous(source);
  if (out.numel() && &from.storage() == &out.storage()) from = clone_preserve(from);
  std::vector<int64_t> before = count_before(m);
  UT_CHECK(before.back() <= from.numel(), "Number of elements of source < number of ones in mask: ", from.numel(),
           " < ", before.back());
  Tensor to = out.is_contiguous() ? out : contiguous(out);
  dispatch_width(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    update_chosen<T>(to, m, from, before, [](T, T next) { return next; });
  });
  if (!to.is_same(out)) copy_into(out, to);
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  Tensor out = empty(shape, self.dtype());
  copy_into(out, self);
  masked_scatter_out(out, self, mask, source);
  return out;
}

bool put_masked(const Tensor& out, const Tensor& mask, const Tensor& values, bool accumulate) {
  if (!out.is_contiguous()) return false;
  Tensor m = partial_overlap(out, mask) ? contiguous(clone_preserve(mask)) : contiguous(mask);
  if (values.numel() == 1 && !accumulate) {
    Tensor one = contiguous_copy(values);
    fill_where(out, out, m, one);
    return true;
  }
  std::vector<int64_t> before = count_before(m);
  if (values.dim() != 1 || values.numel() != before.back()) return false;
  Tensor from = contiguous(&values.storage() == &out.storage() ? clone_preserve(values) : values);
  if (!accumulate) {
    dispatch_width(out.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      update_chosen<T>(out, m, from, before, [](T, T next) { return next; });
    });
    return true;
  }
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    update_chosen<T>(out, m, from, before, [](T now, T more) {
      if constexpr (std::is_same_v<T, bool>)
        return now || more;
      else
        return T(OpMath<T>(now) + OpMath<T>(more));
    });
  });
  return true;
}

Tensor nonzero(const Tensor& self, std::false_type) {
  // Only the truth of elements matters.
  Tensor in = contiguous(self.dtype() == DType::Bool ? self : to_dtype(self, DType::Bool));
  auto* chosen = reinterpret_cast<const uint8_t*>(in.data());
  int64_t nd = in.dim(), n = in.numel();
  std::vector<int64_t> before = count_before(in);
  int64_t total = before.back(), column = total;
  // Column after column in memory, so that each dimension's indices are contiguous.
  Tensor out = empty_strided(Dims{total, nd}, Dims{1, column}, DType::Int64);
  if (total == 0 || nd == 0) return out;
  int64_t* o = out.data_as<int64_t>();
  const int64_t width = in.size(nd - 1);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
    size_t chunk = static_cast<size_t>(begin / kParallelGrain);
    int64_t at = before[chunk], stop = before[chunk + 1];
    int64_t* inner = o + (nd - 1) * column;
    for (int64_t i = begin; i < end && at < stop;) {
      // The rest of one row: its last indices, without a branch, then the indices that the row shares.
      int64_t row = i / width, c = i - row * width, first = at, line_end = std::min(end, (row + 1) * width);
      for (; i < line_end && at < stop; i++, c++) {
        inner[at] = c;
        at += chosen[i] != 0;
      }
      i = line_end;
      for (int64_t d = nd - 1; d-- > 0; row /= in.size(d))
        std::fill(o + d * column + first, o + d * column + at, row % in.size(d));
    }
  });
  return out;
}

std::vector<Tensor> nonzero(const Tensor& self, std::true_type) {
  Tensor line = self.dim() ? self : alias(self, Dims{1}, Dims{1}, self.storage_offset(), self.dtype());
  Tensor rows = nonzero(line, std::false_type());
  std::vector<Tensor> out;
  for (int64_t d = 0; d < rows.size(1); d++)
    out.push_back(alias(rows, Dims{rows.size(0)}, Dims{1}, d * rows.stride(1), DType::Int64));
  return out;
}

}  // namespace undertow::fwd
