// pooling.h: pooling as modules.
#pragma once
#include <undertow/nn/function_module.h>
#include <undertow/nn/pooling_inline.h>

namespace undertow::nn {

#define UT_POOL(D)                                                                                         \
  class MaxPool##D##dImpl : public detail::FunctionModule<MaxPool##D##dImpl, MaxPool##D##dOptions> {       \
   public:                                                                                                 \
    using FunctionModule::FunctionModule;                                                                  \
    Tensor forward(const Tensor& input) { return functional::max_pool##D##d(input, options); }             \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {                                 \
      return functional::max_pool##D##d_with_indices(input, options);                                      \
    }                                                                                                      \
  };                                                                                                       \
  UNDERTOW_MODULE(MaxPool##D##d);                                                                          \
  class MaxUnpool##D##dImpl : public detail::FunctionModule<MaxUnpool##D##dImpl, MaxUnpool##D##dOptions> { \
   public:                                                                                                 \
    using FunctionModule::FunctionModule;                                                                  \
    Tensor forward(const Tensor& input, const Tensor& indices,                                             \
                   const std::optional<std::vector<int64_t>>& output_size = std::nullopt) {                \
      return functional::max_unpool##D##d(input, indices,                                                  \
                                          functional::MaxUnpool##D##dFuncOptions(options.kernel_size())    \
                                              .stride(options.stride())                                    \
                                              .padding(options.padding())                                  \
                                              .output_size(output_size));                                  \
    }                                                                                                      \
  };                                                                                                       \
  UNDERTOW_MODULE(MaxUnpool##D##d);                                                                        \
  UNDERTOW_FUNCTION_MODULE(LPPool##D##d, LPPool##D##dOptions, functional::lp_pool##D##d(input, o));        \
  UNDERTOW_FUNCTION_MODULE(AvgPool##D##d, AvgPool##D##dOptions, functional::avg_pool##D##d(input, o));     \
  UNDERTOW_FUNCTION_MODULE(AdaptiveAvgPool##D##d, AdaptiveAvgPool##D##dOptions,                            \
                           functional::adaptive_avg_pool##D##d(input, o));                                 \
  class AdaptiveMaxPool##D##dImpl                                                                          \
      : public detail::FunctionModule<AdaptiveMaxPool##D##dImpl, AdaptiveMaxPool##D##dOptions> {           \
   public:                                                                                                 \
    using FunctionModule::FunctionModule;                                                                  \
    Tensor forward(const Tensor& input) { return functional::adaptive_max_pool##D##d(input, options); }    \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {                                 \
      return functional::adaptive_max_pool##D##d_with_indices(input, options);                             \
    }                                                                                                      \
  };                                                                                                       \
  UNDERTOW_MODULE(AdaptiveMaxPool##D##d)
UT_POOL(1);
UT_POOL(2);
UT_POOL(3);
#undef UT_POOL

}  // namespace undertow::nn
