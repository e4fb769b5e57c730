// dispatch.h: dispatch over subsets of the dtypes; see dispatch in dtype.h.
#pragma once
#include "core/tensor/dtype/dtype.h"

namespace undertow::core {

template <class T>
struct RealOfType {
  using type = T;
};
template <class T>
struct RealOfType<std::complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealOfType<T>::type;

// All dtypes that can be ordered, i.e. all except complex. `name` is the operator's name for the error.
template <class F>
decltype(auto) dispatch_real(DType t, const char* name, F&& f) {
  if (UT_UNLIKELY(is_complex(t) || is_storage(t))) throw_not_implemented(name, t);
  using Result = decltype(f(TypeTag<float>{}));
  return dispatch(t, [&](auto tag) -> Result {
    if constexpr (kIsComplex<typename decltype(tag)::type>)
      __builtin_unreachable();
    else
      return f(tag);
  });
}

// float, double and the complex types.
template <class F>
decltype(auto) dispatch_inexact(DType t, F&& f) {
  if (UT_UNLIKELY(t < DType::Float32)) throw_not_implemented(nullptr, t);
  using Result = decltype(f(TypeTag<float>{}));
  return dispatch(t, [&](auto tag) -> Result {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsComplex<T>)
      return f(tag);
    else
      __builtin_unreachable();
  });
}

}  // namespace undertow::core
