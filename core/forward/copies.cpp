// copies.cpp: forward functions of ops/copy.toml.
#include "core/forward/copy.h"
#include "core/forward/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_copy.h"

namespace undertow::fwd {

Tensor clone(const Tensor& self, std::optional<MemoryFormat> format) {
  if (format && *format == MemoryFormat::Contiguous) {
    Tensor out = empty(self.sizes(), self.dtype());
    copy_into(out, self);
    return out;
  }
  return clone_preserve(self);
}

Tensor copy(const Tensor& self, const Tensor& src, bool) {
  Tensor out = is_non_overlapping_and_dense(self.sizes(), self.strides()) ? empty_strided(self.sizes(), self.strides(), self.dtype())
                                                                          : empty(self.sizes(), self.dtype());
  copy_into(out, src);
  return out;
}
void copy_out(const Tensor& out, const Tensor&, const Tensor& src, bool) { copy_into(out, src); }

Tensor fill(const Tensor& self, const Scalar& value) {
  Tensor out = clone_preserve(self);
  fill_into(out, value);
  return out;
}
void fill_out(const Tensor& out, const Tensor&, const Scalar& value) { fill_into(out, value); }

Tensor conj(const Tensor& self) {
  if (!self.is_complex()) return self;
  Tensor out = alias(self);
  out.impl()->set(kConj, !self.is_conj());
  return out;
}
Tensor resolve_conj(const Tensor& self) {
  if (!self.is_conj()) return self;
  return materialize_bits(self);
}
Tensor resolve_neg(const Tensor& self) {
  if (!self.is_neg()) return self;
  return materialize_bits(self);
}

Scalar item(const Tensor& self) {
  UT_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  Tensor plain = materialize_bits(self);
  return dispatch(plain.dtype(), [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    T v = *plain.data_as<T>();
    if constexpr (kIsComplex<T>) return Scalar(std::complex<double>(v.real(), v.imag()));
    else if constexpr (std::is_same_v<T, bool>) return Scalar(v);
    else if constexpr (std::is_integral_v<T>) return Scalar(static_cast<long>(v));
    else return Scalar(static_cast<double>(v));
  });
}

}  // namespace undertow::fwd
namespace undertow::fwd {
Tensor matmul(const Tensor&, const Tensor&) { UT_FAIL("matmul is not here yet"); }
}
