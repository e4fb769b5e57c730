// windows.cpp: the geometry of pooling. See windows.h.
// build: small
#include "core/forward/pool/windows.h"

namespace undertow::core::fwd {

namespace {

int64_t at(IntSpan values, int64_t d) { return values[values.size() == 1 ? 0 : static_cast<size_t>(d)]; }

Windows regular_windows(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  Windows w;
  w.in = in;
  w.step = dilation;
  w.first.resize(static_cast<size_t>(out));
  w.last.resize(static_cast<size_t>(out));
  for (int64_t o = 0; o < out; o++) {
    int64_t start = o * stride - padding, end = start + (kernel - 1) * dilation + 1;
    if (start < 0) start += (-start + dilation - 1) / dilation * dilation;  // the first position inside the image
    w.first[static_cast<size_t>(o)] = start;
    w.last[static_cast<size_t>(o)] = std::min(end, in);
  }
  return w;
}

void set_axis(Pooling& p, int64_t d, int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
              int64_t dilation) {
  p.axis[d] = regular_windows(in, out, kernel, stride, padding, dilation);
  p.grid[d] = {in, out, kernel, stride, padding, dilation};
}

void check_lists(int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding, IntSpan dilation, const char* name) {
  const char* tuple = spatial == 2 ? "two ints" : "three ints";
  auto fits = [&](IntSpan v) { return v.size() == 1 || static_cast<int64_t>(v.size()) == spatial; };
  UT_CHECK(fits(kernel), name, ": kernel_size must either be a single int, or a tuple of ", tuple);
  UT_CHECK(stride.empty() || fits(stride), name, ": stride must either be omitted, a single int, or a tuple of ",
           tuple);
  UT_CHECK(fits(padding), name, ": padding must either be a single int, or a tuple of ", tuple);
  UT_CHECK(fits(dilation), name, ": dilation must be either a single int, or a tuple of ", tuple);
}

void check_image(const Tensor& self, int64_t spatial, const char* name) {
  bool batch = self.dim() == spatial + 2, filled = true;
  for (int64_t d = batch ? 1 : 0; d < self.dim(); d++) filled &= self.size(d) != 0;
  UT_CHECK(self.dim() == spatial + 1 || batch, "non-empty ", spatial + 1, "D or ", spatial + 2,
           "D (batch mode) tensor expected for input of ", name, ", but got: ", ShapeText{self.sizes()});
  UT_CHECK(spatial == 3 || filled, "Expected ", spatial + 1, "D or ", spatial + 2,
           "D (batch mode) tensor with optional 0 dim batch size for input, but got:", ShapeText{self.sizes()}, " in ",
           name);
  UT_CHECK(filled, name, "(): Expected input's non-batch dimensions to have positive length, but input has a shape of ",
           ShapeText{self.sizes()});
}

}  // namespace

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t out = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) out--;  // the last window must start inside the image
  return out;
}

void finish_pooling(Pooling& p, IntSpan in, int64_t spatial) {
  p.sizes = Dims(in);
  for (int64_t d = 0; d < 3; d++) {
    p.in_plane *= p.axis[d].in;
    p.out_plane *= p.axis[d].out();
    if (d >= 3 - spatial) p.sizes[in.size() - 3 + static_cast<size_t>(d)] = p.axis[d].out();
  }
  p.planes = product(in.subspan(0, in.size() - static_cast<size_t>(spatial)));
}

Pooling kernel_windows(const Tensor& self, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding,
                       IntSpan dilation, bool ceil_mode, const char* name) {
  check_lists(spatial, kernel, stride, padding, dilation, name);
  if (stride.empty()) stride = kernel;
  for (int64_t d = 0; d < spatial; d++) {
    int64_t k = at(kernel, d), s = at(stride, d), p = at(padding, d), l = at(dilation, d);
    UT_CHECK(s != 0, "stride should not be zero");
    UT_CHECK(s > 0 && k > 0, "kernel size and stride should be greater than zero, but got kernel_size=", k,
             " and stride=", s);
    UT_CHECK(l > 0, "dilation should be greater than zero, but got dilation: ", l);
    // As in torch. Products of two of these fit then.
    UT_CHECK(std::max({k, s, p, l}) <= INT32_MAX, "integer out of range: kernel_size=", k, ", stride=", s,
             ", padding=", p, ", dilation=", l, " of ", name);
    UT_CHECK(p >= 0, "pad must be non-negative, but got pad: ", p);
    UT_CHECK(p <= ((k - 1) * l + 1) / 2, "pad should be at most half of effective kernel size, but got pad=", p,
             ", kernel_size=", k, " and dilation=", l);
  }
  check_image(self, spatial, name);
  Pooling p;
  p.regular = true;
  bool room = true;
  Dims out;
  for (int64_t d = 0; d < spatial; d++) {
    int64_t in = self.size(self.dim() - spatial + d);
    out.push_back(pooled_size(in, at(kernel, d), at(stride, d), at(padding, d), at(dilation, d), ceil_mode));
    room &= out.back() >= 1;
  }
  UT_CHECK(room, "Given input size: ", ShapeText{self.sizes()}, ". Calculated output size: ", ShapeText{out},
           ". Output size is too small");
  for (int64_t d = 0; d < spatial; d++)
    set_axis(p, 3 - spatial + d, self.size(self.dim() - spatial + d), out[static_cast<size_t>(d)], at(kernel, d),
             at(stride, d), at(padding, d), at(dilation, d));
  finish_pooling(p, self.sizes(), spatial);
  return p;
}

Pooling known_windows(IntSpan in, IntSpan out, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding) {
  if (stride.empty()) stride = kernel;
  Pooling p;
  p.regular = true;
  size_t lead = in.size() - static_cast<size_t>(spatial);
  for (int64_t d = 0; d < spatial; d++) {
    size_t k = lead + static_cast<size_t>(d);
    set_axis(p, 3 - spatial + d, in[k], out[k], at(kernel, d), at(stride, d), at(padding, d), 1);
    p.in_plane *= in[k];
    p.out_plane *= out[k];
  }
  p.planes = product(in.subspan(0, lead));
  p.sizes = Dims(out);
  return p;
}

Pooling adaptive_windows(IntSpan sizes, int64_t spatial, IntSpan output_size, const char* name) {
  int64_t dim = static_cast<int64_t>(sizes.size());
  UT_CHECK(static_cast<int64_t>(output_size.size()) == spatial, name, "(): output_size must be ", spatial,
           " ints, got ", output_size.size());
  UT_CHECK(dim == spatial + 1 || dim == spatial + 2, name, "(): Expected ", spatial + 1, "D or ", spatial + 2,
           "D tensor, but got ", ShapeText{sizes});
  Pooling p;
  p.regular = true;
  for (int64_t d = 0; d < spatial; d++) {
    int64_t in = sizes[static_cast<size_t>(dim - spatial + d)], out = output_size[static_cast<size_t>(d)],
            axis = 3 - spatial + d;
    UT_CHECK(out >= 0, name, "(): elements of output_size must be greater than or equal to 0 but received ",
             ShapeText{output_size});
    UT_CHECK(in > 0, name, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
             ShapeText{sizes}, " with dimension ", dim - spatial + d, " being empty");
    // The windows are listed, so their number is checked before memory is taken for them.
    constexpr int64_t kMostWindows = int64_t{1} << 27;
    UT_CHECK(out <= kMostWindows, name, "(): not enough memory: output_size ", ShapeText{output_size},
             " is larger than ", kMostWindows);
    if (out > 0 && in % out == 0) {
      set_axis(p, axis, in, out, in / out, in / out, 0, 1);
      continue;
    }
    p.regular = false;
    Windows& w = p.axis[axis];
    w.in = in;
    w.first.resize(static_cast<size_t>(out));
    w.last.resize(static_cast<size_t>(out));
    for (int64_t o = 0; o < out; o++) {
      w.first[static_cast<size_t>(o)] = static_cast<int64_t>(__int128{o} * in / out);
      w.last[static_cast<size_t>(o)] = static_cast<int64_t>((__int128{o + 1} * in + out - 1) / out);
    }
  }
  finish_pooling(p, sizes, spatial);
  return p;
}

}  // namespace undertow::core::fwd
