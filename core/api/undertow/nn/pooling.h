// pooling.h: pooling as modules.
#pragma once
#include <undertow/nn/function_module.h>

namespace undertow::nn {

#define UT_POOL(D)                                                                                     \
  class MaxPool##D##dImpl : public detail::FunctionModule<MaxPool##D##dImpl, MaxPool##D##dOptions> {   \
   public:                                                                                             \
    using FunctionModule::FunctionModule;                                                              \
    Tensor forward(const Tensor& input) { return functional::max_pool##D##d(input, options); }         \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input) {                             \
      return functional::max_pool##D##d_with_indices(input, options);                                  \
    }                                                                                                  \
  };                                                                                                   \
  UNDERTOW_MODULE(MaxPool##D##d);                                                                      \
  UNDERTOW_FUNCTION_MODULE(AvgPool##D##d, AvgPool##D##dOptions, functional::avg_pool##D##d(input, o)); \
  UNDERTOW_FUNCTION_MODULE(AdaptiveAvgPool##D##d, AdaptiveAvgPool##D##dOptions,                        \
                           functional::adaptive_avg_pool##D##d(input, o));                             \
  UNDERTOW_FUNCTION_MODULE(AdaptiveMaxPool##D##d, AdaptiveMaxPool##D##dOptions,                        \
                           functional::adaptive_max_pool##D##d(input, o))
UT_POOL(1);
UT_POOL(2);
UT_POOL(3);
#undef UT_POOL

}  // namespace undertow::nn
