// index_mask.cpp: elements chosen by a mask: masked_fill, masked_select, masked_scatter, and nonzero, which lists them.
#include "core/forward/index_common.h"

#include "core/forward/copy.h"
#include "core/forward/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_indexing.h"

namespace undertow::fwd {

namespace {

// Torch names C++ types in this one message.
const char* cpp_name(DType t) {
  static const char* const names[kNumDTypes] = {"bool", "unsigned char", "signed char", "short int", "int", "long int", "c10::Half", "c10::BFloat16", "float",
                                                "double", "c10::complex<float>", "c10::complex<double>"};
  return names[static_cast<int>(t)];
}

// For each chunk of a contiguous mask, how many trues stand before it; the last entry is the total.
template <class IsTrue>
std::vector<int64_t> count_before(int64_t n, IsTrue&& is_true) {
  std::vector<int64_t> before(static_cast<size_t>((n + kParallelGrain - 1) / kParallelGrain) + 1, 0);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; i++) count += is_true(i);
    before[static_cast<size_t>(begin / kParallelGrain) + 1] = count;
  });
  for (size_t i = 1; i < before.size(); i++) before[i] += before[i - 1];
  return before;
}

// masked_fill's loop: out where the mask is false; self may be out itself.
void fill_where(const Tensor& out, const Tensor& self, const Tensor& mask, const Tensor& value) {
  ElementwiseIter iter;
  iter.add_output(out, self.dtype());
  iter.add_input(self);
  iter.add_input(mask);
  iter.build();
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v = *value.data_as<T>();
    iter.for_each([v](char* const* p, const int64_t* s, int64_t n) {
      char* o = p[0];
      const char *in = p[1], *m = p[2];
      if (s[0] == sizeof(T) && s[1] == sizeof(T) && s[2] == 1) {
        auto* to = reinterpret_cast<T*>(o);
        auto* from = reinterpret_cast<const T*>(in);
        for (int64_t i = 0; i < n; i++) to[i] = m[i] ? v : from[i];
        return;
      }
      for (int64_t i = 0; i < n; i++, o += s[0], in += s[1], m += s[2]) *reinterpret_cast<T*>(o) = *m ? v : *reinterpret_cast<const T*>(in);
    });
  });
}

void check_fill_mask(const Tensor& mask) {
  UT_CHECK(mask.dtype() == DType::Bool, "masked_fill_ only supports boolean masks, but got mask with dtype ", cpp_name(mask.dtype()));
}
void check_fill_value(const Tensor& value) {
  UT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
}
void check_in_place_shape(const Tensor& out, const Tensor& mask) {
  Dims shape = broadcast_sizes(mask.sizes(), out.sizes());
  UT_CHECK(same(out.sizes(), shape), "output with shape ", ShapeText{out.sizes()}, " doesn't match the broadcast shape ", ShapeText{shape});
  check_no_internal_overlap(out);
}

}  // namespace

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_fill_mask(mask);
  Tensor element = element_of(value, self.dtype());
  Dims shape = broadcast_sizes(mask.sizes(), self.sizes());
  // The clone's layout: self's own when it is dense, as torch's is.
  Tensor from = broadcast(self, shape), out = clone_preserve(from);
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
  const bool* chosen = m.data_as<bool>();
  std::vector<int64_t> before = count_before(m.numel(), [&](int64_t i) { return chosen[i]; });
  Tensor out = empty(Dims{before.back()}, self.dtype());
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* o = out.data_as<T>();
    const T* in = from.data_as<T>();
    parallel_for(0, m.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
      int64_t at = before[static_cast<size_t>(begin / kParallelGrain)];
      for (int64_t i = begin; i < end; i++)
        if (chosen[i]) o[at++] = in[i];
    });
  });
  return out;
}

void masked_scatter_out(const Tensor& out, const Tensor&, const Tensor& mask, const Tensor& source) {
  UT_CHECK(out.dtype() == source.dtype(), "masked_scatter: expected self and source to have same dtypes but got ", long_name(out.dtype()), " and ",
           long_name(source.dtype()));
  UT_CHECK(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ", long_name(mask.dtype()));
  check_in_place_shape(out, mask);
  Tensor m = contiguous(broadcast(mask, out.sizes())), from = contiguous(source);
  if (out.numel() && &from.storage() == &out.storage()) from = clone_preserve(from);
  const bool* chosen = m.data_as<bool>();
  std::vector<int64_t> before = count_before(m.numel(), [&](int64_t i) { return chosen[i]; });
  UT_CHECK(before.back() <= from.numel(), "Number of elements of source < number of ones in mask: ", from.numel(), " < ", before.back());
  Tensor to = out.is_contiguous() ? out : contiguous(out);
  dispatch_width(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* o = to.data_as<T>();
    const T* in = from.data_as<T>();
    parallel_for(0, m.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
      int64_t at = before[static_cast<size_t>(begin / kParallelGrain)];
      for (int64_t i = begin; i < end; i++)
        if (chosen[i]) o[i] = in[at++];
    });
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

Tensor nonzero(const Tensor& self, std::false_type) {
  Tensor in = contiguous(self);
  int64_t nd = in.dim(), n = in.numel();
  return dispatch(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = in.data_as<T>();
    auto is_true = [&](int64_t i) { return convert<bool>(p[i]); };
    std::vector<int64_t> before = count_before(n, is_true);
    int64_t total = before.back(), column = total;
    // Column after column in memory, so that each dimension's indices are contiguous.
    Tensor out = empty_strided(Dims{total, nd}, Dims{1, column}, DType::Int64);
    int64_t* o = out.data_as<int64_t>();
    parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) {
      int64_t at = before[static_cast<size_t>(begin / kParallelGrain)];
      Dims index(static_cast<size_t>(nd), 0);
      int64_t rest = begin;
      for (int64_t d = nd; d-- > 0; rest /= in.size(d)) index[static_cast<size_t>(d)] = rest % in.size(d);
      for (int64_t i = begin; i < end; i++) {
        if (is_true(i)) {
          for (int64_t d = 0; d < nd; d++) o[at + d * column] = index[static_cast<size_t>(d)];
          at++;
        }
        for (int64_t d = nd - 1; d >= 0 && ++index[static_cast<size_t>(d)] == in.size(d); d--) index[static_cast<size_t>(d)] = 0;
      }
    });
    return out;
  });
}

std::vector<Tensor> nonzero(const Tensor& self, std::true_type) {
  Tensor line = self.dim() ? self : alias(self, Dims{1}, Dims{1}, self.storage_offset(), self.dtype());
  Tensor rows = nonzero(line, std::false_type());
  std::vector<Tensor> out;
  for (int64_t d = 0; d < rows.size(1); d++) out.push_back(alias(rows, Dims{rows.size(0)}, Dims{1}, d * rows.stride(1), DType::Int64));
  return out;
}

}  // namespace undertow::fwd
