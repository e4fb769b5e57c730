// pad.cpp: the CPU's PadKernels. Rows are copied whole; only their ends are processed element by element.
#include "core/kernels/pad.h"

#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/planes.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

// The input index for output index j.
int64_t source(const PadAxis& a, int64_t j, PadMode mode) {
  int64_t i = j - a.left;
  if (mode == PadMode::Replicate) return std::clamp<int64_t>(i, 0, a.in - 1);
  if (mode == PadMode::Reflect) return i < 0 ? -i : i >= a.in ? 2 * (a.in - 1) - i : i;
  int64_t n = a.inside(), at = (j - a.begin()) % n;  // circular: the elements left after cropping repeat
  return a.from() + (at < 0 ? at + n : at);
}

std::vector<int64_t> sources(const PadAxis& a, PadMode mode) {
  std::vector<int64_t> out(static_cast<size_t>(std::max<int64_t>(a.out, 0)));
  for (int64_t j = 0; j < a.out; j++) out[static_cast<size_t>(j)] = source(a, j, mode);
  return out;
}

// The padded dimensions as three; missing ones have size 1 and no padding.
struct Volume {
  PadAxis axes[3];
  std::vector<int64_t> maps[3];
  int64_t planes, in_plane, out_plane;

  Volume(IntSpan sizes, IntSpan padding, PadMode mode) {
    int64_t rank = static_cast<int64_t>(padding.size()) / 2, nd = static_cast<int64_t>(sizes.size());
    in_plane = out_plane = 1;
    for (int64_t d = 0; d < 3; d++) {
      axes[d] = d >= 3 - rank ? pad_axis(sizes, padding, nd - 3 + d) : PadAxis{1, 1, 0, 0};
      maps[d] = sources(axes[d], mode);
      in_plane *= axes[d].in;
      out_plane *= axes[d].out;
    }
    planes = product(sizes.subspan(0, static_cast<size_t>(nd - rank)));
  }
};

void indexed(const Tensor& out, const Tensor& in, IntSpan padding, PadMode mode) {
  if (out.numel() == 0) return;
  Volume v(in.sizes(), padding, mode);
  const PadAxis& w = v.axes[2];
  dispatch_width(in.dtype(), [&](auto tag) {
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
          copy_bytes(reinterpret_cast<char*>(to + first), reinterpret_cast<const char*>(row + w.from()),
                     (last - first) * static_cast<int64_t>(sizeof(T)));
        for (int64_t j = std::max(first, last); j < w.out; j++) to[j] = row[map[j]];
      }
    });
  });
}

template <class T>
void add_back(const Tensor& grad_input, const Tensor& grad_output, const Volume& v) {
  parallel_for(0, v.planes, plane_grain(v.out_plane), [&](int64_t begin, int64_t end) {
    const T* from = grad_output.data_as<T>() + begin * v.out_plane;
    for (int64_t plane = begin; plane < end; plane++) {
      T* to = grad_input.data_as<T>() + plane * v.in_plane;
      for (int64_t z : v.maps[0])
        for (int64_t y : v.maps[1]) {
          T* row = to + (z * v.axes[1].in + y) * v.axes[2].in;
          for (int64_t x : v.maps[2]) row[x] += *from++;
        }
    }
  });
}

void indexed_backward(const Tensor& grad_input, const Tensor& grad_output, IntSpan padding, PadMode mode) {
  DType wide = wide_dtype(grad_input.dtype());
  Tensor out = grad_input.dtype() == wide ? grad_input : empty(grad_input.sizes(), wide, kCpu);
  zero(out);
  if (grad_output.numel()) {
    Volume v(grad_input.sizes(), padding, mode);
    Tensor grad = contiguous_as(grad_output, wide);
    switch (wide) {
      case DType::Float32:
        add_back<float>(out, grad, v);
        break;
      case DType::Float64:
        add_back<double>(out, grad, v);
        break;
      case DType::Complex64:
        add_back<Complex64>(out, grad, v);
        break;
      default:
        add_back<Complex128>(out, grad, v);
        break;
    }
  }
  if (!out.is_same(grad_input) && out.numel()) copy(grad_input, out);
}

void constant(const Tensor& out, const Tensor& in, IntSpan pad, const Tensor& value) {
  if (out.numel() == 0) return;
  // Dimensions after the last padded one form one long element; rows of such elements are filled one by one.
  auto axis_of = [&](int64_t d) { return pad_axis(in.sizes(), pad, d); };
  int64_t last = in.dim() - 1, run = 1;
  while (last > 0 && axis_of(last).out == in.size(last) && axis_of(last).left == 0) run *= in.size(last--);
  std::vector<PadAxis> axes;
  for (int64_t d = 0; d <= last; d++) axes.push_back(axis_of(d));
  while (axes.size() < 2) axes.insert(axes.begin(), PadAxis{1, 1, 0, 0});
  const PadAxis w = axes.back(), h = axes[axes.size() - 2];
  axes.resize(axes.size() - 2);
  const int64_t width = w.out * run;
  dispatch_width(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T fill = *value.data_as<T>();
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
        copy_bytes(reinterpret_cast<char*>(row + before), reinterpret_cast<const char*>(from),
                   inside * static_cast<int64_t>(sizeof(T)));
        std::fill(row + before + inside, row + width, fill);
      }
    });
  });
}

}  // namespace

constinit const PadKernels pad_kernels = {
    .indexed = indexed,
    .indexed_backward = indexed_backward,
    .constant = constant,
};

}  // namespace undertow::core::cpu
