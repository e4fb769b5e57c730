// nn_functions.h: free functions of torch:: with positional arguments that are functions of torch::nn::functional here.
#pragma once
#include <undertow/functions.h>
#include <undertow/nn.h>

namespace undertow {

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

inline Tensor dropout(const Tensor& input, double p, bool train) {
  return nn::functional::dropout(input, nn::functional::DropoutFuncOptions().p(p).training(train));
}
inline Tensor feature_dropout(const Tensor& input, double p, bool train) {
  return nn::functional::dropout2d(input, nn::functional::Dropout2dFuncOptions().p(p).training(train));
}
inline Tensor nll_loss(const Tensor& self, const Tensor& target, const optional<Tensor>& weight = {},
                       int64_t reduction = Reduction::Mean, int64_t ignore_index = -100) {
  return nll_loss_nd(self, target, weight, reduction, ignore_index);
}
inline Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean,
                     bool log_target = false) {
  Tensor each =
      nn::functional::kl_div(self, target, nn::functional::KLDivFuncOptions().reduction(kNone).log_target(log_target));
  return reduction == Reduction::Mean ? each.mean() : reduction == Reduction::Sum ? each.sum() : each;
}
inline Tensor glu(const Tensor& self, int64_t dim = -1) { return nn::functional::glu(self, dim); }
inline Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  return nn::functional::pixel_shuffle(self, upscale_factor);
}
inline Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  return nn::functional::pixel_unshuffle(self, downscale_factor);
}

// Pooling. An empty stride is the kernel's size.
#define UT_POOLING(D)                                                                                             \
  inline Tensor max_pool##D##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},              \
                               IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false) {       \
    using Size = ExpandingArray<D>;                                                                               \
    return nn::functional::max_pool##D##d(self, nn::functional::MaxPool##D##dFuncOptions(Size(kernel_size.vec())) \
                                                    .stride(Size((stride.empty() ? kernel_size : stride).vec()))  \
                                                    .padding(Size(padding.vec()))                                 \
                                                    .dilation(Size(dilation.vec()))                               \
                                                    .ceil_mode(ceil_mode));                                       \
  }                                                                                                               \
  inline Tensor avg_pool##D##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},              \
                               IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true) {  \
    using Size = ExpandingArray<D>;                                                                               \
    return nn::functional::avg_pool##D##d(self, nn::functional::AvgPool##D##dFuncOptions(Size(kernel_size.vec())) \
                                                    .stride(Size((stride.empty() ? kernel_size : stride).vec()))  \
                                                    .padding(Size(padding.vec()))                                 \
                                                    .ceil_mode(ceil_mode)                                         \
                                                    .count_include_pad(count_include_pad));                       \
  }                                                                                                               \
  inline Tensor adaptive_avg_pool##D##d(const Tensor& self, IntArrayRef output_size) {                            \
    using Sizes = std::vector<optional<int64_t>>;                                                                 \
    return nn::functional::adaptive_avg_pool##D##d(                                                               \
        self, ExpandingArrayWithOptionalElem<D>(Sizes(output_size.begin(), output_size.end())));                  \
  }
UT_POOLING(1)
UT_POOLING(2)
UT_POOLING(3)
#undef UT_POOLING

}  // namespace undertow
