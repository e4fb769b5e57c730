// taps.cpp: the weights of interpolation along one axis. See taps.h.
// build: small
#include "core/kernels/cpu/resample/taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace undertow::core::cpu {

namespace {

// The distance between neighbouring outputs, in input elements.
double step_of(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  return scale && *scale > 0 ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out);
}

// Keys' cubic with parameter a, at distance x.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}

double sinc(double x) {
  if (x == 0) return 1;
  x *= M_PI;
  return std::sin(x) / x;
}

double antialias_weight(Resampling::Filter filter, double x) {
  switch (filter) {
    case Resampling::Cubic:
      return cubic(x, -0.5);
    case Resampling::Lanczos:
      return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0;
    default:
      return std::max(0.0, 1 - std::abs(x));
  }
}

class Builder {
 public:
  Builder(int64_t in, int64_t out, int64_t taps) {
    t_.in = in;
    t_.out = out;
    t_.taps = taps;
    t_.identity = false;
    t_.index.assign(static_cast<size_t>(taps * out), 0);
    t_.weight.assign(static_cast<size_t>(taps * out), 0.0);
  }
  void set(int64_t j, int64_t k, int64_t index, double weight) {
    t_.index[static_cast<size_t>(k * t_.out + j)] = static_cast<int32_t>(std::clamp<int64_t>(index, 0, t_.in - 1));
    t_.weight[static_cast<size_t>(k * t_.out + j)] = weight;
  }
  Taps take() { return std::move(t_); }

 private:
  Taps t_;
};

// In float, as in torch: which of two equally near elements is selected depends on the rounding.
Taps nearest_taps(int64_t in, int64_t out, bool exact, std::optional<double> scale) {
  Builder b(in, out, 1);
  float step =
      scale && *scale > 0 ? static_cast<float>(1.0 / *scale) : static_cast<float>(in) / static_cast<float>(out);
  for (int64_t j = 0; j < out; j++) {
    int64_t from;
    if (exact)
      from = static_cast<int64_t>(std::floor((static_cast<float>(j) + 0.5f) * step));
    else if (out == in)
      from = j;
    else if (out == 2 * in)
      from = j >> 1;
    else
      from = static_cast<int64_t>(std::floor(static_cast<float>(j) * step));
    b.set(j, 0, from, 1.0);
  }
  return b.take();
}

Taps antialias_taps(Resampling::Filter filter, int64_t in, int64_t out, double step) {
  double reach = filter == Resampling::Linear ? 1 : filter == Resampling::Cubic ? 2 : 3;
  double support = step >= 1 ? reach * step : reach, inverse = step >= 1 ? 1 / step : 1;
  int64_t most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  Builder b(in, out, most);
  for (int64_t j = 0; j < out; j++) {
    double center = step * (static_cast<double>(j) + 0.5), total = 0;
    int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    int64_t count =
        std::clamp<int64_t>(std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in) - first, 0, most);
    for (int64_t k = 0; k < count; k++)
      total += antialias_weight(filter, (static_cast<double>(k + first) - center + 0.5) * inverse);
    for (int64_t k = 0; k < count; k++)
      b.set(j, k, first + k,
            antialias_weight(filter, (static_cast<double>(k + first) - center + 0.5) * inverse) /
                (total != 0 ? total : 1));
  }
  return b.take();
}

}  // namespace

Taps resample_taps(const Resampling& kind, int64_t in, int64_t out, std::optional<double> scale) {
  UT_CHECK(in <= std::numeric_limits<int32_t>::max(), "interpolate: a dimension of ", in, " elements is too long");
  if (kind.filter == Resampling::Nearest || kind.filter == Resampling::NearestExact)
    return nearest_taps(in, out, kind.filter == Resampling::NearestExact, scale);
  double step = step_of(in, out, kind.align_corners, scale);
  if (kind.antialias) return antialias_taps(kind.filter, in, out, step);
  bool is_cubic = kind.filter == Resampling::Cubic;
  Builder b(in, out, is_cubic ? 4 : 2);
  for (int64_t j = 0; j < out; j++) {
    double at = kind.align_corners ? step * static_cast<double>(j) : step * (static_cast<double>(j) + 0.5) - 0.5;
    if (is_cubic) {
      int64_t left = std::min<int64_t>(static_cast<int64_t>(std::floor(at)), in - 1);
      double t = std::clamp(at - static_cast<double>(left), 0.0, 1.0);
      for (int64_t k = 0; k < 4; k++) b.set(j, k, left + k - 1, cubic(t - static_cast<double>(k - 1), -0.75));
      continue;
    }
    if (in == out) at = static_cast<double>(j);
    at = std::max(at, 0.0);
    int64_t left = std::min<int64_t>(static_cast<int64_t>(at), in - 1);
    double t = std::clamp(at - static_cast<double>(left), 0.0, 1.0);
    b.set(j, 0, left, 1 - t);
    b.set(j, 1, left + 1, t);
  }
  return b.take();
}

}  // namespace undertow::core::cpu
