// conversions.cpp: forward functions of ops/copy.toml.
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/kernels/backend.h"
#include "core/kernels/copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/asynchronous_copies.h"
#include "generated/fwd_copy.h"

namespace undertow::core::fwd {

Tensor clone(const Tensor& self, std::optional<MemoryFormat> format) {
  return _to_copy(self, self.dtype(), format, std::nullopt);
}

Tensor _to_copy(const Tensor& self, DType dtype, std::optional<MemoryFormat> format, std::optional<Device> device) {
  if (is_complex(self.dtype()) && !is_complex(dtype) && dtype != DType::Bool)
    warn_once("Casting complex values to real discards the imaginary part");
  if (UT_LIKELY(dtype == self.dtype() && !self.impl()->has(kConj | kNeg) && !format && !device))
    return clone_preserve(self);
  Tensor out = empty_in_format(self, dtype, format.value_or(MemoryFormat::Preserve), device.value_or(self.device()));
  copy_into(out, self);
  return out;
}

Tensor copy(const Tensor& self, const Tensor& src, bool) {
  Tensor out = empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  copy_into(out, src);
  return out;
}
void copy_out(const Tensor& out, const Tensor&, const Tensor& src, bool non_blocking) {
  if (out.is_same(src)) return;
  check_no_internal_overlap(out);
  if (src.is_complex() && !out.is_complex() && out.dtype() != DType::Bool)
    warn_once("Casting complex values to real discards the imaginary part");
  if (UT_LIKELY(out.device() == src.device())) return copy_into(out, src);
  AsynchronousCopies asynchronous(non_blocking);
  copy_into(out, src);
}

Tensor fill(const Tensor& self, const Scalar& value) {
  Tensor out = empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  fill_into(out, value);
  return out;
}
void fill_out(const Tensor& out, const Tensor&, const Scalar& value) { fill_into(out, value); }

Tensor fill(const Tensor& self, const Tensor& value) {
  Tensor out = empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  fill_out(out, self, value);
  return out;
}
void fill_out(const Tensor& out, const Tensor&, const Tensor& value) {
  UT_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
           " dimensions.");
  if (value.is_cpu())  // its element is at hand; reading it elsewhere would wait for the device
    fill_into(out, item(value));
  else
    copy_into(out, value);
}

Tensor zero(const Tensor& self) { return fill(self, Scalar(0)); }
void zero_out(const Tensor& out, const Tensor&) { fill_into(out, Scalar(0)); }

bool has_elements(const Tensor& t) { return backend_of(t).has_elements && !t.impl()->has(kDispatched); }

Scalar item(const Tensor& self) {
  UT_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  return backend_of(self).copy->item(materialize_bits(self));
}

}  // namespace undertow::core::fwd
