// depthwise.h: depthwise convolutions of channels-last float images, and their adjoints.
// Knows shapes and pointers; row-major images go through conv.h.
#pragma once

#include "core/kernels/cpu/conv/conv.h"
#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// As conv_forward, conv_input and conv_weight of conv.h, for 2-D images (in[0], out[0] and kernel[0] are 1) with one
// group per channel. x and y are (batch, height, width, channels); w has its usual layout.
void depthwise_forward(const ConvShape& shape, const float* x, const float* w, const float* bias, float* y);
void depthwise_input(const ConvShape& shape, const float* y, const float* w, const float* bias, float* x);
void depthwise_weight(const ConvShape& shape, const float* x, const float* y, float* w);

// A row of outputs: result[j * result_step + c] = bias[c] + sum over taps t of weights[t][c] * source[offsets[t] + j *
// step + c].
struct DepthwiseRow {
  int64_t outputs, channels, taps;
  const float* const* weights;
  const int64_t* offsets;
  const float* source;
  int64_t step;
  const float* bias;
  float* result;
  int64_t result_step;
};

// sums[t][c] += sum over j of y[j * channels + c] * source[offsets[t] + j * step + c], for at most kDepthwiseTaps taps.
constexpr int64_t kDepthwiseTaps = 9;
struct DepthwiseSums {
  int64_t outputs, channels, taps;
  float* const* sums;
  const int64_t* offsets;
  const float* source;
  int64_t step;
  const float* y;
};

// Compiled once per instruction set, in depthwise.isa.cpp.
struct DepthwiseKernels {
  void (*row)(const DepthwiseRow& row);
  void (*sums)(const DepthwiseSums& row);
};
UNDERTOW_FOR_EACH_ISA(const DepthwiseKernels& depthwise_kernels();)

}  // namespace undertow::core::cpu
