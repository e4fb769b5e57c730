// conv.h: convolutions and transposed convolutions of signals, images and volumes.
#pragma once
#include <undertow/nn/any_module.h>
#include <undertow/nn/options/conv.h>

namespace undertow::nn {

namespace detail {
void initialize_linear(const Tensor& weight, const Tensor& bias);  // uniformly in +-1/sqrt(fan_in)

// What convolutions of any rank share: the weights and their initialization.
template <typename Options>
class ConvNd : public Module {
 public:
  explicit ConvNd(const Options& options_) : options(options_) {}
  void reset_parameters();
  Options options;
  Tensor weight, bias;

 protected:
  void register_weights();
  inline std::string describe() const override;
};
}  // namespace detail

#define UT_CONV(D)                                                                                                     \
  class Conv##D##dImpl : public Cloneable<Conv##D##dImpl, detail::ConvNd<ConvOptions<D>>> {                            \
   public:                                                                                                             \
    Conv##D##dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)                           \
        : Conv##D##dImpl(ConvOptions<D>(in_channels, out_channels, kernel_size)) {}                                    \
    explicit Conv##D##dImpl(const ConvOptions<D>& options_);                                                           \
    inline void reset() override;                                                                                      \
    Tensor forward(const Tensor& input);                                                                               \
  };                                                                                                                   \
  UNDERTOW_MODULE(Conv##D##d);                                                                                         \
  class ConvTranspose##D##dImpl : public Cloneable<ConvTranspose##D##dImpl, detail::ConvNd<ConvTransposeOptions<D>>> { \
   public:                                                                                                             \
    ConvTranspose##D##dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)                  \
        : ConvTranspose##D##dImpl(ConvTransposeOptions<D>(in_channels, out_channels, kernel_size)) {}                  \
    explicit ConvTranspose##D##dImpl(const ConvTransposeOptions<D>& options_);                                         \
    inline void reset() override;                                                                                      \
    Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);                 \
  };                                                                                                                   \
  UNDERTOW_MODULE(ConvTranspose##D##d)
UT_CONV(1);
UT_CONV(2);
UT_CONV(3);
#undef UT_CONV

}  // namespace undertow::nn

#include <undertow/nn/conv_inline.h>
