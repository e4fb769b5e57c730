// pad.cpp: forward functions of ops/pad.toml.
// build: small
#include "core/kernels/pad.h"

#include <algorithm>

#include "core/forward/copy/copy.h"
#include "core/forward/image_format.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_pad.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

PadAxis axis_of(const Tensor& self, IntSpan padding, int64_t dim) {
  constexpr int64_t kMost = int64_t{1} << 60;  // the sum with a size fits
  for (int64_t v : padding)
    UT_CHECK(v >= -kMost && v <= kMost, "pad: the padding is out of range: got ", ShapeText{padding});
  return pad_axis(self.sizes(), padding, dim);
}

[[noreturn]] void raise_nothing_left(const Tensor& self, IntSpan padding, int64_t rank) {
  std::string in, out;
  for (int64_t d = self.dim() - rank; d < self.dim(); d++) {
    PadAxis a = axis_of(self, padding, d);
    std::string name(1, "DHW"[3 - (self.dim() - d)]);
    in += str(in.empty() ? "" : name == "W" ? ", " : " ", name, ": ", a.in);
    out += str(out.empty() ? "" : " ", name, ": ", a.out);
  }
  UT_FAIL("input (", in, ") is too small. Calculated output ", out);
}

void check_indexed(const Tensor& self, IntSpan padding, PadMode mode, int64_t rank) {
  UT_CHECK(static_cast<int64_t>(padding.size()) == 2 * rank, "padding size is expected to be ", 2 * rank,
           ", but got: ", padding.size());
  int64_t dim = self.dim();
  bool filled = true;
  for (int64_t d = dim == rank + 2 ? 1 : 0; d < dim; d++) filled &= self.size(d) != 0;
  UT_CHECK((dim == rank + 1 || dim == rank + 2) && (filled || mode == PadMode::Circular), "Expected ", rank + 1,
           "D or ", rank + 2,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
           ShapeText{self.sizes()});
  // As torch: cut to nothing along some dimensions, the result is empty; along all of them, it is a mistake.
  bool some_left = mode == PadMode::Circular;
  for (int64_t d = dim - rank; d < dim; d++) {
    PadAxis a = axis_of(self, padding, d);
    if (mode == PadMode::Reflect)
      UT_CHECK(a.left < a.in && a.right < a.in, "Argument #", 4 + 2 * (dim - 1 - d),
               ": Padding size should be less than the corresponding input dimension, but got: padding (", a.left, ", ",
               a.right, ") at dimension ", d, " of input ", ShapeText{self.sizes()});
    if (mode == PadMode::Circular) {
      UT_CHECK(a.left <= a.inside() && a.right <= a.inside(), "Padding value causes wrapping around more than once.");
      UT_CHECK(a.out >= 0, "Negative padding value is resulting in an empty dimension: padding (", a.left, ", ",
               a.right, ") at dimension ", d, " of input ", ShapeText{self.sizes()});
    }
    some_left |= a.out >= 1;
  }
  if (!some_left) raise_nothing_left(self, padding, rank);
}

Tensor indexed(const Tensor& self, IntSpan padding, PadMode mode, int64_t rank, const char* name) {
  check_indexed(self, padding, mode, rank);
  if (mode != PadMode::Circular && (self.dtype() == DType::Bool || is_storage(self.dtype())))
    throw_not_implemented(name, self.dtype());
  Dims sizes(self.sizes());
  for (int64_t d = self.dim() - rank; d < self.dim(); d++)
    sizes[static_cast<size_t>(d)] = axis_of(self, padding, d).out;
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  if (out.numel() == 0) return out;
  backend_of(self).pad->indexed(out, contiguous(self), padding, mode);
  return mode == PadMode::Circular ? out : in_format_of(out, self, self.dim());
}

}  // namespace

Tensor reflection_pad1d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Reflect, 1, "reflection_pad1d");
}
Tensor reflection_pad2d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Reflect, 2, "reflection_pad2d");
}
Tensor reflection_pad3d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Reflect, 3, "reflection_pad3d");
}
Tensor replication_pad1d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Replicate, 1, "replication_pad1d");
}
Tensor replication_pad2d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Replicate, 2, "replication_pad2d");
}
Tensor replication_pad3d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, PadMode::Replicate, 3, "replication_pad3d");
}
Tensor _pad_indexed(const Tensor& self, IntSpan padding, int64_t mode) {
  UT_CHECK(padding.size() % 2 == 0 && padding.size() <= 6, "padding of 1 to 3 dimensions expected, got ",
           padding.size(), " numbers");
  return indexed(self, padding, static_cast<PadMode>(mode), static_cast<int64_t>(padding.size()) / 2, "pad");
}

Tensor _pad_indexed_backward(const Tensor& grad_output, IntSpan sizes, IntSpan padding, int64_t mode) {
  Tensor out = empty_on_device_of(grad_output, sizes, grad_output.dtype());
  int64_t wanted = out.numel() ? 1 : 0;
  for (int64_t d = 0; out.numel() && d < out.dim(); d++) wanted *= axis_of(out, padding, d).out;
  UT_CHECK(grad_output.numel() == 0 || grad_output.numel() == wanted, "grad_output of ", wanted,
           " elements expected, got shape ", ShapeText{grad_output.sizes()});
  if (!is_floating(out.dtype()) && !out.is_complex()) throw_not_implemented("pad_backward", out.dtype());
  backend_of(grad_output).pad->indexed_backward(out, contiguous(grad_output), padding, static_cast<PadMode>(mode));
  return out;
}

Tensor constant_pad_nd(const Tensor& self, IntSpan pad, const Scalar& value) {
  int64_t n = self.dim();
  UT_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  UT_CHECK(static_cast<int64_t>(pad.size()) <= 2 * n,
           "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
           pad.size(), " while the input has ", n, " dimensions.");
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < n; d++) {
    PadAxis a = axis_of(self, pad, d);
    UT_CHECK(a.out >= 0 && a.in + std::min<int64_t>(a.left, 0) + std::min<int64_t>(a.right, 0) >= 0,
             "narrow(): length must be non-negative: dimension ", d, " of size ", a.in, " cannot be padded by (",
             a.left, ", ", a.right, ")");
    sizes[static_cast<size_t>(d)] = a.out;
  }
  if (std::all_of(pad.begin(), pad.end(), [](int64_t p) { return p <= 0; })) {  // a part of self, as torch lays it out
    Tensor part = self;
    for (int64_t d = 0; d < n; d++) {
      PadAxis a = axis_of(self, pad, d);
      if (a.out != a.in) part = slice(part, d, -a.left, a.in + a.right, 1);
    }
    return clone_preserve(part);
  }
  Tensor filler = full_on_device_of(self, {}, value, self.dtype()), out = empty_on_device_of(self, sizes, self.dtype());
  if (out.numel() == 0) return out;
  backend_of(self).pad->constant(out, contiguous(self), pad, filler);
  return in_format_of(out, self, n);
}

}  // namespace undertow::core::fwd
