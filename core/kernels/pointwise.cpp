// pointwise.cpp: see pointwise.h.
#include "core/kernels/pointwise.h"

#include "core/tensor/promotion.h"

namespace undertow {

PointwiseOp::PointwiseOp(const char* name, Promote promote, void (*fill)(LoopFn*), const char* bool_error)
    : name_(name), bool_error_(bool_error), promote_(promote) {
  fill(table_);
  for (int i = 0; i < kNumDTypes; i++) {
    DType t = static_cast<DType>(i);
    results_[i] = promote == Promote::Bool ? DType::Bool : promote == Promote::Real ? to_real(t) : t;
  }
}

void PointwiseOp::check_dtype(DType t) const {
  LoopFn f = loop(t);
  UT_CHECK(f || t != DType::Bool || !bool_error_, bool_error_);
  UT_CHECK_AS(NotImplemented, f, "\"", name_, "\" not implemented for '", long_name(t), "'");
}

DType PointwiseOp::compute_dtype(DType common) const {
  return promote_ == Promote::Float && is_integral(common) ? default_dtype() : common;
}

}  // namespace undertow
