// normalization.h: what the normalisations share: the types they compute in, and the kernels for them.
#pragma once
#include <initializer_list>

#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/normalization/normalization_kernels.h"

namespace undertow::fwd {

template <class T>
const cpu::NormalizationKernels<T>& normalization_kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(normalization_float());
  else
    return UNDERTOW_CHOOSE_ISA(normalization_double());
}

// Computed in `wide`. Statistics are kept in `stats`: the input's type, or float where half-typed input has float
// parameters.
struct NormalizationTypes {
  DType wide, stats;
};
// Refuses types that torch refuses; `kernel` is the name its message uses. Parameters may be undefined.
NormalizationTypes normalization_types(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                                       const char* kernel);

// t in the wide type, row-major; an undefined t stays so.
inline Tensor widened(const Tensor& t, DType wide) { return t.defined() ? contiguous(to_dtype(t, wide)) : t; }
template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data_as<T>() : nullptr;
}

// f(TypeTag<float>) or f(TypeTag<double>).
template <class F>
void in_wide(DType wide, F&& f) {
  if (wide == DType::Float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

// A result nobody asked for.
inline Tensor not_wanted(const Tensor& like) {
  const int64_t none = 0;
  return empty(IntSpan(&none, 1), like.dtype());
}

}  // namespace undertow::fwd
