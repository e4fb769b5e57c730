// resample.cpp: forward functions of ops/resample.toml: interpolation of images.
// build: small
#include "core/kernels/resample.h"
#include "core/forward/image_format.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_resample.h"

namespace undertow::core::fwd {

namespace {

// Parses a name like "Bilinear2DAa".
Resampling resampling_of(std::string_view name, bool align_corners, std::optional<double> depth,
                         std::optional<double> height, std::optional<double> width) {
  Resampling k{.filter = Resampling::Linear,
               .spatial = 0,
               .antialias = false,
               .align_corners = align_corners,
               .scales = {depth, height, width}};
  k.antialias = name.ends_with("Aa");
  if (k.antialias) name.remove_suffix(2);
  UT_CHECK(name.size() > 2 && name.back() == 'D' && name[name.size() - 2] >= '1' && name[name.size() - 2] <= '3',
           "interpolate: unknown kind ", name);
  k.spatial = name[name.size() - 2] - '0';
  std::string_view filter = name.substr(0, name.size() - 2);
  k.filter = filter == "Nearest"        ? Resampling::Nearest
             : filter == "NearestExact" ? Resampling::NearestExact
             : filter == "Bicubic"      ? Resampling::Cubic
             : filter == "Lanczos"      ? Resampling::Lanczos
                                        : Resampling::Linear;
  return k;
}

struct SizeText {
  IntSpan sizes;
};
void append_text(std::string& out, const SizeText& s) {
  const char* names = "DHW";
  for (size_t i = 0; i < s.sizes.size(); i++)
    out += str(i ? ", " : "(", names[3 - s.sizes.size() + i], ": ", s.sizes[i]);
  out += ')';
}

}  // namespace

Tensor _resample(const Tensor& self, IntSpan output_size, std::string_view kind, bool align_corners,
                 std::optional<double> scales_d, std::optional<double> scales_h, std::optional<double> scales_w) {
  Resampling k = resampling_of(kind, align_corners, scales_d, scales_h, scales_w);
  UT_CHECK(self.dim() == k.spatial + 2 && static_cast<int64_t>(output_size.size()) == k.spatial,
           "It is expected input_size equals to ", k.spatial + 2, ", but got size ", self.dim());
  IntSpan space = self.sizes().subspan(2);
  bool positive = true;
  for (int64_t d = 0; d < k.spatial; d++)
    positive &= space[static_cast<size_t>(d)] > 0 && output_size[static_cast<size_t>(d)] > 0;
  UT_CHECK(positive, "Input and output sizes should be greater than 0, but got input ", SizeText{space}, " output ",
           SizeText{output_size});
  UT_CHECK(self.size(1) > 0, "Non-empty ", self.dim(), "D data tensor expected but got a tensor with sizes ",
           ShapeText{self.sizes()});
  UT_CHECK_AS(NotImplemented,
              self.is_floating() || (self.dtype() == DType::UInt8 && k.spatial == 2) ||
                  (self.dtype() == DType::UInt8 && k.filter <= Resampling::NearestExact),
              "\"upsample_", kind, "\" not implemented for '", long_name(self.dtype()), "'");
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < k.spatial; d++) sizes[static_cast<size_t>(2 + d)] = output_size[static_cast<size_t>(d)];
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  backend_of(self).resample->resample(out, contiguous(self), k);
  return in_format_of(out, self, k.spatial + 2);
}

Tensor _resample_backward(const Tensor& grad_output, IntSpan sizes, std::string_view kind, bool align_corners,
                          std::optional<double> scales_d, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  Resampling k = resampling_of(kind, align_corners, scales_d, scales_h, scales_w);
  UT_CHECK(grad_output.dim() == k.spatial + 2 && static_cast<int64_t>(sizes.size()) == k.spatial + 2,
           "interpolate: gradient of shape ", ShapeText{grad_output.sizes()}, " for an image of shape ",
           ShapeText{sizes});
  if (!grad_output.is_floating()) throw_not_implemented("upsample_backward", grad_output.dtype());
  Tensor out = empty_on_device_of(grad_output, sizes, grad_output.dtype());
  backend_of(grad_output).resample->backward(out, contiguous(grad_output), k);
  return in_format_of(out, grad_output, k.spatial + 2);
}

}  // namespace undertow::core::fwd
