// complex.cpp: forward functions between real and complex tensors (ops/complex.toml).
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/pointwise.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/elementwise_iter.h"
#include "generated/fwd_complex.h"

namespace undertow::core::fwd {

Tensor angle(const Tensor& self) {
  return angle_kernel(is_integral(self.dtype()) ? to_dtype(self, default_dtype()) : self);
}
Tensor conj_physical(const Tensor& self) { return self.is_complex() ? conj_kernel(self) : self; }

namespace {
// The output and two real inputs of the same dtype.
ElementwiseIter pairs(const Tensor& first, const Tensor& second) {
  auto supported = [](DType t) { return t == DType::Float32 || t == DType::Float64 || t == DType::Float16; };
  UT_CHECK(supported(first.dtype()) && supported(second.dtype()),
           "Expected both inputs to be Half, Float or Double tensors but got ", long_name(first.dtype()), " and ",
           long_name(second.dtype()));
  UT_CHECK(first.dtype() == second.dtype(), "Expected object of scalar type ", long_name(first.dtype()),
           " but got scalar type ", long_name(second.dtype()), " for second argument");
  ElementwiseIter iter;
  iter.add_output({}, to_complex(first.dtype()));
  iter.add_input(first);
  iter.add_input(second);
  iter.build();
  return iter;
}
}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  if (real.dtype() == DType::Float16 && imag.dtype() == DType::Float16)
    return to_dtype(complex(to_dtype(real, DType::Float32), to_dtype(imag, DType::Float32)), DType::Complex32);
  ElementwiseIter iter = pairs(real, imag);
  backend_of(iter.device()).pointwise->complex(iter, real.dtype());
  return iter.output();
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  if (abs.dtype() == DType::Float16 && angle.dtype() == DType::Float16) throw_not_implemented("polar_cpu", abs.dtype());
  ElementwiseIter iter = pairs(abs, angle);
  backend_of(iter.device()).pointwise->polar(iter, abs.dtype());
  return iter.output();
}

}  // namespace undertow::core::fwd
