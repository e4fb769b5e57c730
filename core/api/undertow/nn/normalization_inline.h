// normalization_inline.h: the definitions of batch and instance normalization, in a header, so that a layer costs
// nothing where it is not used.
#pragma once
#include <undertow/nn/functional.h>
#include <undertow/nn/normalization.h>

namespace undertow::nn {

namespace detail {

template <typename Options>
void NormNd<Options>::register_tensors() {
  core::Dims size{options.num_features()};
  weight = register_parameter("weight", options.affine() ? Tensor(core::ops::empty(size)) : Tensor());
  bias = register_parameter("bias", options.affine() ? Tensor(core::ops::empty(size)) : Tensor());
  bool tracked = options.track_running_stats();
  running_mean = register_buffer("running_mean", tracked ? core::ops::zeros(size) : Tensor());
  running_var = register_buffer("running_var", tracked ? core::ops::ones(size) : Tensor());
  num_batches_tracked =
      register_buffer("num_batches_tracked", tracked ? core::ops::zeros(core::Dims{}, core::DType::Int64) : Tensor());
}

template <typename Options>
void NormNd<Options>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  core::ops::zero_(running_mean);
  core::ops::fill_(running_var, Scalar(1));
  core::ops::zero_(num_batches_tracked);
}

template <typename Options>
void NormNd<Options>::reset_parameters() {
  reset_running_stats();
  initialize_scale(weight, bias);
}

template <typename Options>
Tensor NormNd<Options>::normalized(const Tensor& input, int64_t least, int64_t most) {
  UT_CHECK_VALUE(least <= input.dim() && input.dim() <= most, "expected ", least,
                 least == most ? "D input (got " : core::str("D or ", most, "D input (got "), input.dim(), "D input)");
  const auto& o = options;
  if constexpr (std::is_same_v<Options, BatchNormOptions>) {
    double average = o.momentum().value_or(0.0);
    if (is_training() && num_batches_tracked.defined()) {
      core::ops::add_(num_batches_tracked, Scalar(1));
      if (!o.momentum()) average = 1.0 / core::ops::item(num_batches_tracked).to_double();
    }
    bool by_batch = is_training() || !running_mean.defined();
    bool kept = !is_training() || o.track_running_stats();
    return functional::batch_norm(
        input, kept ? running_mean : Tensor(), kept ? running_var : Tensor(),
        functional::BatchNormFuncOptions().weight(weight).bias(bias).training(by_batch).momentum(average).eps(o.eps()));
  } else {
    functional::InstanceNormFuncOptions call;
    call.running_mean(running_mean).running_var(running_var).weight(weight).bias(bias);
    call.use_input_stats(is_training() || !o.track_running_stats()).momentum(o.momentum()).eps(o.eps());
    if (input.dim() == most || most == least) return functional::instance_norm(input, call);
    return functional::instance_norm(input.unsqueeze(0), call).squeeze(0);  // one sample without a batch
  }
}

template <typename Options>
std::string NormNd<Options>::describe() const {
  return core::str(printed_name(name()), "(", options.num_features(), ", eps=", options.eps(),
                   ", affine=", (options.affine() ? "true" : "false"),
                   ", track_running_stats=", (options.track_running_stats() ? "true" : "false"), ")");
}

}  // namespace detail

}  // namespace undertow::nn
