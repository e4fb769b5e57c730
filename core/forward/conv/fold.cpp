// fold.cpp: sliding blocks of an image as columns, and their sum back into an image. Movement, not arithmetic:
// convolutions do not come this way (kernels/cpu/conv/conv.h).
// build: small
#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd_conv.h"

namespace undertow::fwd {
namespace {

struct Pair {
  int64_t height, width;

  Pair(IntSpan list, const char* name) {
    UT_CHECK(list.size() == 2, "It is expected ", name, " equals to 2, but got size ", list.size());
    height = list[0];
    width = list[1];
  }
  bool below(int64_t least) const { return height < least || width < least; }
};

std::ostream& operator<<(std::ostream& out, const Pair& p) { return out << "(" << p.height << ", " << p.width << ")"; }

struct Blocks {
  Pair kernel, dilation, padding, stride;
  int64_t height, width;  // of the image

  Blocks(IntSpan kernel_size, IntSpan dilation, IntSpan padding, IntSpan stride, int64_t height, int64_t width)
      : kernel(kernel_size, "kernel_size"),
        dilation(dilation, "dilation"),
        padding(padding, "padding"),
        stride(stride, "stride"),
        height(height),
        width(width) {
    UT_CHECK(!kernel.below(1), "kernel size should be greater than zero, but got kernel_height: ", kernel.height,
             " kernel_width: ", kernel.width);
    UT_CHECK(!this->dilation.below(1),
             "dilation should be greater than zero, but got dilation_height: ", this->dilation.height,
             " dilation_width: ", this->dilation.width);
    UT_CHECK(!this->padding.below(0), "padding should be non-negative, but got pad_height: ", this->padding.height,
             " pad_width: ", this->padding.width);
    UT_CHECK(!this->stride.below(1), "stride should be greater than zero, but got stride_height: ", this->stride.height,
             " stride_width: ", this->stride.width);
  }

  int64_t taps() const { return kernel.height * kernel.width; }
  int64_t down() const { return count(height, kernel.height, dilation.height, padding.height, stride.height); }
  int64_t across() const { return count(width, kernel.width, dilation.width, padding.width, stride.width); }

  // Calls f(place in the column, block, place in the plane) for every tap of every block that lies in the image.
  template <class F>
  void walk(F&& f) const {
    int64_t n1 = down(), n2 = across();
    for (int64_t t = 0; t < taps(); t++) {
      int64_t shift1 = t / kernel.width * dilation.height - padding.height,
              shift2 = t % kernel.width * dilation.width - padding.width;
      for (int64_t i = 0; i < n1; i++) {
        int64_t y = i * stride.height + shift1;
        if (y < 0 || y >= height) continue;
        for (int64_t j = 0; j < n2; j++) {
          int64_t x = j * stride.width + shift2;
          if (x >= 0 && x < width) f(t, i * n2 + j, y * width + x);
        }
      }
    }
  }

 private:
  static int64_t count(int64_t length, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
    int64_t room = length + 2 * padding - dilation * (kernel - 1) - 1;
    return (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  }
};

constexpr int64_t kChunkElements = 1 << 15;

void check_dtype(DType dtype, const char* name) {
  UT_CHECK_AS(NotImplemented, !is_integral(dtype) || dtype == DType::Bool, "\"", name,
              "_out_cpu\" not implemented for '", long_name(dtype), "'");
}

bool has_empty_after_batch(const Tensor& t, int64_t batched) {
  for (int64_t d = t.dim() == batched ? 1 : 0; d < t.dim(); d++) {
    if (t.size(d) == 0) return true;
  }
  return false;
}

}  // namespace

Tensor im2col(const Tensor& self, IntSpan kernel_size, IntSpan dilation, IntSpan padding, IntSpan stride) {
  UT_CHECK((self.dim() == 3 || self.dim() == 4) && !has_empty_after_batch(self, 4),
           "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
           "but got: ",
           ShapeText{self.sizes()});
  Blocks b(kernel_size, dilation, padding, stride, self.size(-2), self.size(-1));
  UT_CHECK(b.down() >= 1 && b.across() >= 1, "Given input with spatial size (", b.height, ", ", b.width,
           "), kernel_size=", b.kernel, ", dilation=", b.dilation, ", padding=", b.padding,
           ", calculated shape of the array of sliding blocks as (", b.down(), ", ", b.across(),
           "), but its components must be at least one.");
  check_dtype(self.dtype(), "im2col");
  int64_t blocks = b.down() * b.across(), plane = b.height * b.width, channels = self.size(-3);
  Dims sizes = self.dim() == 4 ? Dims{self.size(0), channels * b.taps(), blocks} : Dims{channels * b.taps(), blocks};
  Tensor out = zeros(sizes, self.dtype()), source = contiguous(self);
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t column = b.taps() * blocks;
    parallel_for(0, self.numel() / plane, std::max<int64_t>(1, kChunkElements / column),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t c = begin; c < end; c++) {
                     const T* from = source.data_as<T>() + c * plane;
                     T* to = out.data_as<T>() + c * column;
                     b.walk([&](int64_t t, int64_t block, int64_t place) { to[t * blocks + block] = from[place]; });
                   }
                 });
  });
  return out;
}

Tensor col2im(const Tensor& self, IntSpan output_size, IntSpan kernel_size, IntSpan dilation, IntSpan padding,
              IntSpan stride) {
  Pair size(output_size, "output_size");
  Blocks b(kernel_size, dilation, padding, stride, size.height, size.width);
  UT_CHECK((self.dim() == 2 || self.dim() == 3) && !has_empty_after_batch(self, 3),
           "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
           "input, but got: ",
           ShapeText{self.sizes()});
  int64_t rows = self.dim() - 2, blocks = b.down() * b.across(), plane = b.height * b.width;
  UT_CHECK(self.size(-2) % b.taps() == 0, "Expected size of input's dimension ", rows,
           " to be divisible by the product of kernel_size, but got input.size(", rows, ")=", self.size(-2),
           " and kernel_size=", b.kernel, ".");
  UT_CHECK(b.down() >= 1 && b.across() >= 1 && self.size(-1) == blocks, "Given output_size=", size,
           ", kernel_size=", b.kernel, ", dilation=", b.dilation, ", padding=", b.padding, ", stride=", b.stride,
           ", expected size of input's dimension ", rows + 1, " to match the calculated number of sliding blocks ",
           b.down(), " * ", b.across(), " = ", blocks, ", but got input.size(", rows + 1, ")=", self.size(-1), ".");
  check_dtype(self.dtype(), "col2im");
  bool half = self.dtype() == DType::Float16 || self.dtype() == DType::BFloat16;
  if (half)
    return to_dtype(col2im(to_dtype(self, DType::Float32), output_size, kernel_size, dilation, padding, stride),
                    self.dtype());
  int64_t channels = self.size(-2) / b.taps(), column = b.taps() * blocks;
  Dims sizes = self.dim() == 3 ? Dims{self.size(0), channels, b.height, b.width} : Dims{channels, b.height, b.width};
  Tensor out = zeros(sizes, self.dtype()), source = contiguous(self);
  dispatch(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                  std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
      parallel_for(0, self.numel() / column, std::max<int64_t>(1, kChunkElements / column),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t c = begin; c < end; c++) {
                       const T* from = source.data_as<T>() + c * column;
                       T* to = out.data_as<T>() + c * plane;
                       b.walk([&](int64_t t, int64_t block, int64_t place) {
                         to[place] = static_cast<T>(to[place] + from[t * blocks + block]);
                       });
                     }
                   });
    }
  });
  return out;
}

}  // namespace undertow::fwd
