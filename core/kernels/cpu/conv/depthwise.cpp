// depthwise.cpp: see depthwise.h. Finds the taps of each output, and divides rows among threads.
#include "core/kernels/cpu/conv/depthwise.h"

#include <algorithm>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/base/small_vector.h"
#include "core/kernels/cpu/conv/conv_box.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

constexpr int64_t kChunkWork = 1 << 17;  // multiply-adds that justify a chunk

constexpr int64_t kChunks = 16;  // of rows; their sums are added in order, so that results do not depend on threads

struct TransposedWeights;
struct Sums;

const DepthwiseKernels& kernels() {
  static const DepthwiseKernels& chosen = UNDERTOW_CHOOSE_ISA(depthwise_kernels());
  return chosen;
}

// The weights with all channels of a tap contiguous, followed by the bias.
const float* transpose_weights(const ConvShape& s, const float* w, const float* bias) {
  int64_t taps = s.kernel[1] * s.kernel[2], channels = s.in_channels;
  float* transposed = Scratch<TransposedWeights>::get<float>((taps + 1) * channels);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) transposed[t * channels + c] = w[c * taps + t];
    transposed[taps * channels + c] = bias ? bias[c] : 0;
  }
  return transposed;
}

// One gather (Note [Boxes]): rows of outputs, and their taps.
class RowWork {
 public:
  RowWork(const ConvShape& s, const Axis& a1, const Axis& a2)
      : channels_(s.in_channels), kernel_width_(s.kernel[2]), a1_(a1), a2_(a2) {
    // Outputs [begin_, end_) of a row have all their taps.
    end_ = a2.count;
    while (begin_ < end_ && begin_ * a2.step + a2.low < 0) ++begin_;
    while (end_ > begin_ && (end_ - 1) * a2.step + a2.low + a2.span > a2.source) --end_;
  }

  // Calls f(first output, count, taps, their indices in the kernel, their offsets) for the outputs of row i.
  template <class F>
  void row(int64_t i, F f) {
    for (int64_t j = 0; j < begin_; ++j) outputs(i, j, 1, f);
    if (end_ > begin_) outputs(i, begin_, end_ - begin_, f);
    for (int64_t j = end_; j < a2_.count; ++j) outputs(i, j, 1, f);
  }

 private:
  // Outputs from j on that have the same taps as j.
  template <class F>
  void outputs(int64_t i, int64_t j, int64_t count, F f) {
    places_.clear();
    offsets_.clear();
    for (size_t t1 = 0; t1 < a1_.offsets.size(); ++t1) {
      int64_t line = i * a1_.step + a1_.offsets[t1];
      if (line < 0 || line >= a1_.source) continue;
      for (size_t t2 = 0; t2 < a2_.offsets.size(); ++t2) {
        int64_t column = j * a2_.step + a2_.offsets[t2];
        if (column < 0 || column >= a2_.source) continue;
        places_.push_back((a1_.taps[t1] * kernel_width_ + a2_.taps[t2]) * channels_);
        offsets_.push_back((line * a2_.source + column) * channels_);
      }
    }
    f(j, count, static_cast<int64_t>(places_.size()), places_.data(), offsets_.data());
  }

  int64_t channels_, kernel_width_, begin_ = 0, end_;
  const Axis &a1_, &a2_;
  SmallVector<int64_t, 32> places_, offsets_;
};

void gather(const ConvShape& s, const Axis& a1, const Axis& a2, const float* from, int64_t from_image,
            const float* weights, float* to, int64_t to_image, int64_t to_width) {
  int64_t c = s.in_channels, kernel = s.kernel[1] * s.kernel[2], work = std::max<int64_t>(1, a2.count * c * kernel);
  parallel_for(0, s.batch * a1.count, std::max<int64_t>(1, kChunkWork / work), [&](int64_t begin, int64_t end) {
    RowWork rows(s, a1, a2);
    SmallVector<const float*, 32> own;
    for (int64_t i = begin; i < end; ++i) {
      int64_t image = i / a1.count, line = a1.first + i % a1.count * a1.stride;
      rows.row(i % a1.count,
               [&](int64_t j, int64_t count, int64_t taps, const int64_t* places, const int64_t* offsets) {
                 own.clear();
                 for (int64_t t = 0; t < taps; ++t) own.push_back(weights + places[t]);
                 float* result = to + image * to_image + (line * to_width + a2.first + j * a2.stride) * c;
                 kernels().row({count, c, taps, own.data(), offsets, from + image * from_image, a2.step * c,
                                weights + kernel * c, result, a2.stride * c});
               });
    }
  });
}

}  // namespace

void depthwise_forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
  int64_t x_image = s.in_channels * s.in[1] * s.in[2], y_image = s.in_channels * s.out[1] * s.out[2];
  gather(s, Axis::forwards(s, 1), Axis::forwards(s, 2), x, x_image, transpose_weights(s, w, bias), y, y_image,
         s.out[2]);
}

void depthwise_input(const ConvShape& s, const float* y, const float* w, const float* bias, float* x) {
  int64_t x_image = s.in_channels * s.in[1] * s.in[2], y_image = s.in_channels * s.out[1] * s.out[2];
  const float* weights = transpose_weights(s, w, bias);
  for (int64_t r1 = 0; r1 < std::min(s.stride[1], s.in[1]); ++r1) {
    for (int64_t r2 = 0; r2 < std::min(s.stride[2], s.in[2]); ++r2) {
      gather(s, Axis::backwards(s, 1, r1), Axis::backwards(s, 2, r2), y, y_image, weights, x, x_image, s.in[2]);
    }
  }
}

void depthwise_weight(const ConvShape& s, const float* x, const float* y, float* w) {
  int64_t c = s.in_channels, kernel = s.kernel[1] * s.kernel[2], rows = s.batch * s.out[1],
          each = ceil_div(rows, kChunks), chunks = ceil_div(rows, each);
  Axis a1 = Axis::forwards(s, 1), a2 = Axis::forwards(s, 2);
  float* all = Scratch<Sums>::get<float>(chunks * kernel * c);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    RowWork work(s, a1, a2);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      float* sums = all + chunk * kernel * c;
      std::fill_n(sums, kernel * c, 0.0f);
      for (int64_t i = chunk * each; i < std::min((chunk + 1) * each, rows); ++i) {
        work.row(i % s.out[1],
                 [&](int64_t j, int64_t count, int64_t taps, const int64_t* places, const int64_t* offsets) {
                   for (int64_t t = 0; t < taps; t += kDepthwiseTaps) {
                     float* own[kDepthwiseTaps];
                     int64_t now = std::min(kDepthwiseTaps, taps - t);
                     for (int64_t k = 0; k < now; ++k) own[k] = sums + places[t + k];
                     kernels().sums({count, c, now, own, offsets + t, x + i / s.out[1] * c * s.in[1] * s.in[2],
                                     a2.step * c, y + (i * s.out[2] + j) * c});
                   }
                 });
      }
    }
  });
  for (int64_t i = 0; i < kernel * c; ++i) {
    float sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += all[chunk * kernel * c + i];
    w[i % c * kernel + i / c] = sum;
  }
}

}  // namespace undertow::core::cpu
