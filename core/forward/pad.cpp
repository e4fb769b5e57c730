// pad.cpp: forward functions of ops/pad.toml. Rows are copied whole; only their ends are looked at element by element.
#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/planes.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_pad.h"

namespace undertow::fwd {

namespace {

enum Mode : int64_t { kReflect = 0, kReplicate = 1, kCircular = 2 };

// What padding does to one dimension: where output elements come from, and the run that is a plain copy.
struct Axis {
  int64_t in, out;
  int64_t left, right;
  int64_t begin() const { return std::max<int64_t>(left, 0); }  // of the plain copy, in the output
  int64_t from() const { return std::max<int64_t>(-left, 0); }  // in the input
  int64_t inside() const { return std::max<int64_t>(in - from() - std::max<int64_t>(-right, 0), 0); }
};

Axis axis_of(const Tensor& self, IntSpan padding, int64_t dim) {
  size_t k = static_cast<size_t>(self.dim() - 1 - dim) * 2;
  int64_t n = self.size(dim), l = k < padding.size() ? padding[k] : 0, r = k < padding.size() ? padding[k + 1] : 0;
  return {n, n + l + r, l, r};
}

// The input index that stands at output index j.
int64_t source(const Axis& a, int64_t j, int64_t mode) {
  int64_t i = j - a.left;
  if (mode == kReplicate) return std::clamp<int64_t>(i, 0, a.in - 1);
  if (mode == kReflect) return i < 0 ? -i : i >= a.in ? 2 * (a.in - 1) - i : i;
  int64_t n = a.inside(), at = (j - a.begin()) % n;  // what is left after cutting repeats itself
  return a.from() + (at < 0 ? at + n : at);
}

std::vector<int64_t> sources(const Axis& a, int64_t mode) {
  std::vector<int64_t> out(static_cast<size_t>(std::max<int64_t>(a.out, 0)));
  for (int64_t j = 0; j < a.out; j++) out[static_cast<size_t>(j)] = source(a, j, mode);
  return out;
}

// The last `rank` dimensions as three, the missing ones of size 1 and unpadded.
struct Volume {
  Axis axes[3];
  std::vector<int64_t> maps[3];
  int64_t planes, in_plane, out_plane;
};

Volume volume_of(const Tensor& self, IntSpan padding, int64_t mode) {
  Volume v;
  int64_t rank = static_cast<int64_t>(padding.size()) / 2;
  v.in_plane = v.out_plane = 1;
  for (int64_t d = 0; d < 3; d++) {
    int64_t dim = self.dim() - 3 + d;
    v.axes[d] = d >= 3 - rank ? axis_of(self, padding, dim) : Axis{1, 1, 0, 0};
    v.maps[d] = sources(v.axes[d], mode);
    v.in_plane *= v.axes[d].in;
    v.out_plane *= v.axes[d].out;
  }
  v.planes = product(self.sizes().subspan(0, static_cast<size_t>(self.dim() - rank)));
  return v;
}

void check_indexed(const Tensor& self, IntSpan padding, int64_t mode, int64_t rank) {
  UT_CHECK(static_cast<int64_t>(padding.size()) == 2 * rank, "padding size is expected to be ", 2 * rank,
           ", but got: ", padding.size());
  int64_t dim = self.dim();
  bool filled = true;
  for (int64_t d = dim == rank + 2 ? 1 : 0; d < dim; d++) filled &= self.size(d) != 0;
  UT_CHECK((dim == rank + 1 || dim == rank + 2) && (filled || mode == kCircular), "Expected ", rank + 1, "D or ",
           rank + 2,
           "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ",
           ShapeText{self.sizes()});
  for (int64_t d = dim - rank; d < dim; d++) {
    Axis a = axis_of(self, padding, d);
    if (mode == kReflect)
      UT_CHECK(a.left < a.in && a.right < a.in, "Argument #", 4 + 2 * (dim - 1 - d),
               ": Padding size should be less than the corresponding input dimension, but got: padding (", a.left, ", ",
               a.right, ") at dimension ", d, " of input ", ShapeText{self.sizes()});
    if (mode == kCircular) {
      UT_CHECK(a.left <= a.inside() && a.right <= a.inside(), "Padding value causes wrapping around more than once.");
      UT_CHECK(a.out >= 0, "Negative padding value is resulting in an empty dimension: padding (", a.left, ", ",
               a.right, ") at dimension ", d, " of input ", ShapeText{self.sizes()});
    } else {
      UT_CHECK(a.out >= 1, "input (", "DHW"[3 - (dim - d)], ": ", a.in, ") is too small. Calculated output ",
               "DHW"[3 - (dim - d)], ": ", a.out);
    }
  }
}

Tensor indexed(const Tensor& self, IntSpan padding, int64_t mode, int64_t rank, const char* name) {
  check_indexed(self, padding, mode, rank);
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool || mode == kCircular, "\"", name,
              "\" not implemented for 'Bool'");
  Dims sizes(self.sizes());
  for (int64_t d = self.dim() - rank; d < self.dim(); d++)
    sizes[static_cast<size_t>(d)] = axis_of(self, padding, d).out;
  Tensor in = contiguous(self), out = undertow::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  Volume v = volume_of(self, padding, mode);
  const Axis& w = v.axes[2];
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t depth = static_cast<int64_t>(v.maps[0].size()), height = static_cast<int64_t>(v.maps[1].size());
    const int64_t* map = v.maps[2].data();
    const int64_t first = std::min(w.begin(), w.out), last = std::min(w.begin() + w.inside(), w.out);
    parallel_for(0, v.planes * depth * height, plane_grain(w.out), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / (depth * height), z = v.maps[0][static_cast<size_t>(r / height % depth)],
                y = v.maps[1][static_cast<size_t>(r % height)];
        const T* row = in.data_as<T>() + plane * v.in_plane + (z * v.axes[1].in + y) * w.in;
        T* to = out.data_as<T>() + r * w.out;
        for (int64_t j = 0; j < first; j++) to[j] = row[map[j]];
        if (last > first)
          cpu::copy_bytes(reinterpret_cast<char*>(to + first), reinterpret_cast<const char*>(row + w.from()),
                          (last - first) * static_cast<int64_t>(sizeof(T)));
        for (int64_t j = std::max(first, last); j < w.out; j++) to[j] = row[map[j]];
      }
    });
  });
  return in_format_of(out, self);
}

}  // namespace

Tensor reflection_pad1d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReflect, 1, "reflection_pad1d");
}
Tensor reflection_pad2d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReflect, 2, "reflection_pad2d");
}
Tensor reflection_pad3d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReflect, 3, "reflection_pad3d");
}
Tensor replication_pad1d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReplicate, 1, "replication_pad1d");
}
Tensor replication_pad2d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReplicate, 2, "replication_pad2d");
}
Tensor replication_pad3d(const Tensor& self, IntSpan padding) {
  return indexed(self, padding, kReplicate, 3, "replication_pad3d");
}
Tensor _pad_indexed(const Tensor& self, IntSpan padding, int64_t mode) {
  UT_CHECK(padding.size() % 2 == 0 && padding.size() <= 6, "padding of 1 to 3 dimensions expected, got ",
           padding.size(), " numbers");
  return indexed(self, padding, mode, static_cast<int64_t>(padding.size()) / 2, "pad");
}

Tensor _pad_indexed_backward(const Tensor& grad_output, IntSpan sizes, IntSpan padding, int64_t mode) {
  Tensor out = zeros(sizes, wide_dtype(grad_output.dtype()));
  if (grad_output.numel() == 0) return to_dtype(out, grad_output.dtype());
  Volume v = volume_of(out, padding, mode);
  UT_CHECK(grad_output.numel() == v.planes * v.out_plane, "grad_output of ", v.planes * v.out_plane,
           " elements expected, got shape ", ShapeText{grad_output.sizes()});
  Tensor grad = contiguous(to_dtype(grad_output, out.dtype()));
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, v.planes, plane_grain(v.out_plane), [&](int64_t begin, int64_t end) {
      const T* from = grad.data_as<T>() + begin * v.out_plane;
      for (int64_t plane = begin; plane < end; plane++) {
        T* to = out.data_as<T>() + plane * v.in_plane;
        for (int64_t z : v.maps[0])
          for (int64_t y : v.maps[1]) {
            T* row = to + (z * v.axes[1].in + y) * v.axes[2].in;
            for (int64_t x : v.maps[2]) row[x] += *from++;
          }
      }
    });
  };
  switch (out.dtype()) {
    case DType::Float32:
      run(TypeTag<float>{});
      break;
    case DType::Float64:
      run(TypeTag<double>{});
      break;
    case DType::Complex64:
      run(TypeTag<Complex64>{});
      break;
    case DType::Complex128:
      run(TypeTag<Complex128>{});
      break;
    default:
      UT_FAIL_AS(NotImplemented, "\"pad_backward\" not implemented for '", long_name(out.dtype()), "'");
  }
  return to_dtype(out, grad_output.dtype());
}

Tensor constant_pad_nd(const Tensor& self, IntSpan pad, const Scalar& value) {
  int64_t n = self.dim();
  UT_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  UT_CHECK(static_cast<int64_t>(pad.size()) <= 2 * n,
           "Length of pad should be no more than twice the number of dimensions of the input. Pad length is ",
           pad.size(), " while the input has ", n, " dimensions.");
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < n; d++) {
    Axis a = axis_of(self, pad, d);
    UT_CHECK(a.out >= 0 && a.in + std::min<int64_t>(a.left, 0) + std::min<int64_t>(a.right, 0) >= 0,
             "narrow(): length must be non-negative: dimension ", d, " of size ", a.in, " cannot be padded by (",
             a.left, ", ", a.right, ")");
    sizes[static_cast<size_t>(d)] = a.out;
  }
  Tensor filler = full({}, value, self.dtype()), out = undertow::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  // Dimensions behind the last padded one are one long element; rows of such elements are filled one by one.
  int64_t last = n - 1, run = 1;
  while (last > 0 && axis_of(self, pad, last).out == self.size(last) && axis_of(self, pad, last).left == 0)
    run *= self.size(last--);
  Tensor in = contiguous(self);
  std::vector<Axis> axes;
  for (int64_t d = 0; d <= last; d++) axes.push_back(axis_of(self, pad, d));
  while (axes.size() < 2) axes.insert(axes.begin(), Axis{1, 1, 0, 0});
  const Axis w = axes.back(), h = axes[axes.size() - 2];
  axes.resize(axes.size() - 2);
  const int64_t width = w.out * run;
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T fill = *filler.data_as<T>();
    const int64_t before = std::min(w.begin(), w.out) * run,
                  inside = std::max<int64_t>(std::min(w.inside(), w.out - w.begin()), 0) * run;
    parallel_for(0, width ? out.numel() / width : 0, plane_grain(width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        T* row = out.data_as<T>() + r * width;
        int64_t y = r % h.out - h.left, at = 0, rest = r / h.out, scale = 1;
        bool padded = inside == 0 || y < 0 || y >= h.in;
        for (size_t d = axes.size(); d-- > 0;) {
          int64_t place = rest % axes[d].out - axes[d].left;
          rest /= axes[d].out;
          padded |= place < 0 || place >= axes[d].in;
          at += place * scale;
          scale *= axes[d].in;
        }
        if (padded) {
          std::fill_n(row, width, fill);
          continue;
        }
        const T* from = in.data_as<T>() + ((at * h.in + y) * w.in + w.from()) * run;
        std::fill_n(row, before, fill);
        cpu::copy_bytes(reinterpret_cast<char*>(row + before), reinterpret_cast<const char*>(from),
                        inside * static_cast<int64_t>(sizeof(T)));
        std::fill(row + before + inside, row + width, fill);
      }
    });
  });
  return in_format_of(out, self);
}

}  // namespace undertow::fwd
