// complex.cpp: forward functions between real and complex tensors (ops/trigonometric.toml), and mvlgamma.
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_special.h"
#include "generated/fwd_trigonometric.h"

namespace undertow::fwd {

Tensor angle(const Tensor& self) {
  return angle_kernel(is_integral(self.dtype()) ? to_dtype(self, default_dtype()) : self);
}
Tensor conj_physical(const Tensor& self) { return self.is_complex() ? conj_kernel(self) : self; }

namespace {
template <class Make>
Tensor pairs(const Tensor& first, const Tensor& second, Make make) {
  auto supported = [](DType t) { return t == DType::Float32 || t == DType::Float64; };
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
  auto run = [&]<class T>(TypeTag<T>) {
    cpu::walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        *reinterpret_cast<std::complex<T>*>(p[0] + i * s[0]) =
            make(*reinterpret_cast<T*>(p[1] + i * s[1]), *reinterpret_cast<T*>(p[2] + i * s[2]));
    });
  };
  if (first.dtype() == DType::Float64)
    run(TypeTag<double>{});
  else
    run(TypeTag<float>{});
  return iter.output();
}
}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  return pairs(real, imag, []<class T>(T x, T y) { return std::complex<T>(x, y); });
}
Tensor polar(const Tensor& abs, const Tensor& angle) {
  return pairs(abs, angle, []<class T>(T r, T a) { return std::complex<T>(r * std::cos(a), r * std::sin(a)); });
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  UT_CHECK(p >= 1, "p has to be greater than or equal to 1, got ", p);
  Tensor sum = lgamma(self);
  for (int64_t j = 1; j < p; j++)
    sum = add(sum, lgamma(sub(self, Scalar(0.5 * static_cast<double>(j)), Scalar(1))), Scalar(1));
  return add(sum, Scalar(static_cast<double>(p * (p - 1)) / 4 * std::log(M_PI)), Scalar(1));
}

}  // namespace undertow::fwd
