// reduce.h: kernels that fold many elements into one, pick one of many, or add whole tensors.
#pragma once
#include "core/kernels/fold.h"
#include "core/kernels/kernel.h"

namespace undertow {

// What folded elements of dtype `in` are made of: halves are folded in float, sums and products of integers in int64,
// the tests give bool or int64. Raises, naming `name`, where the operation does not exist for that dtype.
inline DType fold_dtype(Fold op, DType in, const char* name) {
  if (op == Fold::Any || op == Fold::All) return DType::Bool;
  if (op == Fold::CountNonzero) return DType::Int64;
  if (is_floating(in)) return is_reduced_float(in) ? DType::Float32 : in;
  bool added = op == Fold::Sum || op == Fold::NanSum || op == Fold::Prod, compared = op == Fold::Max || op == Fold::Min;
  bool exists = is_complex(in) ? op == Fold::Sum || op == Fold::Prod : added || compared;
  UT_CHECK_AS(NotImplemented, exists, "\"", name, "\" not implemented for '", long_name(in), "'");
  return is_complex(in) || compared ? in : DType::Int64;
}

// What becomes of each folded value.
enum class Finish : uint8_t {
  Divide,        // v / number; complex values too
  Sqrt,          // the square root
  Power,         // v to the power of number
  ZeroInfinite,  // 0 where v is infinite
  ScaleDownTo,   // number / (v + 1e-7) where v > number, else 1
};

struct ReduceKernels {
  // out = in folded over the dimensions of mask. out is row-major, of the kept sizes (with or without the reduced
  // dimensions) and of fold_dtype; in has elements, and any strides.
  Kernel<"sum", void(const Tensor& out, const Tensor& in, uint64_t mask, Fold op)> fold;
  // In place, on a row-major tensor of float or double.
  Kernel<"sum", void(const Tensor& t, Finish op, double number)> finish;
  // out = |in|, both row-major; float, double or complex.
  Kernel<"abs", void(const Tensor& out, const Tensor& in)> magnitudes;
  // sum = log(sum) + most: the last step of logsumexp. Row-major, of one shape; most is real.
  Kernel<"logsumexp", void(const Tensor& sum, const Tensor& most)> log_plus;
  // at = where along d the value of `values` (row-major, d kept with size one) stands first in `in`. NaN equals NaN.
  Kernel<"argmax", void(const Tensor& at, const Tensor& in, const Tensor& values, int64_t d)> first_index;
  // One element of each line along d, and its index. values and indices are row-major and have d with size one; in has
  // any strides, and d is not empty. A real dtype.
  Kernel<"median", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan)>
      median;
  Kernel<"kthvalue", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k)>
      kthvalue;  // k counts from 1
  Kernel<"mode", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d)> mode;
  // out = the sum of the terms, in their order; all row-major, of one shape, of float or double.
  Kernel<"add", void(const Tensor& out, TensorSpan terms)> add_n;
};

}  // namespace undertow
