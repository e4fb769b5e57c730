// fold.cpp: see fold.h. Moves data only: convolutions do not use it.
// build: small
#include "core/kernels/cpu/conv/fold.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kChunkElements = 1 << 15;

// Calls f(index in the column, block, index in the plane) for every tap of every block that is inside the image.
template <class F>
void for_taps(const BlockGrid& b, F&& f) {
  for (int64_t t = 0; t < b.taps(); t++) {
    int64_t shift1 = t / b.kernel[1] * b.dilation[0] - b.padding[0],
            shift2 = t % b.kernel[1] * b.dilation[1] - b.padding[1];
    for (int64_t i = 0; i < b.down; i++) {
      int64_t y = i * b.stride[0] + shift1;
      if (y < 0 || y >= b.height) continue;
      for (int64_t j = 0; j < b.across; j++) {
        int64_t x = j * b.stride[1] + shift2;
        if (x >= 0 && x < b.width) f(t, i * b.across + j, y * b.width + x);
      }
    }
  }
}

// Calls f(plane of the image, its columns) for every plane.
template <class T, class F>
void for_planes(const Tensor& image, const Tensor& columns, const BlockGrid& b, F&& f) {
  int64_t plane = b.height * b.width, column = b.taps() * b.blocks();
  parallel_for(0, columns.numel() / column, std::max<int64_t>(1, kChunkElements / column),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c = begin; c < end; c++)
                   f(image.data_as<T>() + c * plane, columns.data_as<T>() + c * column);
               });
}

}  // namespace

void im2col(const Tensor& columns, const Tensor& image, const BlockGrid& b) {
  zero(columns);
  int64_t blocks = b.blocks();
  dispatch_width(image.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_planes<T>(image, columns, b, [&](const T* from, T* to) {
      for_taps(b, [&](int64_t t, int64_t block, int64_t place) { to[t * blocks + block] = from[place]; });
    });
  });
}

void col2im(const Tensor& image, const Tensor& columns, const BlockGrid& b) {
  if (is_reduced_float(image.dtype())) {
    Tensor wide = empty(image.sizes(), DType::Float32, kCpu);
    col2im(wide, contiguous_as(columns, DType::Float32), b);
    if (image.numel()) copy(image, wide);
    return;
  }
  zero(image);
  int64_t blocks = b.blocks();
  dispatch(image.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                  std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
      for_planes<T>(image, columns, b, [&](T* to, const T* from) {
        for_taps(b, [&](int64_t t, int64_t block, int64_t place) {
          to[place] = static_cast<T>(to[place] + from[t * blocks + block]);
        });
      });
    }
  });
}

}  // namespace undertow::core::cpu
