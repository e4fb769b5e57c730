// pointwise.h: kernels of one element at a time: what a pointwise operator of the tables is, and how a backend runs it.
#pragma once
#include "core/kernels/kernel.h"
#include "core/kernels/pointwise_loop.h"
#include "core/tensor/scalar.h"

namespace undertow {

// How the dtype of computation and of the result follow from the operands.
enum class Promote : uint8_t {
  Arith,  // the common dtype
  Float,  // the common dtype, integers becoming the default float
  Bool,   // computed in the common dtype, the result is bool
  Real,   // the common dtype, complex giving its real part's dtype
};

// One pointwise operator of the tables. Other devices find their own loops by its name.
class PointwiseOp {
 public:
  // `fill` puts the CPU's loops into a table by dtype. A dtype without a loop is one that the operator does not compute
  // in, on any device.
  PointwiseOp(const char* name, Promote promote, void (*fill)(LoopFn*), const char* bool_error = nullptr);
  LoopFn loop(DType t) const { return table_[static_cast<int>(t)]; }
  void check_dtype(DType t) const;  // raises where the operator does not compute in t
  const char* name() const { return name_; }
  DType compute_dtype(DType common) const;
  DType result_dtype(DType compute) const { return results_[static_cast<int>(compute)]; }

 private:
  LoopFn table_[kNumDTypes] = {};
  DType results_[kNumDTypes];
  const char* name_;
  const char* bool_error_;
  Promote promote_;
};

struct PointwiseKernels {
  // Computes iter's output from its inputs, all of dtype `compute` (constants too). params: the operator's numbers.
  Kernel<"pointwise", void(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params)>
      run;
};

}  // namespace undertow
