// index.cpp: advanced indexing: x[indices] and x[indices] = values for integer tensors and masks.
//
// Note [Advanced Indices]
// Masks become one integer tensor per dimension they cover. All integer tensors are broadcast to one shape, which
// replaces the indexed dimensions: in their place if they are adjacent, in front otherwise. The indexed tensor is then
// viewed with stride zero over that shape, and one tensor of byte offsets gives the element for each index.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::fwd {

namespace {

// The lists of indices, and the layout of the result.
struct Indexed {
  SmallVector<Tensor, 4> positions;  // int64, row-major, of the broadcast index shape
  SmallVector<IndexedDim, 4> dims;   // the dimensions of self they index
  Dims sizes, strides;               // of the result; strides are self's, with zero for the index dimensions
  size_t first = 0, count = 0;       // the range of index dimensions in the result
  bool adjacent = true;

  TensorSpan lists() const { return {positions.data(), positions.size()}; }
  std::span<const IndexedDim> indexed() const { return {dims.data(), dims.size()}; }
};

bool is_mask(const Tensor& t) { return t.defined() && (t.dtype() == DType::Bool || t.dtype() == DType::UInt8); }

// Names the CPU: lists of positions there go with every tensor, as in torch.
void check_devices(const Tensor& self, TensorSpan indices) {
  for (const Tensor& t : indices)
    UT_CHECK(!t.defined() || t.is_cpu() || t.device() == self.device(),
             "indices should be either on cpu or on the same device as the indexed tensor (", self.device(), ")");
}

// Integer tensors on self's device; masks are converted to indices.
void expand_masks(const Tensor& self, TensorSpan indices, SmallVector<Tensor, 4>& out) {
  for (const Tensor& t : indices) {
    if (!t.defined()) {
      out.push_back(t);
      continue;
    }
    bool mask = is_mask(t);
    UT_CHECK_INDEX(mask || t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
                   "tensors used as indices must be long, int, byte or bool tensors; got ", t.dtype());
    if (!mask) {
      out.push_back(on_device(as_int64(t), self.device()));
      continue;
    }
    if (t.dtype() == DType::UInt8)
      warn("indexing with dtype undertow.uint8 is now deprecated, please use a dtype undertow.bool instead.");
    size_t at = out.size();
    UT_CHECK_INDEX(static_cast<int64_t>(at) + t.dim() <= self.dim(), "too many indices for tensor of dimension ",
                   self.dim());
    for (int64_t d = 0; d < t.dim(); d++)
      UT_CHECK_INDEX(t.size(d) == self.size(static_cast<int64_t>(at) + d), "The shape of the mask ",
                     ShapeText{t.sizes()}, " at index ", d, " does not match the shape of the indexed tensor ",
                     ShapeText{self.sizes()}, " at index ", static_cast<int64_t>(at) + d);
    for (Tensor& column : nonzero(t, std::true_type())) out.push_back(on_device(column, self.device()));
  }
}

void raise_position_out_of_range(int64_t position, int64_t dim, int64_t size) {
  UT_CHECK_INDEX(size > 0, "index is out of bounds for dimension with size 0: index ", position, " of dimension ", dim);
  UT_FAIL_AS(Index, "index ", position, " is out of bounds for dimension ", dim, " with size ", size);
}

// The byte offset of each index from self's first element.
Tensor offsets_of(const Tensor& self, const Indexed& r) {
  Tensor out = empty_on_device_of(self, IntSpan(r.sizes).subspan(r.first, r.count), DType::Int64);
  backend_of(self).index->offsets(out, r.lists(), r.indexed());
  return out;
}

// A single mask over all elements needs no list of indices.
const Tensor* full_mask(const Tensor& self, TensorSpan indices) {
  if (indices.size() != 1 || !indices[0].defined() || self.dim() == 0) return nullptr;
  const Tensor& t = indices[0];
  return t.dtype() == DType::Bool && same(t.sizes(), self.sizes()) && t.device() == self.device() ? &t : nullptr;
}

Indexed resolve(const Tensor& self, TensorSpan given) {
  SmallVector<Tensor, 4> indices;
  expand_masks(self, given, indices);
  UT_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(), "too many indices for tensor of dimension ",
                 self.dim(), " (got ", indices.size(), ")");
  while (static_cast<int64_t>(indices.size()) < self.dim()) indices.push_back(Tensor());

  Dims shape, indexed, plain;
  bool adjacent = true;
  for (size_t d = 0; d < indices.size(); d++) {
    if (!indices[d].defined()) {
      plain.push_back(static_cast<int64_t>(d));
      continue;
    }
    if (!indexed.empty() && indexed.back() != static_cast<int64_t>(d) - 1) adjacent = false;
    bool fits = true;
    if (indexed.empty()) {
      shape = Dims(indices[d].sizes());
    } else {
      IntSpan s = indices[d].sizes();
      for (size_t i = 0; i < std::min(s.size(), shape.size()); i++) {
        int64_t a = s[s.size() - 1 - i], b = shape[shape.size() - 1 - i];
        fits &= a == b || a == 1 || b == 1;
      }
      if (fits) shape = broadcast_sizes(shape, s);
    }
    if (!fits) {
      std::string list;
      for (const Tensor& t : indices)
        if (t.defined()) list += str(list.empty() ? "" : ", ", ShapeText{t.sizes()});
      UT_FAIL_AS(Index, "shape mismatch: indexing tensors could not be broadcast together with shapes ", list);
    }
    indexed.push_back(static_cast<int64_t>(d));
  }
  UT_CHECK(!indexed.empty(), "index: at least one index must be a tensor; got none for a tensor of shape ",
           ShapeText{self.sizes()});

  Indexed r;
  bool empty = product(shape) == 0;
  for (int64_t d : indexed) {
    const Tensor& t = indices[static_cast<size_t>(d)];
    r.dims.push_back({d, self.size(d), self.stride(d) * self.itemsize(), true, raise_position_out_of_range});
    if (empty) backend_of(self).index->check(t, r.dims.back());
    r.positions.push_back(contiguous(broadcast(t, shape)));
  }
  r.adjacent = adjacent;
  r.first = adjacent ? static_cast<size_t>(indexed.front()) : 0;
  r.count = shape.size();
  auto add_plain = [&](int64_t d) {
    r.sizes.push_back(self.size(d));
    r.strides.push_back(self.stride(d));
  };
  for (size_t i = 0; i < r.first; i++) add_plain(plain[i]);
  for (int64_t s : shape) {
    r.sizes.push_back(s);
    r.strides.push_back(0);
  }
  for (size_t i = r.first; i < plain.size(); i++) add_plain(plain[i]);
  return r;
}

}  // namespace

Tensor view_alias(const Tensor& self) { return alias(self); }

Tensor index(const Tensor& self, TensorSpan indices) {
  check_devices(self, indices);
  if (const Tensor* mask = full_mask(self, indices)) return masked_select(self, *mask);
  Indexed r = resolve(self, indices);
  if (self.is_contiguous() && r.adjacent) {
    Tensor out = empty_on_device_of(self, r.sizes, self.dtype());
    backend_of(self).index->read_rows(out, self, static_cast<int64_t>(r.first), r.lists(), r.indexed());
    return out;
  }
  Tensor offsets = offsets_of(self, r);
  Dims strides(r.sizes.size(), 0);
  for (size_t i = 0; i < r.count; i++) strides[r.first + i] = offsets.stride(static_cast<int64_t>(i));
  ElementwiseIter iter;
  iter.add_output({}, self.dtype());
  iter.add_input(with_layout(self, r.sizes, r.strides));
  iter.add_input(with_layout(offsets, r.sizes, strides));
  iter.build();
  backend_of(self).index->read(iter, self.dtype());
  return iter.output();
}

namespace {
bool is_one_mask(TensorSpan indices) {
  auto given = [](const Tensor& t) { return t.defined(); };
  return std::count_if(indices.begin(), indices.end(), given) == 1 &&
         std::any_of(indices.begin(), indices.end(), is_mask);
}
void check_values_shape(const Tensor& values, const Indexed& r) {
  // Leading dimensions of size one beyond those of the result are allowed.
  IntSpan sizes = values.sizes();
  while (sizes.size() > r.sizes.size() && sizes[0] == 1) sizes = sizes.subspan(1);
  UT_CHECK(is_expandable_to(sizes, r.sizes), "shape mismatch: value tensor of shape ", ShapeText{values.sizes()},
           " cannot be broadcast to indexing result of shape ", ShapeText{r.sizes});
}
}  // namespace

void index_put_out(const Tensor& out, const Tensor&, TensorSpan indices, const Tensor& values, bool accumulate) {
  if (UT_UNLIKELY(out.dtype() != values.dtype())) {
    if (!accumulate && values.numel() == 1 && is_one_mask(indices) && (out.is_complex() || !values.is_complex()))
      return index_put_out(out, out, indices, to_dtype(values, out.dtype()), false);  // as masked_fill_ does
    check_values_shape(values, resolve(out, indices));                                // reported first, as in torch
    UT_FAIL("Index put requires the source and destination dtypes match, got ", long_name(out.dtype()),
            " for the destination and ", long_name(values.dtype()), " for the source.");
  }
  UT_CHECK(values.device() == out.device() || (values.is_cpu() && values.dim() == 0),
           "index_put_: expected all tensors to be on the same device, but found values on ", values.device(),
           " and self on ", out.device());
  check_devices(out, indices);
  if (out.dtype() == DType::Float8_e8m0fnu) throw_not_implemented("index_put", out.dtype());
  if (UT_UNLIKELY(accumulate && is_storage(out.dtype()) && !is_wide_unsigned(out.dtype()))) {
    Tensor wide = to_carrier(out);
    index_put_out(wide, wide, indices, to_carrier(values), true);
    return copy_into(out, wide);
  }
  warn_if_expanded(out, "index_put_", "tensor[indices] = tensor");
  const bool masked = std::any_of(indices.begin(), indices.end(), is_mask);
  if (!masked || values.numel() != 1) check_no_overlap(out, values);  // one value under a mask is read before the write
  for (const Tensor& index : indices)
    if (index.defined() && !is_mask(index)) check_no_overlap(out, index);
  if (masked && backend_of(out).index->put_masked(out, indices, values, accumulate)) return;
  Indexed r = resolve(out, indices);
  Tensor offsets = offsets_of(out, r);
  check_values_shape(values, r);
  Tensor from = on_device(values, out.device());
  while (from.dim() > static_cast<int64_t>(r.sizes.size()))
    from = with_layout(from, from.sizes().subspan(1), from.strides().subspan(1));
  from = broadcast(copy_if_overlapping(out, from), r.sizes);
  backend_of(out).index->write(with_layout(out, r.sizes, r.strides), offsets, static_cast<int64_t>(r.first), from,
                               accumulate ? Update::Add : Update::Set);
}

Tensor index_put(const Tensor& self, TensorSpan indices, const Tensor& values, bool accumulate) {
  Tensor out = clone_preserve(self);
  index_put_out(out, self, indices, values, accumulate);
  return out;
}

}  // namespace undertow::core::fwd
