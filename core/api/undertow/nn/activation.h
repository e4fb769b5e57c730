// activation.h: activations as modules.
#pragma once
#include <undertow/functions.h>
#include <undertow/nn/function_module.h>

namespace undertow::nn {

namespace functional {
// A sample of the Gumbel-softmax distribution; with `hard` it is one-hot, with the gradient of the soft sample.
inline Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& o = {}) {
  Tensor noise = -empty_like(logits, TensorOptions(MemoryFormat::Contiguous)).exponential_().log();
  Tensor soft = ((logits + noise) / o.tau()).softmax(o.dim());
  if (!o.hard()) return soft;
  Tensor index = std::get<1>(soft.max(o.dim(), /*keepdim=*/true));
  return zeros_like(logits).scatter_(o.dim(), index, 1.0) - soft.detach() + soft;
}
}  // namespace functional

UNDERTOW_FUNCTION_MODULE(ReLU, ReLUOptions, functional::relu(input, o));
UNDERTOW_FUNCTION_MODULE(ReLU6, ReLU6Options, functional::relu6(input, o));
UNDERTOW_FUNCTION_MODULE(SELU, SELUOptions, functional::selu(input, o));
UNDERTOW_FUNCTION_MODULE(ELU, ELUOptions, functional::elu(input, o));
UNDERTOW_FUNCTION_MODULE(CELU, CELUOptions, functional::celu(input, o));
UNDERTOW_FUNCTION_MODULE(GELU, GELUOptions, functional::gelu(input, o));
UNDERTOW_FUNCTION_MODULE(GLU, GLUOptions, functional::glu(input, o));
UNDERTOW_FUNCTION_MODULE(SiLU, detail::NoOptions, functional::silu(input));
UNDERTOW_FUNCTION_MODULE(Mish, detail::NoOptions, functional::mish(input));
UNDERTOW_FUNCTION_MODULE(Sigmoid, detail::NoOptions, functional::sigmoid(input));
UNDERTOW_FUNCTION_MODULE(Tanh, detail::NoOptions, functional::tanh(input));
UNDERTOW_FUNCTION_MODULE(Hardsigmoid, detail::NoOptions, functional::hardsigmoid(input));
UNDERTOW_FUNCTION_MODULE(Hardswish, detail::NoOptions, functional::hardswish(input));
UNDERTOW_FUNCTION_MODULE(Hardshrink, HardshrinkOptions, functional::hardshrink(input, o));
class HardtanhImpl : public detail::FunctionModule<HardtanhImpl, HardtanhOptions> {
 public:
  explicit HardtanhImpl(HardtanhOptions o = {}) : FunctionModule(o) { HardtanhImpl::reset(); }
  void reset() override {
    UT_CHECK(options.min_val() < options.max_val(), "max_val must be greater than min_val, but got ", options.max_val(),
             " and ", options.min_val());
  }
  Tensor forward(const Tensor& input) { return functional::hardtanh(input, options); }
};
UNDERTOW_MODULE(Hardtanh);
UNDERTOW_FUNCTION_MODULE(LeakyReLU, LeakyReLUOptions, functional::leaky_relu(input, o));
UNDERTOW_FUNCTION_MODULE(LogSigmoid, detail::NoOptions, functional::logsigmoid(input));
UNDERTOW_FUNCTION_MODULE(Softplus, SoftplusOptions, functional::softplus(input, o));
UNDERTOW_FUNCTION_MODULE(Softshrink, SoftshrinkOptions, functional::softshrink(input, o));
UNDERTOW_FUNCTION_MODULE(Softsign, detail::NoOptions, functional::softsign(input));
UNDERTOW_FUNCTION_MODULE(Tanhshrink, detail::NoOptions, functional::tanhshrink(input));
UNDERTOW_FUNCTION_MODULE(Threshold, ThresholdOptions, functional::threshold(input, o));
UNDERTOW_FUNCTION_MODULE(Softmax, SoftmaxOptions, functional::softmax(input, o.dim()));
UNDERTOW_FUNCTION_MODULE(Softmin, SoftminOptions, functional::softmin(input, o.dim()));
UNDERTOW_FUNCTION_MODULE(LogSoftmax, LogSoftmaxOptions, functional::log_softmax(input, o.dim()));
UNDERTOW_FUNCTION_MODULE(Softmax2d, detail::NoOptions, functional::softmax(input, -3));
UNDERTOW_FUNCTION_MODULE(
    RReLU, RReLUOptions,
    functional::rrelu(
        input,
        functional::RReLUFuncOptions().lower(o.lower()).upper(o.upper()).training(is_training()).inplace(o.inplace())));

// max(0, x) + weight * min(0, x), with one learned weight or one for each channel.
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input) { return functional::prelu(input, weight); }
  PReLUOptions options;
  Tensor weight;
};
UNDERTOW_MODULE(PReLU);

}  // namespace undertow::nn
