// fold.cpp: sliding blocks of an image as columns, and their sum back into an image. Moves data only: convolutions do
// not use it.
// build: small
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/conv.h"
#include "core/tensor/layout.h"
#include "generated/fwd_conv.h"

namespace undertow::core::fwd {
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

void append_text(std::string& out, const Pair& p) { out += str("(", p.height, ", ", p.width, ")"); }

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
    for (const Pair& p : {kernel, this->dilation, this->padding, this->stride})
      UT_CHECK(std::max(p.height, p.width) <= INT32_MAX, "integer out of range: fold and unfold expect at most ",
               INT32_MAX, ", but got ", p);
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

  BlockGrid grid() const {
    return {height,
            width,
            {kernel.height, kernel.width},
            {dilation.height, dilation.width},
            {padding.height, padding.width},
            {stride.height, stride.width},
            down(),
            across()};
  }

 private:
  static int64_t count(int64_t length, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
    int64_t room = length + 2 * padding - dilation * (kernel - 1) - 1;
    return (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  }
};

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
  int64_t blocks = b.down() * b.across(), channels = self.size(-3);
  Dims sizes = self.dim() == 4 ? Dims{self.size(0), channels * b.taps(), blocks} : Dims{channels * b.taps(), blocks};
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  backend_of(self).conv->im2col(out, contiguous(self), b.grid());
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
  int64_t rows = self.dim() - 2, blocks = b.down() * b.across();
  UT_CHECK(self.size(-2) % b.taps() == 0, "Expected size of input's dimension ", rows,
           " to be divisible by the product of kernel_size, but got input.size(", rows, ")=", self.size(-2),
           " and kernel_size=", b.kernel, ".");
  UT_CHECK(b.down() >= 1 && b.across() >= 1 && self.size(-1) == blocks, "Given output_size=", size,
           ", kernel_size=", b.kernel, ", dilation=", b.dilation, ", padding=", b.padding, ", stride=", b.stride,
           ", expected size of input's dimension ", rows + 1, " to match the calculated number of sliding blocks ",
           b.down(), " * ", b.across(), " = ", blocks, ", but got input.size(", rows + 1, ")=", self.size(-1), ".");
  check_dtype(self.dtype(), "col2im");
  int64_t channels = self.size(-2) / b.taps();
  Dims sizes = self.dim() == 3 ? Dims{self.size(0), channels, b.height, b.width} : Dims{channels, b.height, b.width};
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  backend_of(self).conv->col2im(out, contiguous(self), b.grid());
  return out;
}

}  // namespace undertow::core::fwd
