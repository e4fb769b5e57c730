// shape.cpp: derivatives of views, copies and joins.
// build: small
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/tangents.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd_shape.h"

namespace undertow::core::ops {

Tensor view_as_complex_of(const Tensor& grad) {
  Tensor plain = resolve_neg(grad);
  bool fits = plain.stride(-1) == 1 && plain.storage_offset() % 2 == 0;
  for (int64_t d = 0; d + 1 < plain.dim(); d++) fits &= plain.stride(d) % 2 == 0;
  return view_as_complex(fits ? plain : clone(plain, MemoryFormat::Contiguous));
}

namespace {
// The range of memory that two layouts on one storage use; offsets are relative to its start.
struct Stretch {
  Stretch(IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size, IntSpan stride,
          std::optional<int64_t> storage_offset) {
    int64_t at = storage_offset.value_or(offset), base = std::min(offset, at);
    input = offset - base;
    output = at - base;
    extent = std::max(storage_extent(sizes, strides) + input, storage_extent(size, stride) + output);
  }
  int64_t input, output, extent;
};

// The number of input elements at each address, but at least 1, so that it can be a divisor.
Tensor address_counts(const Tensor& beside, IntSpan sizes, IntSpan strides, const Stretch& s) {
  Tensor ones = fwd::full_on_device_of(beside, sizes, Scalar(1), DType::Float64);
  Tensor counts = clamp_min(fwd::_strided_sum(ones, sizes, strides, s.input, s.extent), Scalar(1));
  return fwd::to_dtype(counts, to_real(beside.dtype()));
}
}  // namespace

// as_strided reads input -> memory -> output. So its transpose sums the gradient of the output into memory, address by
// address, and reads it with the strides of the input. If n input elements share an address, each gets 1/n of it.
Tensor as_strided_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                           IntSpan stride, std::optional<int64_t> storage_offset) {
  if (product(sizes) == 0 || product(size) == 0) return fwd::zeros_on_device_of(grad, sizes, grad.dtype());
  Stretch s(sizes, strides, offset, size, stride, storage_offset);
  Tensor flat = _strided_sum(grad, size, stride, s.output, s.extent);
  if (!is_non_overlapping_and_dense(sizes, strides)) {
    flat = flat / address_counts(grad, sizes, strides, s);
  }
  return as_strided(flat, sizes, strides, s.input);
}

Tensor as_strided_tangent(const Tensor& tangent, const Tensor& self, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset) {
  Stretch s(self.sizes(), self.strides(), self.storage_offset(), size, stride, storage_offset);
  // A view of the tangent where its memory is laid out like self's, so that a write to one reaches the other. All
  // samples of a batched tangent share one storage: the view must stay within self's own range.
  auto within_tangent = [&] {
    if (tangent.impl()->has(kBatched)) return s.input == 0 && s.extent == storage_extent(self.sizes(), self.strides());
    int64_t start = std::min(self.storage_offset(), storage_offset.value_or(self.storage_offset()));
    return tangent.storage().nbytes() / tangent.itemsize() >= static_cast<size_t>(s.extent + start);
  };
  if (same(tangent.strides(), self.strides()) && tangent.storage_offset() == self.storage_offset() && within_tangent())
    return as_strided(tangent, size, stride, storage_offset);
  if (tangent.impl()->has(kBatched)) {  // a batched tensor cannot be written into one that is not batched
    Tensor flat = _strided_sum(tangent, self.sizes(), self.strides(), s.input, s.extent);
    if (!is_non_overlapping_and_dense(self.sizes(), self.strides()))
      flat = flat / address_counts(tangent, self.sizes(), self.strides(), s);
    return as_strided(flat, size, stride, s.output);
  }
  Tensor flat = fwd::zeros_on_device_of(tangent, IntSpan(&s.extent, 1), tangent.dtype());
  copy_(as_strided(flat, self.sizes(), self.strides(), s.input), tangent, false);
  return as_strided(flat, size, stride, s.output);
}

Tensor packed(const Tensor& t) {
  return t.is_contiguous() && t.storage_offset() == 0 && !t.impl()->has(kDelegated)
             ? t
             : clone(t, MemoryFormat::Contiguous);
}

namespace {
// The memory in which as_strided_scatter replaces a part: `input` is where self's copy begins, `output` where the part
// does.
struct ScatterMemory : Stretch {
  ScatterMemory(IntSpan sizes, const Dims& strides, int64_t offset, IntSpan size, IntSpan stride,
                std::optional<int64_t> storage_offset)
      : Stretch(sizes, strides, offset, size, stride, storage_offset), strides(strides) {}
  static ScatterMemory of(IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size, IntSpan stride,
                          std::optional<int64_t> at) {
    if (has_internal_overlap(sizes, strides)) return {sizes, contiguous_strides(sizes), 0, size, stride, at};
    return {sizes, Dims(strides.begin(), strides.end()), offset, size, stride, at};
  }
  // The values `t`, with the layout of self's copy.
  Tensor holding(const Tensor& t) const {
    Tensor memory = fwd::zeros_on_device_of(t, IntSpan(&extent, 1), t.dtype());
    return as_strided(as_strided_scatter(memory, t, t.sizes(), strides, input), t.sizes(), strides, input);
  }
  Dims strides;
};
}  // namespace

Tensor strided_scatter_self(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                            IntSpan stride, std::optional<int64_t> storage_offset) {
  auto memory = ScatterMemory::of(sizes, strides, offset, size, stride, storage_offset);
  Tensor zeros = fwd::zeros_on_device_of(grad, size, grad.dtype());
  return as_strided_scatter(memory.holding(grad), zeros, size, stride, memory.output);
}
Tensor strided_scatter_src(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                           IntSpan stride, std::optional<int64_t> storage_offset) {
  auto memory = ScatterMemory::of(sizes, strides, offset, size, stride, storage_offset);
  return as_strided(memory.holding(grad), size, stride, memory.output);
}
Tensor as_strided_scatter_tangent(const Tensor& self_t, const Tensor& src_t, const Tensor& self, IntSpan size,
                                  IntSpan stride, std::optional<int64_t> storage_offset) {
  auto memory = ScatterMemory::of(self.sizes(), self.strides(), self.storage_offset(), size, stride, storage_offset);
  return as_strided_scatter(memory.holding(zeros_if_undefined(self_t, self)),
                            src_t.defined() ? src_t : fwd::zeros_on_device_of(self, size, self.dtype()), size, stride,
                            memory.output);
}

Tensor permute_backward(const Tensor& grad, IntSpan dims) {
  Dims inverse(dims.size());
  for (size_t i = 0; i < dims.size(); i++)
    inverse[static_cast<size_t>(wrap_dim(dims[i], static_cast<int64_t>(dims.size())))] = static_cast<int64_t>(i);
  return permute(grad, inverse);
}

Tensor unsqueeze_to(const Tensor& grad, IntSpan sizes, IntSpan dims) {
  int64_t n = static_cast<int64_t>(sizes.size());
  uint64_t mask = dim_mask(dims, n, false);
  Tensor out = grad;
  for (int64_t d = 0; d < n; d++)
    if ((mask >> d & 1) && sizes[static_cast<size_t>(d)] == 1) out = unsqueeze(out, d);
  return out;
}

Tensor narrow_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t start, int64_t length) {
  int64_t size = sizes[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())))];
  int64_t from = start < 0 ? start + size : start;
  return slice_backward(grad, sizes, dim, from, from + length, 1);
}

Tensor unfold_backward(const Tensor& grad, IntSpan sizes, int64_t dimension, int64_t step) {
  if (is_dispatched_whole(grad))
    return delegated::call<Tensor>("aten::unfold_backward", {grad, sizes, dimension, grad.size(-1), step});
  int64_t n = static_cast<int64_t>(sizes.size()), d = wrap_dim(dimension, n);
  Dims strides = contiguous_strides(sizes);
  int64_t stride = n ? strides[static_cast<size_t>(d)] : 1;
  if (n) strides[static_cast<size_t>(d)] *= step;
  strides.push_back(stride);
  return reshape(_strided_sum(grad, grad.sizes(), strides, 0, product(sizes)), sizes);
}

Tensor copy_tangent(const Tensor& self, const Tensor& src_t) {
  if (!src_t.defined()) return fwd::zeros_on_device_of(self, self.sizes(), self.dtype());
  return copy(self, src_t, false);
}
Tensor fill_tangent(const Tensor& self, const Tensor& value_t) {
  if (!value_t.defined()) return fwd::zeros_on_device_of(self, self.sizes(), self.dtype());
  return clone(expand(value_t, self.sizes()), MemoryFormat::Contiguous);
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Dims& s : sizes) {
    if (s.size() == 1 && s[0] == 0) {  // an empty vector, which can be joined with any shape
      out.push_back(fwd::zeros_on_device_of(grad, s, grad.dtype()));
      continue;
    }
    int64_t d = wrap_dim(dim, grad.dim()), n = s[static_cast<size_t>(d)];
    out.push_back(slice(grad, d, at, at + n, 1));
    at += n;
  }
  return out;
}

std::vector<Tensor> block_diag_backward(const Tensor& grad, const std::vector<Dims>& sizes) {
  std::vector<Tensor> out;
  int64_t r = 0, c = 0;
  for (const Dims& s : sizes) {
    int64_t h = s.size() == 2 ? s[0] : 1, w = s.empty() ? 1 : s.back();
    Tensor block = slice(slice(grad, 0, r, r + h, 1), 1, c, c + w, 1);
    out.push_back(s.size() == 2 ? block : reshape(clone(block, std::nullopt), s));
    r += h;
    c += w;
  }
  return out;
}

// Views the result as pairs (count, size) and sums over the counts.
Tensor repeat_backward(const Tensor& grad, IntSpan repeats, IntSpan sizes) {
  int64_t n = static_cast<int64_t>(repeats.size()), lead = n - static_cast<int64_t>(sizes.size());
  if (product(repeats) == 0) return fwd::zeros_on_device_of(grad, sizes, grad.dtype());
  Dims pairs, counts;
  for (int64_t d = 0; d < n; d++) {
    pairs.push_back(repeats[static_cast<size_t>(d)]);
    pairs.push_back(d < lead ? 1 : sizes[static_cast<size_t>(d - lead)]);
    counts.push_back(2 * d);
  }
  if (n == 0) return grad;
  return reshape(sum(reshape(grad, pairs), IntSpan(counts), false, std::nullopt), sizes);
}

Tensor roll_backward(const Tensor& grad, IntSpan shifts, IntSpan dims) {
  Dims back;
  for (int64_t s : shifts) back.push_back(-s);
  return roll(grad, back, dims);
}

}  // namespace undertow::core::ops
