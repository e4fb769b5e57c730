// conv_box.cpp: see conv_box.h.
#include "core/kernels/cpu/conv/conv_box.h"

#include <algorithm>
#include <cstring>

#include "core/base/ceil_div.h"
#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {
namespace {

int64_t floor_div(int64_t x, int64_t y) { return x >= 0 ? x / y : -ceil_div(-x, y); }

// The number of rows of a box: as many as fit, but preferring counts that leave the fewest of `unit` outputs empty, and
// then counts that make all boxes the same size.
int64_t best_rows(int64_t height, int64_t width, int64_t unit, int64_t most_outputs) {
  int64_t most = std::clamp<int64_t>(most_outputs / width, 1, height), best = most, least = -1;
  for (int64_t rows = most; rows >= std::max<int64_t>(1, most / 2); --rows) {
    int64_t last = height % rows;
    int64_t units = height / rows * ceil_div(rows * width, unit) + ceil_div(last * width, unit);
    int64_t badness = units * height + (last > 0 ? rows - last : 0);
    if (least < 0 || badness < least) {
      least = badness;
      best = rows;
    }
  }
  return best;
}

}  // namespace

void Axis::close() {
  if (offsets.empty()) return;
  auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  low = *least;
  span = *most - *least + 1;
}

Axis Axis::forwards(const ConvShape& shape, int axis) {
  Axis a{shape.out[axis], 0, 1, shape.stride[axis], {}, {}, shape.in[axis]};
  for (int64_t t = 0; t < shape.kernel[axis]; ++t) {
    a.taps.push_back(t);
    a.offsets.push_back(t * shape.dilation[axis] - shape.pad[axis]);
  }
  a.close();
  return a;
}

Axis Axis::backwards(const ConvShape& shape, int axis, int64_t remainder) {
  int64_t stride = shape.stride[axis];
  Axis a{ceil_div(shape.in[axis] - remainder, stride), remainder, stride, 1, {}, {}, shape.out[axis]};
  for (int64_t t = 0; t < shape.kernel[axis]; ++t) {
    int64_t reach = remainder + shape.pad[axis] - t * shape.dilation[axis];
    if (reach - floor_div(reach, stride) * stride != 0) continue;
    a.taps.push_back(t);
    a.offsets.push_back(floor_div(reach, stride));
  }
  a.close();
  return a;
}

BoxPlan::BoxPlan(Axis a0, Axis a1, Axis a2, int64_t channels, int64_t lanes, int64_t most_outputs, int64_t unit)
    : axes{std::move(a0), std::move(a1), std::move(a2)}, channels_(channels), slack_(4 * lanes) {
  const Axis &x1 = axes[1], &x2 = axes[2];
  if (x2.count > most_outputs + most_outputs / 2) {
    int64_t parts = ceil_div(x2.count, most_outputs);
    rows_ = 1;
    cols_ = ceil_div(ceil_div(x2.count, parts), 2 * lanes) * 2 * lanes;
  } else {
    rows_ = best_rows(std::max<int64_t>(x1.count, 1), std::max<int64_t>(x2.count, 1), unit, most_outputs);
    cols_ = x2.count;
  }
  boxes1_ = ceil_div(x1.count, rows_);
  boxes2_ = cols_ ? ceil_div(x2.count, cols_) : 0;
  split_ = ceil_div((cols_ - 1) * x2.step + x2.span, x2.step);
  row_ = split_ * x2.step;
  slab_ = ((rows_ - 1) * x1.step + x1.span) * row_;
  channel_ = static_cast<int64_t>(axes[0].offsets.size()) * slab_;
  taps_ = static_cast<int64_t>(axes[0].offsets.size() * x1.offsets.size() * x2.offsets.size());
  offsets.reserve(static_cast<size_t>(channels * taps_));
  for (int64_t c = 0; c < channels; ++c) {
    for (size_t t0 = 0; t0 < axes[0].offsets.size(); ++t0) {
      for (int64_t o1 : x1.offsets) {
        for (int64_t o2 : x2.offsets) {
          int64_t e = o2 - x2.low;
          offsets.push_back(c * channel_ + static_cast<int64_t>(t0) * slab_ + (o1 - x1.low) * row_ +
                            e % x2.step * split_ + e / x2.step);
        }
      }
    }
  }
}

Box BoxPlan::box(int64_t index) const {
  int64_t b2 = index % boxes2_, b1 = index / boxes2_ % boxes1_, b0 = index / boxes2_ / boxes1_;
  Box box{b0, b1 * rows_, 0, b2 * cols_, 0};
  box.rows = std::min(rows_, axes[1].count - box.begin1);
  box.cols = std::min(cols_, axes[2].count - box.begin2);
  return box;
}

template <class T>
void BoxPlan::fill(const Box& box, int64_t channels, const T* source, T* copy) const {
  const Axis &a0 = axes[0], &a1 = axes[1], &a2 = axes[2];
  int64_t plane = a1.source * a2.source, lines = (box.rows - 1) * a1.step + a1.span;
  int64_t low1 = box.begin1 * a1.step + a1.low, low2 = box.begin2 * a2.step + a2.low;
  // Elements [from, to) of a row of the copy are inside the source; the same for all rows.
  int64_t length = (box.cols - 1) * a2.step + a2.span;
  int64_t from = std::clamp<int64_t>(-low2, 0, length), to = std::clamp<int64_t>(a2.source - low2, from, length);
  for (int64_t c = 0; c < channels; ++c) {
    for (size_t t0 = 0; t0 < a0.offsets.size(); ++t0) {
      int64_t at0 = box.at0 * a0.step + a0.offsets[t0];
      T* row = copy + c * channel_ + static_cast<int64_t>(t0) * slab_;
      // Lines [first, last) of the copy are inside the source.
      int64_t first = std::clamp<int64_t>(-low1, 0, lines), last = std::clamp<int64_t>(a1.source - low1, first, lines);
      if (at0 < 0 || at0 >= a0.source || from == to) first = last = 0;
      const T* line = source + (c * a0.source + at0) * plane + (low1 + first) * a2.source + low2 + from;
      std::memset(row, 0, static_cast<size_t>(first * row_) * sizeof(T));
      row += first * row_;
      if (a2.step == 1) {
        conv_loops<T>().copy_rows(last - first, line, a2.source, from, to - from, row_ - to, row, row_);
      } else {
        // Lines and remainders between windows of a single tap are never read.
        int64_t parts = std::min(a2.step, a2.span), skip = a1.span == 1 ? a1.step : 1;
        for (int64_t i = ceil_div(first, skip) * skip; i < last; i += skip) {
          conv_loops<T>().split_row(line + (i - first) * a2.source - from, from, to, a2.step, parts, split_,
                                    row + (i - first) * row_);
        }
      }
      std::memset(row + (last - first) * row_, 0, static_cast<size_t>((lines - last) * row_) * sizeof(T));
    }
  }
}

template void BoxPlan::fill<float>(const Box&, int64_t, const float*, float*) const;
template void BoxPlan::fill<double>(const Box&, int64_t, const double*, double*) const;
template void BoxPlan::fill<uint64_t>(const Box&, int64_t, const uint64_t*, uint64_t*) const;

void BoxPlan::sources(const Box& box, int64_t* out) const {
  for (int64_t r = 0; r < box.rows; ++r) {
    for (int64_t c = 0; c < box.cols; ++c) *out++ = r * axes[1].step * row_ + c;
  }
}

int64_t BoxPlan::runs(const Box& box, int64_t begin, int64_t end, Run* out) const {
  int64_t count = 0, row = begin / box.cols, column = begin - row * box.cols;
  for (int64_t at = begin; at < end; ++row, column = 0) {
    int64_t length = std::min(box.cols - column, end - at);
    out[count++] = {at - begin, row * axes[1].step * row_ + column, length};
    at += length;
  }
  return count;
}

int64_t BoxPlan::kernel_index(int64_t p, const int64_t (&kernel)[3]) const {
  int64_t n1 = static_cast<int64_t>(axes[1].taps.size()), n2 = static_cast<int64_t>(axes[2].taps.size());
  int64_t t0 = axes[0].taps[static_cast<size_t>(p / n2 / n1)], t1 = axes[1].taps[static_cast<size_t>(p / n2 % n1)],
          t2 = axes[2].taps[static_cast<size_t>(p % n2)];
  return (t0 * kernel[1] + t1) * kernel[2] + t2;
}

}  // namespace undertow::core::cpu
