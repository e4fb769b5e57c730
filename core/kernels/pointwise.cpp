// pointwise.cpp: see pointwise.h.
#include "core/kernels/pointwise.h"

#include "core/tensor/dtype/promotion.h"

namespace undertow::core {

PointwiseOp::PointwiseOp(const char* name, const char* kernel_name, Promote promote, void (*fill)(LoopFn*),
                         uint8_t storage, const char* bool_error)
    : name_(name), kernel_name_(kernel_name), bool_error_(bool_error), promote_(promote), storage_(storage) {
  fill(table_);
  for (int i = 0; i < kNumDTypes; i++) {
    DType t = static_cast<DType>(i);
    results_[i] = promote == Promote::Bool ? DType::Bool : promote == Promote::Real ? to_real(t) : t;
  }
}

void PointwiseOp::check_dtype(DType t) const {
  LoopFn f = loop(t);
  UT_CHECK(f || t != DType::Bool || !bool_error_, bool_error_);
  if (!f) throw_not_implemented(name_, t);
}

DType PointwiseOp::carrier(DType t, size_t operands) const {
  if (!(storage_ & storage_group(t)) || (t == DType::Float8_e8m0fnu && promote_ == Promote::Real))
    throw_not_implemented(name_, t);
  if (t == DType::Complex32) return DType::Complex64;
  if (is_float8(t)) return DType::Float32;
  // int64 has the bits of uint64, which is enough for what is not ordered; a question about one number (is it
  // negative?) needs its sign.
  return promote_ == Promote::Bool && operands == 1 ? DType::Float64 : DType::Int64;
}

DType PointwiseOp::compute_dtype(DType common) const {
  return promote_ == Promote::Float && is_integral(common) ? default_dtype() : common;
}

}  // namespace undertow::core
