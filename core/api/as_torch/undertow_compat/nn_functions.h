// nn_functions.h: free functions of torch:: that are functions of torch::nn::functional here.
#pragma once
#include <undertow/nn.h>

namespace undertow {

inline Tensor dropout(const Tensor& input, double p, bool train) {
  return nn::functional::dropout(input, nn::functional::DropoutFuncOptions().p(p).training(train));
}
inline Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {}) {
  return nn::functional::nll_loss(input, target, nn::functional::NLLLossFuncOptions().weight(weight));
}
inline Tensor max_pool2d(const Tensor& input, IntArrayRef kernel_size) {
  return nn::functional::max_pool2d(input, nn::functional::MaxPool2dFuncOptions(ExpandingArray<2>(kernel_size.vec())));
}

}  // namespace undertow
