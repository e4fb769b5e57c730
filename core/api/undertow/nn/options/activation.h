// activation.h: options of activations.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <undertow/types/arg.h>
#include <undertow/types/options.h>

namespace undertow::nn {

// Options of which the only one is whether the input is overwritten.
struct InplaceOptions {
  InplaceOptions(bool inplace = false) : inplace_(inplace) {}
  UNDERTOW_ARG(bool, inplace);
};
using ReLUOptions = InplaceOptions;
using ReLU6Options = InplaceOptions;
using SELUOptions = InplaceOptions;

struct ELUOptions {
  UNDERTOW_ARG(double, alpha) = 1.0;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct CELUOptions {
  UNDERTOW_ARG(double, alpha) = 1.0;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct GELUOptions {
  UNDERTOW_ARG(std::string, approximate) = "none";
};
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  UNDERTOW_ARG(int64_t, dim);
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  UNDERTOW_ARG(double, lambda);
};
using SoftshrinkOptions = HardshrinkOptions;
struct HardtanhOptions {
  UNDERTOW_ARG(double, min_val) = -1.0;
  UNDERTOW_ARG(double, max_val) = 1.0;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct LeakyReLUOptions {
  UNDERTOW_ARG(double, negative_slope) = 0.01;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct RReLUOptions {
  UNDERTOW_ARG(double, lower) = 1.0 / 8.0;
  UNDERTOW_ARG(double, upper) = 1.0 / 3.0;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  UNDERTOW_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;
struct PReLUOptions {
  UNDERTOW_ARG(int64_t, num_parameters) = 1;
  UNDERTOW_ARG(double, init) = 0.25;
};
struct SoftplusOptions {
  UNDERTOW_ARG(double, beta) = 1.0;
  UNDERTOW_ARG(double, threshold) = 20.0;
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  UNDERTOW_ARG(double, threshold);
  UNDERTOW_ARG(double, value);
  UNDERTOW_ARG(bool, inplace) = false;
};

namespace functional {
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using SELUFuncOptions = SELUOptions;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using GELUFuncOptions = GELUOptions;
using GLUFuncOptions = GLUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using HardtanhFuncOptions = HardtanhOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
struct RReLUFuncOptions {
  UNDERTOW_ARG(double, lower) = 1.0 / 8.0;
  UNDERTOW_ARG(double, upper) = 1.0 / 3.0;
  UNDERTOW_ARG(bool, training) = false;
  UNDERTOW_ARG(bool, inplace) = false;
};
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  UNDERTOW_ARG(int64_t, dim);
  UNDERTOW_ARG(std::optional<ScalarType>, dtype);
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
struct GumbelSoftmaxFuncOptions {
  UNDERTOW_ARG(double, tau) = 1.0;
  UNDERTOW_ARG(bool, hard) = false;
  UNDERTOW_ARG(int64_t, dim) = -1;
};
using SoftminFuncOptions = SoftmaxFuncOptions;
}  // namespace functional
}  // namespace undertow::nn
