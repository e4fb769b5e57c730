// index.cpp: advanced indexing: x[indices] and x[indices] = values for integer tensors and masks.
//
// Note [Advanced Indices]
// Masks become one integer tensor per dimension they cover; all integer tensors broadcast to one shape, which takes the
// place of the indexed dimensions: where they stood if these are adjacent, in front otherwise. The indexed tensor is
// then seen with stride zero over that shape, and one tensor of byte offsets says which element each position means.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::fwd {

namespace {

// The lists of positions, and how the result is laid out.
struct Indexed {
  SmallVector<Tensor, 4> held;           // int64, row-major, of the broadcast index shape
  SmallVector<cpu::Positions, 4> lists;  // the same, for the kernels
  Dims dims;                             // the dimensions of self they stand for
  Dims sizes, strides;                   // the result's, strides being self's with zero over the index dimensions
  size_t first = 0, count = 0;           // where the index dimensions lie in the result
  int64_t positions = 1;                 // of each list
  bool adjacent = true;
};

void expand_masks(const Tensor& self, TensorSpan indices, SmallVector<Tensor, 4>& out) {
  for (const Tensor& t : indices) {
    if (!t.defined()) {
      out.push_back(t);
      continue;
    }
    bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
    UT_CHECK_INDEX(mask || t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
                   "tensors used as indices must be long, int, byte or bool tensors; got ", t.dtype());
    if (!mask) {
      out.push_back(as_int64(t));
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
    for (Tensor& column : nonzero(t, std::true_type())) out.push_back(std::move(column));
  }
}

void refuse_outside(const Tensor& self, int64_t d, const Tensor& positions) {
  int64_t n = self.size(d);
  if (auto bad = first_outside(positions, -n, n))
    UT_FAIL_AS(Index, "index ", *bad, " is out of bounds for dimension ", d, " with size ", n);
}
void refuse_outside(const Tensor& self, const Indexed& r) {
  for (size_t i = 0; i < r.dims.size(); i++) refuse_outside(self, r.dims[i], r.held[i]);
}

// The bytes from self's first element to each position.
Tensor offsets_of(const Tensor& self, const Indexed& r) {
  Tensor out = empty(IntSpan(r.sizes).subspan(r.first, r.count), DType::Int64);
  if (UT_UNLIKELY(!cpu::byte_offsets(out.data_as<int64_t>(), {r.lists.data(), r.lists.size()}, r.positions)))
    refuse_outside(self, r);
  return out;
}

// One mask that decides about every element needs no positions.
const Tensor* whole_mask(const Tensor& self, TensorSpan indices) {
  if (indices.size() != 1 || !indices[0].defined() || self.dim() == 0) return nullptr;
  return indices[0].dtype() == DType::Bool && same(indices[0].sizes(), self.sizes()) ? &indices[0] : nullptr;
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
  r.positions = product(shape);
  for (int64_t d : indexed) {
    const Tensor& t = indices[static_cast<size_t>(d)];
    if (r.positions == 0) refuse_outside(self, d, t);
    r.held.push_back(contiguous(broadcast(t, shape)));
    r.lists.push_back({r.held.back().data_as<int64_t>(), self.size(d), self.stride(d) * self.itemsize(), true});
  }
  r.adjacent = adjacent;
  r.first = adjacent ? static_cast<size_t>(indexed.front()) : 0;
  r.count = shape.size();
  r.dims = indexed;
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
  if (const Tensor* mask = whole_mask(self, indices)) return masked_select(self, *mask);
  Indexed r = resolve(self, indices);
  if (self.is_contiguous() && r.adjacent) {
    Tensor out = empty(r.sizes, self.dtype());
    if (UT_UNLIKELY(!read_rows(out, self, r.first, r.dims.size(), {r.lists.data(), r.lists.size()}, r.positions)))
      refuse_outside(self, r);
    return out;
  }
  Tensor offsets = offsets_of(self, r);
  Dims strides(r.sizes.size(), 0);
  for (size_t i = 0; i < r.count; i++) strides[r.first + i] = offsets.stride(static_cast<int64_t>(i));
  return read_at({}, with_layout(self, r.sizes, r.strides), with_layout(offsets, r.sizes, strides));
}

void index_put_out(const Tensor& out, const Tensor&, TensorSpan indices, const Tensor& values, bool accumulate) {
  UT_CHECK(out.dtype() == values.dtype(), "Index put requires the source and destination dtypes match, got ",
           long_name(out.dtype()), " for the destination and ", long_name(values.dtype()), " for the source.");
  check_no_internal_overlap(out);
  if (const Tensor* mask = whole_mask(out, indices); mask && put_masked(out, *mask, values, accumulate)) return;
  Indexed r = resolve(out, indices);
  Tensor offsets = offsets_of(out, r);
  // Leading ones beyond the result's dimensions do no harm.
  Tensor from = values;
  while (from.dim() > static_cast<int64_t>(r.sizes.size()) && from.size(0) == 1)
    from = with_layout(from, from.sizes().subspan(1), from.strides().subspan(1));
  UT_CHECK(is_expandable_to(from.sizes(), r.sizes), "shape mismatch: value tensor of shape ", ShapeText{values.sizes()},
           " cannot be broadcast to indexing result of shape ", ShapeText{r.sizes});
  if (out.numel() && &from.storage() == &out.storage()) from = clone_preserve(from);
  from = broadcast(from, r.sizes);

  cpu::IndexUpdate u;
  int64_t w = out.itemsize();
  u.dst = out.data();
  u.src = from.data();
  u.count = r.positions;
  u.dst_offsets = offsets.data_as<int64_t>();
  // The values' own offsets over the index dimensions, in the order of the positions: one step, or a list.
  Dims index_sizes(r.sizes.begin() + r.first, r.sizes.begin() + r.first + r.count), steps;
  for (size_t d = 0; d < r.count; d++) steps.push_back(from.stride(static_cast<int64_t>(r.first + d)) * w);
  bool even = true, inner = true;
  for (int64_t extent = 0, k = static_cast<int64_t>(r.count); k-- > 0;) {
    size_t d = static_cast<size_t>(k);
    if (index_sizes[d] == 1) continue;
    if (inner)
      u.src_step = steps[d];
    else
      even &= steps[d] == extent;
    inner = false;
    extent = steps[d] * index_sizes[d];
  }
  Tensor src_offsets;
  if (!even) {
    src_offsets = empty(index_sizes, DType::Int64);
    int64_t* so = src_offsets.data_as<int64_t>();
    Dims at(r.count, 0);
    for (int64_t k = 0, offset = 0; k < u.count; k++) {
      so[k] = offset;
      for (size_t d = r.count; d-- > 0;) {
        offset += steps[d];
        if (++at[d] < index_sizes[d]) break;
        offset -= steps[d] * index_sizes[d];
        at[d] = 0;
      }
    }
    u.src_offsets = so;
  }
  for (size_t d = r.sizes.size(); d-- > 0;) {
    if (d >= r.first && d < r.first + r.count) continue;
    if (r.sizes[d] == 1) continue;
    int64_t ds = r.strides[d] * w, ss = from.stride(static_cast<int64_t>(d)) * w;
    if (!u.sizes.empty() && ds == u.dst_strides.back() * u.sizes.back() &&
        ss == u.src_strides.back() * u.sizes.back()) {
      u.sizes.back() *= r.sizes[d];
      continue;
    }
    u.sizes.push_back(r.sizes[d]);
    u.dst_strides.push_back(ds);
    u.src_strides.push_back(ss);
  }
  cpu::run_update(u, out.dtype(), accumulate ? Update::Add : Update::Set);
}

Tensor index_put(const Tensor& self, TensorSpan indices, const Tensor& values, bool accumulate) {
  Tensor out = clone_preserve(self);
  index_put_out(out, self, indices, values, accumulate);
  return out;
}

}  // namespace undertow::fwd
