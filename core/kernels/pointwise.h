// pointwise.h: elementwise kernels: what a pointwise operator of the tables is, and how a backend runs it.
#pragma once
#include <string_view>

#include "core/kernels/kernel.h"
#include "core/kernels/pointwise_loop.h"
#include "core/tensor/dtype/scalar.h"

namespace undertow::core {

// How the compute dtype and the result dtype follow from the operands.
enum class Promote : uint8_t {
  Arith,  // the common dtype
  Float,  // the common dtype, with integers promoted to the default float
  Bool,   // computed in the common dtype; the result is bool
  Real,   // the common dtype; complex gives the dtype of its real part
};

// One pointwise operator of the tables. Other devices look up their own loops by kernel_name().
class PointwiseOp {
 public:
  // `fill` writes the CPU's loops into a table indexed by dtype. A dtype without a loop is not supported by the
  // operator on any device. `storage`: the groups of storage dtypes that it computes with, in their carriers.
  PointwiseOp(const char* name, const char* kernel_name, Promote promote, void (*fill)(LoopFn*), uint8_t storage = 0,
              const char* bool_error = nullptr);
  LoopFn loop(DType t) const { return table_[static_cast<int>(t)]; }
  void check_dtype(DType t) const;                          // raises if the operator does not support t
  const char* name() const { return name_; }                // as in Python: several entries may share it
  const char* kernel_name() const { return kernel_name_; }  // of this entry alone
  // The dtype with kernels in which it computes for `t`, a storage dtype; raises if it does not support t.
  DType carrier(DType t, size_t operands) const;
  DType compute_dtype(DType common) const;
  DType result_dtype(DType compute) const { return results_[static_cast<int>(compute)]; }

 private:
  LoopFn table_[kNumDTypes] = {};
  DType results_[kNumDTypes];
  const char *name_, *kernel_name_;
  const char* bool_error_;
  Promote promote_;
  uint8_t storage_;
};

// Functions of ops/special.toml that are selected by name: of x, and of x and a degree.
bool has_special_function(std::string_view name);
bool has_special_polynomial(std::string_view name);

struct PointwiseKernels {
  // Computes iter's output from its inputs, all of dtype `compute` (constants too). params: the operator's parameters.
  Kernel<"pointwise", void(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params)>
      run;
  // Operands: output, condition (bytes), value if true, value if false. Values of any dtype, all the same.
  Kernel<"where", void(const ElementwiseIter& iter, DType dtype), kAnyStorage> where;
  // Operands: mantissa, exponent (int32), input of dtype `dtype`.
  Kernel<"frexp", void(const ElementwiseIter& iter, DType dtype)> frexp;
  // The next representable number of a half dtype towards the second input; wider dtypes are entries of the tables.
  Kernel<"nextafter", void(const ElementwiseIter& iter, DType half)> nextafter_half;
  // A complex output from two real inputs of dtype `real`: real and imaginary parts, or a radius and an angle.
  Kernel<"complex", void(const ElementwiseIter& iter, DType real)> complex;
  Kernel<"polar", void(const ElementwiseIter& iter, DType real)> polar;
  // Row-major, all float64.
  Kernel<"special", void(const Tensor& out, const Tensor& x, std::string_view name)> special_function;
  Kernel<"special", void(const Tensor& out, const Tensor& x, const Tensor& degrees, std::string_view name)>
      special_polynomial;
};

}  // namespace undertow::core
