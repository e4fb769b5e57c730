// join.cpp: forward functions of ops/join.toml that combine several tensors into one.
#include "core/kernels/join.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_join.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

DType common_dtype(TensorSpan list) {
  Promoter p;
  for (const Tensor& t : list) p.add(t);
  return p.result();
}

// An empty 1-D tensor can be concatenated with anything, for backward compatibility.
bool is_legacy_empty(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

// The memory format that all have in common, else Contiguous.
MemoryFormat common_format(TensorSpan list) {
  std::optional<MemoryFormat> found;
  for (const Tensor& t : list) {
    if (is_legacy_empty(t)) continue;
    MemoryFormat f = suggested_format(t);
    if (f == MemoryFormat::Contiguous || f != found.value_or(f)) return MemoryFormat::Contiguous;
    found = f;
  }
  return found.value_or(MemoryFormat::Contiguous);
}

}  // namespace

Tensor cat(TensorSpan tensors, int64_t dim) {
  UT_CHECK_AS(Value, !tensors.empty(), "undertow.cat(): expected a non-empty list of Tensors");
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    UT_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", &t - tensors.data(), ") cannot be concatenated");
    if (!first && !is_legacy_empty(t)) first = &t;
  }
  DType dtype = common_dtype(tensors);
  if (!first) return empty_on_device_of(tensors[0], Dims{0}, dtype);  // along any dimension, as in torch
  int64_t d = wrap_dim(dim, first->dim());
  Dims sizes(first->sizes());
  int64_t total = 0;
  bool blocks = true;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    if (is_legacy_empty(t)) continue;
    UT_CHECK(t.dim() == first->dim(), "Tensors must have same number of dimensions: got ", first->dim(), " and ",
             t.dim());
    for (int64_t k = 0; k < t.dim(); k++)
      UT_CHECK(k == d || t.size(k) == first->size(k), "Sizes of tensors must match except in dimension ", d,
               ". Expected size ", first->size(k), " but got size ", t.size(k), " for tensor number ", i,
               " in the list.");
    total += t.size(d);
    blocks &= t.is_contiguous() && t.dtype() == dtype;
  }
  sizes[static_cast<size_t>(d)] = total;
  if (MemoryFormat format = common_format(tensors); format != MemoryFormat::Contiguous) {
    Tensor out = empty_strided_on_device_of(*first, sizes, format_strides(sizes, format), dtype);
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      if (is_legacy_empty(t)) continue;
      copy_into(slice(out, d, at, at + t.size(d), 1), t);
      at += t.size(d);
    }
    return out;
  }
  Tensor out = empty_on_device_of(*first, sizes, dtype);
  if (out.numel() == 0) return out;
  if (blocks) {
    backend_of(out).join->cat(out, tensors, d);
    return out;
  }
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (is_legacy_empty(t)) continue;
    copy_into(slice(out, d, at, at + t.size(d), 1), t);
    at += t.size(d);
  }
  return out;
}

Tensor stack(TensorSpan tensors, int64_t dim) {
  UT_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  int64_t d = wrap_dim(dim, tensors[0].dim() + 1);
  for (size_t i = 0; i < tensors.size(); i++)
    UT_CHECK(same(tensors[i].sizes(), tensors[0].sizes()), "stack expects each tensor to be equal size, but got ",
             ShapeText{tensors[0].sizes()}, " at entry 0 and ", ShapeText{tensors[i].sizes()}, " at entry ", i);
  Dims sizes(tensors[0].sizes());
  sizes.insert(static_cast<size_t>(d), static_cast<int64_t>(tensors.size()));
  if (tensors[0].numel() == 0) return empty_on_device_of(tensors[0], sizes, common_dtype(tensors));
  // As torch: joined along an existing dimension, which is then split, so that pictures keep their memory format.
  if (d < tensors[0].dim() && common_format(tensors) != MemoryFormat::Contiguous) return view(cat(tensors, d), sizes);
  std::vector<Tensor> parts;
  // Strides of dimensions of size 1 are computed again: they must not look like a memory format to cat.
  Dims part_sizes(sizes);
  part_sizes[static_cast<size_t>(d)] = 1;
  for (const Tensor& t : tensors) {
    Tensor row_major = contiguous(t);
    parts.push_back(
        alias(row_major, part_sizes, contiguous_strides(part_sizes), row_major.storage_offset(), row_major.dtype()));
  }
  return tensors[0].dim() == 0 && !parts.empty() ? [&] {
    // Zero-dimensional operands keep their category in type promotion.
    DType dtype = common_dtype(tensors);
    for (Tensor& t : parts) t = to_dtype(t, dtype);
    return cat(parts, d);
  }()
                                                 : cat(parts, d);
}

Tensor _block_diag(TensorSpan tensors) {
  int64_t rows = 0, cols = 0;
  for (size_t i = 0; i < tensors.size(); i++) {
    UT_CHECK(tensors[i].dim() <= 2, "undertow.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i,
             " has ", tensors[i].dim(), " dimensions");
    rows += tensors[i].dim() == 2 ? tensors[i].size(0) : 1;
    cols += tensors[i].dim() ? tensors[i].size(-1) : 1;
  }
  if (tensors.empty()) return core::empty(Dims{1, 0}, default_dtype(), kCpu);
  Tensor out = zeros_on_device_of(tensors[0], Dims{rows, cols}, common_dtype(tensors));
  int64_t r = 0, c = 0;
  for (const Tensor& t : tensors) {
    int64_t h = t.dim() == 2 ? t.size(0) : 1, w = t.dim() ? t.size(-1) : 1;
    copy_into(slice(slice(out, 0, r, r + h, 1), 1, c, c + w, 1), t);
    r += h;
    c += w;
  }
  return out;
}

}  // namespace undertow::core::fwd
