// copy.cpp: see copy.h.
#include "core/forward/copy/copy.h"

#include "core/kernels/backend.h"
#include "core/kernels/copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

namespace {

// src broadcast to `sizes` without a copy.
Tensor broadcast_to(const Tensor& src, IntSpan sizes) {
  if (same(src.sizes(), sizes)) return src;
  Dims strides(sizes.size(), 0);
  size_t lead = sizes.size() - src.sizes().size();
  for (size_t d = 0; d < src.sizes().size(); d++) strides[lead + d] = src.sizes()[d] == 1 ? 0 : src.strides()[d];
  return core::alias(src, sizes, strides, src.storage_offset(), src.dtype());
}

void copy_raw(const Tensor& dst, const Tensor& source) {
  Tensor src = broadcast_to(source, dst.sizes());
  check_no_internal_overlap(dst);
  if (UT_LIKELY(dst.device() == src.device())) return backend_of(dst).copy->copy(dst, src);
  // Between devices, the backend that is not the CPU copies.
  backend_of(dst.is_cpu() ? src : dst).copy->copy_across(dst, src);
}
void conj_neg_in_place(const Tensor& t, bool conj, bool neg) { backend_of(t).copy->conj_neg_in_place(t, conj, neg); }

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  if (UT_UNLIKELY(!is_expandable_to(src.sizes(), dst.sizes()))) {
    Dims shape = broadcast_sizes(dst.sizes(), src.sizes());
    UT_FAIL("output with shape ", ShapeText{dst.sizes()}, " doesn't match the broadcast shape ", ShapeText{shape});
  }
  if (dst.numel() == 0 || dst.is_same(src)) return;
  check_no_partial_overlap(dst, src);
  Tensor from = partial_overlap(dst, src) ? clone_preserve(src) : src;
  // If only one side has the bit: copy the memory, then fix it in the destination.
  bool conj = dst.is_conj() != from.is_conj() && dst.is_complex(), neg = dst.is_neg() != from.is_neg();
  if ((conj || neg) && from.dtype() != dst.dtype()) {
    from = materialize_bits(from);
    conj = dst.is_conj() && dst.is_complex();
    neg = dst.is_neg();
  }
  copy_raw(dst, from);
  if (conj || neg) conj_neg_in_place(dst, conj, neg);
}

Tensor to_dtype(const Tensor& src, DType dtype) {
  if (src.dtype() == dtype) return src;
  Tensor in = src.impl()->has(kConj | kNeg) ? materialize_bits(src) : src;
  ElementwiseIter iter;
  iter.add_output({}, dtype);
  iter.add_input(in);
  iter.build();
  copy_raw(iter.output(), in);
  return iter.output();
}

Tensor contiguous(const Tensor& src) {
  return src.is_contiguous() && !src.impl()->has(kConj | kNeg) ? src : contiguous_copy(src);
}
Tensor contiguous_copy(const Tensor& src) {
  Tensor out = empty_on_device_of(src, src.sizes(), src.dtype());
  copy_into(out, src);
  return out;
}

Tensor clone_preserve(const Tensor& src) {
  Tensor out = empty_in_format(src, src.dtype(), MemoryFormat::Preserve);
  if (src.numel() == 0) return out;
  backend_of(src).copy->copy(out, src);
  out.impl()->set(src.impl()->flags & (kConj | kNeg));
  return out;
}

Tensor materialize_bits(const Tensor& src) {
  if (!src.impl()->has(kConj | kNeg)) return src;
  Tensor out = clone_preserve(src);
  bool conj = src.is_conj(), neg = src.is_neg();
  out.impl()->set(kConj | kNeg, false);
  conj_neg_in_place(out, conj, neg);
  return out;
}

}  // namespace undertow::core::fwd
