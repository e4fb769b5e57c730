// reduce.cpp: forward functions of ops/reduce.toml.
#include "core/forward/copy.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_reduce.h"

namespace undertow::fwd {

namespace {
DType sum_dtype(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self.dtype()) ? DType::Int64 : self.dtype();
}
}  // namespace

Tensor sum(const Tensor& self, std::optional<DType> dtype) { return sum(self, std::nullopt, false, dtype); }

Tensor sum(const Tensor& self, std::optional<IntSpan> dim, bool keepdim, std::optional<DType> dtype) {
  DType t = sum_dtype(self, dtype);
  Tensor in = contiguous(to_dtype(self, t));
  uint64_t mask = dim_mask(dim.value_or(IntSpan()), in.dim());
  Dims kept, out_sizes;
  for (int64_t d = 0; d < in.dim(); d++) {
    if (mask >> d & 1) {
      if (keepdim) out_sizes.push_back(1);
    } else {
      out_sizes.push_back(in.size(d));
    }
  }
  Tensor out = zeros(out_sizes, t);
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* o = out.data_as<T>();
    auto* p = in.data_as<T>();
    if (mask == ((uint64_t{1} << in.dim()) - 1)) {
      OpMath<T> acc{};
      for (int64_t i = 0; i < in.numel(); i++) acc += static_cast<OpMath<T>>(p[i]);
      *o = T(acc);
      return;
    }
    Dims index(static_cast<size_t>(in.dim()), 0);
    for (int64_t i = 0; i < in.numel(); i++) {
      int64_t at = 0;
      for (int64_t d = 0; d < in.dim(); d++)
        if (!(mask >> d & 1)) at = at * in.size(d) + index[static_cast<size_t>(d)];
      o[at] = T(static_cast<OpMath<T>>(o[at]) + static_cast<OpMath<T>>(p[i]));
      for (int64_t d = in.dim() - 1; d >= 0 && ++index[static_cast<size_t>(d)] == in.size(d); d--) index[static_cast<size_t>(d)] = 0;
    }
  });
  return out;
}

Tensor any(const Tensor& self) {
  Tensor in = contiguous(to_dtype(self, DType::Bool)), out = zeros({}, DType::Bool);
  for (int64_t i = 0; i < in.numel(); i++)
    if (in.data_as<bool>()[i]) *out.data_as<bool>() = true;
  return out;
}

}  // namespace undertow::fwd
