// normalization.h: normalization over the batch, over each sample, or over groups of channels.
#pragma once
#include <undertow/nn/function_module.h>

namespace undertow::nn {

namespace detail {
void initialize_scale(const Tensor& weight, const Tensor& bias);  // ones and zeros

// Weight and bias of each channel, and running statistics.
template <typename Options>
class NormNd : public Module {
 public:
  explicit NormNd(const Options& options_) : options(options_) {}
  void reset_parameters();
  void reset_running_stats();
  Options options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  void register_tensors();
  Tensor normalized(const Tensor& input, int64_t least, int64_t most);  // checks the number of dimensions
  std::string describe() const override;
};
}  // namespace detail

#define UT_NORM(Kind, D, least, most)                                                                         \
  class Kind##D##dImpl : public Cloneable<Kind##D##dImpl, detail::NormNd<Kind##Options>> {                    \
   public:                                                                                                    \
    explicit Kind##D##dImpl(const Kind##Options& options_) : Cloneable(options_) { Kind##D##dImpl::reset(); } \
    void reset() override {                                                                                   \
      register_tensors();                                                                                     \
      reset_parameters();                                                                                     \
    }                                                                                                         \
    Tensor forward(const Tensor& input) { return normalized(input, least, most); }                            \
  };                                                                                                          \
  UNDERTOW_MODULE(Kind##D##d)
UT_NORM(BatchNorm, 1, 2, 3);
UT_NORM(BatchNorm, 2, 4, 4);
UT_NORM(BatchNorm, 3, 5, 5);
UT_NORM(InstanceNorm, 1, 2, 3);
UT_NORM(InstanceNorm, 2, 3, 4);
UT_NORM(InstanceNorm, 3, 4, 5);
#undef UT_NORM

// Each sample, over its last dimensions.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(LayerNormOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  LayerNormOptions options;
  Tensor weight, bias;

 protected:
  std::string describe() const override;
};
UNDERTOW_MODULE(LayerNorm);

// Each sample divided by its root mean square over the last dimensions.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  RMSNormImpl(std::vector<int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions options_);
  void reset() override;
  Tensor forward(const Tensor& input);
  RMSNormOptions options;
  Tensor weight;
};
UNDERTOW_MODULE(RMSNorm);

class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  GroupNormOptions options;
  Tensor weight, bias;

 protected:
  std::string describe() const override;
};
UNDERTOW_MODULE(GroupNorm);

UNDERTOW_FUNCTION_MODULE(LocalResponseNorm, LocalResponseNormOptions, functional::local_response_norm(input, o));

}  // namespace undertow::nn

#include <undertow/nn/normalization_inline.h>
