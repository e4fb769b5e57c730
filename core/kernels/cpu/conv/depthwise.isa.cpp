// depthwise.isa.cpp: rows of a depthwise convolution, with channels as lanes. Compiled once per instruction set, like
// gemm.isa.cpp. See Note [One Namespace Per Instruction Set].
#include "core/kernels/cpu/conv/depthwise.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

using V = Vec<float>;
constexpr int64_t kL = kLanes<float>;

struct Whole {
  V load(const float* p) const { return cpu::load(p); }
  void store(float* p, V v) const { cpu::store(p, v); }
};

// Outputs that share each loaded weight.
constexpr int kNeighbours = 6;

template <int kOutputs, class Lanes>
inline void outputs(const DepthwiseRow& r, int64_t j, int64_t c, const Lanes& lanes) {
  V acc[kOutputs], bias = lanes.load(r.bias + c);
#pragma GCC unroll 6
  for (int q = 0; q < kOutputs; ++q) acc[q] = bias;
  const float* source = r.source + j * r.step + c;
  for (int64_t t = 0; t < r.taps; ++t) {
    V w = lanes.load(r.weights[t] + c);
#pragma GCC unroll 6
    for (int q = 0; q < kOutputs; ++q) acc[q] += w * lanes.load(source + r.offsets[t] + q * r.step);
  }
#pragma GCC unroll 6
  for (int q = 0; q < kOutputs; ++q) lanes.store(r.result + (j + q) * r.result_step + c, acc[q]);
}

template <class Lanes>
inline void row_of(const DepthwiseRow& r, int64_t c, const Lanes& lanes) {
  int64_t j = 0;
  for (; j + kNeighbours <= r.outputs; j += kNeighbours) outputs<kNeighbours>(r, j, c, lanes);
  for (; j < r.outputs; ++j) outputs<1>(r, j, c, lanes);
}

// Surplus taps read the same elements as the first one, and are discarded.
template <class Lanes>
inline void sums_of(const DepthwiseSums& r, int64_t c, const Lanes& lanes) {
  V acc[kDepthwiseTaps] = {};
  const float* from[kDepthwiseTaps];
  for (int t = 0; t < kDepthwiseTaps; ++t) from[t] = r.source + r.offsets[t < r.taps ? t : 0] + c;
  const float* y = r.y + c;
  for (int64_t j = 0, at = 0; j < r.outputs; ++j, at += r.step, y += r.channels) {
    V value = lanes.load(y);
#pragma GCC unroll 9
    for (int t = 0; t < kDepthwiseTaps; ++t) acc[t] += value * lanes.load(from[t] + at);
  }
#pragma GCC unroll 9
  for (int t = 0; t < kDepthwiseTaps; ++t) {
    if (t < r.taps) lanes.store(r.sums[t] + c, lanes.load(r.sums[t] + c) + acc[t]);
  }
}

void row(const DepthwiseRow& r) {
  int64_t c = 0;
  for (; c + kL <= r.channels; c += kL) row_of(r, c, Whole());
  if (c < r.channels) row_of(r, c, Partial<float>(r.channels - c));
}

void sums(const DepthwiseSums& r) {
  int64_t c = 0;
  for (; c + kL <= r.channels; c += kL) sums_of(r, c, Whole());
  if (c < r.channels) sums_of(r, c, Partial<float>(r.channels - c));
}

constexpr DepthwiseKernels kKernels{row, sums};

}  // namespace

namespace UNDERTOW_ISA_NS {
const DepthwiseKernels& depthwise_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
