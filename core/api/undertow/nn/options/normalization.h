// normalization.h: options of normalizations.
#pragma once
#include <optional>
#include <vector>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>

namespace undertow::nn {

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  UNDERTOW_ARG(int64_t, num_features);
  UNDERTOW_ARG(double, eps) = 1e-5;
  UNDERTOW_ARG(std::optional<double>, momentum) = 0.1;  // none: the cumulative average
  UNDERTOW_ARG(bool, affine) = true;
  UNDERTOW_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;
struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  UNDERTOW_ARG(int64_t, num_features);
  UNDERTOW_ARG(double, eps) = 1e-5;
  UNDERTOW_ARG(double, momentum) = 0.1;
  UNDERTOW_ARG(bool, affine) = false;
  UNDERTOW_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  UNDERTOW_ARG(std::vector<int64_t>, normalized_shape);
  UNDERTOW_ARG(double, eps) = 1e-5;
  UNDERTOW_ARG(bool, elementwise_affine) = true;
};
struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  UNDERTOW_ARG(std::vector<int64_t>, normalized_shape);
  UNDERTOW_ARG(std::optional<double>, eps);
  UNDERTOW_ARG(bool, elementwise_affine) = true;
};
struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  UNDERTOW_ARG(int64_t, num_groups);
  UNDERTOW_ARG(int64_t, num_channels);
  UNDERTOW_ARG(double, eps) = 1e-5;
  UNDERTOW_ARG(bool, affine) = true;
};
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  UNDERTOW_ARG(int64_t, size);
  UNDERTOW_ARG(double, alpha) = 1e-4;
  UNDERTOW_ARG(double, beta) = 0.75;
  UNDERTOW_ARG(double, k) = 1.0;
};

namespace functional {
struct BatchNormFuncOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(bool, training) = false;
  UNDERTOW_ARG(std::optional<double>, momentum) = 0.1;
  UNDERTOW_ARG(double, eps) = 1e-5;
};
struct InstanceNormFuncOptions {
  UNDERTOW_ARG(Tensor, running_mean);
  UNDERTOW_ARG(Tensor, running_var);
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(bool, use_input_stats) = true;
  UNDERTOW_ARG(double, momentum) = 0.1;
  UNDERTOW_ARG(double, eps) = 1e-5;
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  UNDERTOW_ARG(std::vector<int64_t>, normalized_shape);
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(double, eps) = 1e-5;
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  UNDERTOW_ARG(int64_t, num_groups);
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Tensor, bias);
  UNDERTOW_ARG(double, eps) = 1e-5;
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
}  // namespace functional
}  // namespace undertow::nn
