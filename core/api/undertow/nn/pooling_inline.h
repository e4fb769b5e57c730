// pooling_inline.h: the pooling of nn::functional that few programs use: power averages, and the inverse of max
// pooling. The reference is undertow/nn/_functions/pooling_special.py.
#pragma once
#include <cmath>
#include <vector>

#include <undertow/functions.h>
#include <undertow/nn/functional.h>

namespace undertow::nn::functional {
namespace detail {

// The requested size, which must be within one stride of the default size.
template <std::size_t D>
std::vector<int64_t> unpooled_size(const Tensor& input, const MaxUnpoolFuncOptions<D>& o) {
  constexpr auto kSpace = static_cast<int64_t>(D);
  UT_CHECK(input.dim() == kSpace + 1 || input.dim() == kSpace + 2, "max_unpool", D, "d: expected a ", D + 1, "D or ",
           D + 2, "D input, but got ", input.dim(), "D");
  std::vector<int64_t> size;
  for (std::size_t d = 0; d < D; d++)
    size.push_back((input.size(static_cast<int64_t>(d) - kSpace) - 1) * o.stride()[d] + o.kernel_size()[d] -
                   2 * o.padding()[d]);
  if (!o.output_size()) return size;
  const std::vector<int64_t>& given = *o.output_size();
  UT_CHECK_VALUE(given.size() == D || given.size() == D + 2, "output_size should be a sequence containing ", D, " or ",
                 D + 2, " elements, but it has a length of '", given.size(), "'");
  for (std::size_t d = 0; d < D; d++) {
    const int64_t n = given[given.size() - D + d], stride = o.stride()[d];
    UT_CHECK_VALUE(n > size[d] - stride && n < size[d] + stride, "invalid output_size (dim ", d, " must be between ",
                   size[d] - stride, " and ", size[d] + stride, ", but is ", n, ")");
    size[d] = n;
  }
  return size;
}

template <std::size_t D>
Tensor norm_of(const Tensor& averages, const LPPoolOptions<D>& o) {
  int64_t count = 1;
  for (int64_t n : *o.kernel_size()) count *= n;
  return ((averages.sign() * averages.abs().relu()) * count).pow(1.0 / o.norm_type());
}

}  // namespace detail

inline Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& o) {
  const std::vector<int64_t> size = {detail::unpooled_size(input, o)[0], 1};
  return undertow::max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size).squeeze(-1);
}
inline Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& o) {
  return undertow::max_unpool2d(input, indices, detail::unpooled_size(input, o));
}
inline Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& o) {
  return undertow::max_unpool3d(input, indices, detail::unpooled_size(input, o));
}

#define UT_LP_POOL(D)                                                                                                  \
  inline Tensor lp_pool##D##d(const Tensor& input, const LPPool##D##dFuncOptions& o) {                                 \
    if (std::isinf(o.norm_type()))                                                                                     \
      return max_pool##D##d(input.abs(),                                                                               \
                            MaxPool##D##dFuncOptions(o.kernel_size()).stride(o.stride()).ceil_mode(o.ceil_mode()));    \
    Tensor powers = input.pow(o.norm_type());                                                                          \
    return detail::norm_of(                                                                                            \
        avg_pool##D##d(powers, AvgPool##D##dFuncOptions(o.kernel_size()).stride(o.stride()).ceil_mode(o.ceil_mode())), \
        o);                                                                                                            \
  }
UT_LP_POOL(1)
UT_LP_POOL(2)
UT_LP_POOL(3)
#undef UT_LP_POOL

}  // namespace undertow::nn::functional
