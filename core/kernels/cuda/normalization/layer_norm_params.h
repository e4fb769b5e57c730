// layer_norm_params.h: the parameters of the kernels in layer_norm.cuh. Included by the host and the device; the
// includer has defined int64_t.
#pragma once

namespace undertow {

// Threads of a block at most, where a row has a whole block and where it has a warp.
inline constexpr int kRowThreads = 512, kWarpRowThreads = 128;

// T: the elements; W: statistics and arithmetic; P: weight and bias. Unused tensors are null: mean is then taken to be
// zero.
template <class T, class W, class P>
struct LayerNormParams {
  T* out;
  W *mean, *rstd;
  const T* x;
  const P *weight, *bias;
  int64_t rows, n;
  W eps;
};

template <class T, class W, class P>
struct LayerNormBackwardParams {
  T* to;
  W *weight_parts, *bias_parts;  // one row per block
  const T *grad, *x;
  const W *mean, *rstd;
  const P* weight;
  int64_t rows, n;
};

}  // namespace undertow
