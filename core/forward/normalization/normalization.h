// normalization.h: the dtypes in which normalisations are computed.
#pragma once
#include <initializer_list>

#include "core/forward/copy/copy.h"
#include "core/kernels/normalization.h"

namespace undertow::core::fwd {

// Do the kernels of t's device read and write half types?
bool takes_half(const Tensor& t);

// Computed in `wide`. Statistics are stored in `stats`: the input's dtype, or float for half inputs with float
// parameters, and with wide_stats: as in torch, kernels that read half types keep what they computed.
struct NormalizationTypes {
  DType wide, stats;
};
// Raises torch's error for dtypes that torch does not accept; `kernel` is the name in its message. Parameters may be
// undefined.
NormalizationTypes normalization_types(const Tensor& input, std::initializer_list<const Tensor*> parameters,
                                       const char* kernel, bool wide_stats = false);

// t in the wide dtype, row-major; an undefined t stays undefined.
inline Tensor widened(const Tensor& t, DType wide) { return t.defined() ? contiguous(to_dtype(t, wide)) : t; }
// A weight or bias as the input's device takes it.
Tensor parameter_for(const Tensor& input, const Tensor& parameter, DType wide);
// A placeholder for a result that was not requested.
inline Tensor empty_unwanted(const Tensor& like) { return empty_on_device_of(like, Dims{0}, like.dtype()); }

}  // namespace undertow::core::fwd
