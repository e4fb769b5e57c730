// promotion.h: the result dtype of mixed operands, by torch's three categories.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core {

DType promote_types(DType a, DType b);
DType default_dtype();                // of Python floats; initially float32
void set_default_dtype(DType dtype);  // floating types only
DType default_complex_dtype();
bool can_cast(DType from, DType to);  // may an in-place result of dtype `from` be written to dtype `to`?
DType scalar_dtype(const Scalar& s);  // of a Python number, given the default dtype

// Accumulates operands in three categories: tensors with dimensions, zero-dimensional tensors, Python numbers. A lower
// category matters only if its kind (bool < int < float < complex) is higher.
class Promoter {
 public:
  void add(const Tensor& t) {
    if (UT_UNLIKELY(t.impl()->has(kWrappedNumber)))
      add_number(t.dtype());
    else if (t.dim() > 0)
      join(dim_, t.dtype());
    else
      join(zero_, t.dtype());
  }
  void add(const Scalar& s) { add_number(scalar_dtype(s)); }
  DType result() const;

 private:
  static constexpr int kNone = -1;
  static void join(int& slot, DType t) {
    slot = slot == kNone ? static_cast<int>(t) : static_cast<int>(promote_types(static_cast<DType>(slot), t));
  }
  void add_number(DType t) { join(number_, t); }
  int dim_ = kNone, zero_ = kNone, number_ = kNone;
};

inline DType result_type(const Tensor& a, const Tensor& b) {
  if (UT_LIKELY(a.dtype() == b.dtype())) return a.dtype();
  Promoter p;
  p.add(a);
  p.add(b);
  return p.result();
}
inline DType result_type(const Tensor& a, const Scalar& b) {
  Promoter p;
  p.add(a);
  p.add(b);
  return p.result();
}
inline DType result_type(const Scalar& a, const Tensor& b) { return result_type(b, a); }

}  // namespace undertow::core
