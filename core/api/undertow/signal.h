// signal.h: windows, and the short-time Fourier transform with its inverse, by torch's names. The references are
// undertow/signal/windows.py and undertow/_functions/spectrogram.py.
#pragma once
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <vector>

#include <undertow/fft.h>
#include <undertow/functions.h>

namespace undertow {

namespace detail {

// A window of `length` elements, made by make(wide), where `wide` are the options of its computation.
template <class Make>
Tensor window(const char* name, int64_t length, const TensorOptions& options, Make&& make) {
  const ScalarType type = options.has_dtype() ? options.dtype() : get_default_dtype();
  UT_CHECK(isFloatingType(type), name, " expects floating point dtypes, got: ", toString(type));
  UT_CHECK(length >= 0, name, " requires non-negative window_length, got window_length=", length);
  const TensorOptions wide = options.dtype(type == kDouble ? kDouble : kFloat).requires_grad(false);
  Tensor made = length == 1 ? ones({1}, wide) : make(wide);
  return made.to(type).requires_grad_(options.requires_grad());
}
// The number of steps from one end of a window to the other. A periodic window leaves out the last element.
inline int64_t window_steps(int64_t length, bool periodic) {
  return std::max<int64_t>(periodic ? length : length - 1, 1);
}
// The sum of (-1)^i weights[i] cos(2 pi i n / N).
inline Tensor cosine_window(const char* name, int64_t length, bool periodic, const std::vector<double>& weights,
                            const TensorOptions& options) {
  return window(name, length, options, [&](const TensorOptions& wide) {
    const double step = 2 * std::numbers::pi / static_cast<double>(window_steps(length, periodic));
    std::vector<double> with_signs = weights;
    for (size_t i = 1; i < weights.size(); i += 2) with_signs[i] = -weights[i];
    Tensor places = linspace(0, static_cast<double>(length - 1) * step, length, wide);
    Tensor waves = arange(static_cast<int64_t>(weights.size()), wide).unsqueeze(-1) * places;
    return (tensor(with_signs, wide).unsqueeze(-1) * waves.cos()).sum({0});
  });
}

}  // namespace detail

// Windows of window_length elements. A periodic one continues without a step when it is repeated; a window that is not
// periodic is symmetric.
inline Tensor hann_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {}) {
  return detail::cosine_window("hann_window", window_length, periodic, {0.5, 0.5}, options);
}
inline Tensor hann_window(int64_t window_length, const TensorOptions& options) {
  return hann_window(window_length, true, options);
}
inline Tensor hamming_window(int64_t window_length, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                             const TensorOptions& options = {}) {
  return detail::cosine_window("hamming_window", window_length, periodic, {alpha, beta}, options);
}
inline Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return hamming_window(window_length, periodic, 0.54, 0.46, options);
}
inline Tensor hamming_window(int64_t window_length, const TensorOptions& options) {
  return hamming_window(window_length, true, options);
}
inline Tensor blackman_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {}) {
  return detail::cosine_window("blackman_window", window_length, periodic, {0.42, 0.5, 0.08}, options);
}
inline Tensor blackman_window(int64_t window_length, const TensorOptions& options) {
  return blackman_window(window_length, true, options);
}
inline Tensor bartlett_window(int64_t window_length, bool periodic = true, const TensorOptions& options = {}) {
  return detail::window("bartlett_window", window_length, options, [&](const TensorOptions& wide) {
    const double step = 2.0 / static_cast<double>(detail::window_steps(window_length, periodic));
    return 1 - linspace(-1.0, -1.0 + step * static_cast<double>(window_length - 1), window_length, wide).abs();
  });
}
inline Tensor bartlett_window(int64_t window_length, const TensorOptions& options) {
  return bartlett_window(window_length, true, options);
}
inline Tensor kaiser_window(int64_t window_length, bool periodic = true, double beta = 12.0,
                            const TensorOptions& options = {}) {
  return detail::window("kaiser_window", window_length, options, [&](const TensorOptions& wide) {
    const double step = 2.0 * beta / static_cast<double>(detail::window_steps(window_length, periodic));
    const double last = std::min(beta, -beta + step * static_cast<double>(window_length - 1));
    Tensor places = linspace(-beta, last, window_length, wide);
    return (beta * beta - places.square()).clamp_min(0).sqrt().i0() / full({}, beta, wide).i0();
  });
}
inline Tensor kaiser_window(int64_t window_length, const TensorOptions& options) {
  return kaiser_window(window_length, true, 12.0, options);
}

namespace detail {

// The window with zeros on both sides, n_fft elements; undefined if all of them are one.
inline Tensor padded_window(const optional<Tensor>& window, int64_t win, int64_t n_fft, const Tensor& like,
                            const char* name) {
  const bool is_given = window && window->defined();
  if (!is_given && win == n_fft) return {};
  Tensor w = is_given ? *window : ones({win}, like.options().dtype(toRealValueType(like.scalar_type())));
  UT_CHECK(w.dim() == 1 && w.size(0) == win, name, ": expected a 1D window tensor of size equal to win_length=", win,
           ", but got window with size ", core::ShapeText{w.sizes()});
  const int64_t left = (n_fft - win) / 2;
  return win == n_fft ? w : constant_pad_nd(w, {left, n_fft - win - left});
}

// The sum of frames (batch, frame, time), each `hop` later than the one before.
inline Tensor overlapped(const Tensor& frames, int64_t hop, int64_t length) {
  const int64_t batch = frames.size(0), count = frames.size(1), size = frames.size(2);
  const TensorOptions index = frames.options().dtype(kLong);
  Tensor places = (arange(count, index).unsqueeze(1) * hop + arange(size, index)).reshape({-1});
  return zeros({batch, length}, frames.options()).index_add(1, places, frames.reshape({batch, -1}));
}

}  // namespace detail

// The transforms of overlapping frames of a signal, as columns. The first form does not pad the signal.
inline Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length,
                   const optional<Tensor>& window, bool normalized, optional<bool> onesided = {},
                   optional<bool> return_complex = {}) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  UT_CHECK(self.is_floating_point() || self.is_complex(),
           "stft: expected a tensor of floating point or complex values, got ", toString(self.scalar_type()));
  UT_CHECK(self.dim() == 1 || self.dim() == 2, "stft: expected a 1D or 2D tensor, got shape ",
           core::ShapeText{self.sizes()});
  const int64_t length = self.size(-1);
  UT_CHECK(n_fft > 0 && n_fft <= length, "stft: expected 0 < n_fft < ", length, ", but got n_fft=", n_fft);
  UT_CHECK(hop > 0, "stft: expected hop_length > 0, but got hop_length=", hop);
  UT_CHECK(win > 0 && win <= n_fft, "stft: expected 0 < win_length <= n_fft, but got win_length=", win);
  const bool is_complex = self.is_complex() || (window && window->defined() && window->is_complex());
  UT_CHECK(return_complex || is_complex,
           "stft requires the return_complex parameter be given for real inputs: use return_complex=true");
  UT_CHECK(!(onesided.value_or(false) && is_complex), "Cannot have onesided output if window or input is complex");
  const Tensor factor = detail::padded_window(window, win, n_fft, self, "stft");
  Tensor frames = (self.dim() == 1 ? self.unsqueeze(0) : self).unfold(-1, n_fft, hop);
  if (factor.defined()) frames = frames * factor;
  const int64_t by_root = normalized;
  Tensor spectrum = is_complex ? _fft_c2c(frames, {frames.dim() - 1}, by_root, /*forward=*/true)
                               : _fft_r2c(frames, {frames.dim() - 1}, by_root, onesided.value_or(true));
  spectrum.transpose_(-1, -2);  // in place, so that the result is no view, as in Python
  if (self.dim() == 1) spectrum.squeeze_(0);
  return return_complex.value_or(true) ? spectrum : view_as_real(spectrum);
}
inline Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length = {},
                   optional<int64_t> win_length = {}, const optional<Tensor>& window = {}, bool center = true,
                   std::string_view pad_mode = "reflect", bool normalized = false, optional<bool> onesided = {},
                   optional<bool> return_complex = {}) {
  if (!center) return stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex);
  UT_CHECK(pad_mode == "reflect" || pad_mode == "constant" || pad_mode == "replicate",
           "stft: pad_mode must be \"reflect\", \"constant\" or \"replicate\", but got \"", pad_mode, "\"");
  const int64_t pad = n_fft / 2;
  Tensor rows = self;
  while (rows.dim() < 3) rows = rows.unsqueeze(0);
  rows = pad_mode == "reflect"     ? reflection_pad1d(rows, {pad, pad})
         : pad_mode == "replicate" ? replication_pad1d(rows, {pad, pad})
                                   : constant_pad_nd(rows, {pad, pad});
  while (rows.dim() > self.dim()) rows = rows.squeeze(0);
  return stft(rows, n_fft, hop_length, win_length, window, normalized, onesided, return_complex);
}

// The signal whose transforms are closest to the columns of `self` (least squares).
inline Tensor istft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length = {},
                    optional<int64_t> win_length = {}, const optional<Tensor>& window = {}, bool center = true,
                    bool normalized = false, optional<bool> onesided = {}, optional<int64_t> length = {},
                    bool return_complex = false) {
  const int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  UT_CHECK(self.is_complex(),
           "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.");
  UT_CHECK(self.numel() && (self.dim() == 2 || self.dim() == 3),
           "istft: expected a tensor with 2 or 3 dimensions that is not empty, but got ",
           core::ShapeText{self.sizes()});
  const bool half = onesided.value_or(self.size(-2) != n_fft);
  const int64_t bins = half ? n_fft / 2 + 1 : n_fft;
  UT_CHECK(self.size(-2) == bins,
           "istft: expected the frequency dimension (3rd to the last) of the input tensor to be ", bins, ", but got ",
           self.size(-2));
  UT_CHECK(0 < hop && hop <= win && win <= n_fft,
           "istft: expected 0 < hop_length <= win_length <= n_fft, got hop_length=", hop, ", win_length=", win,
           " and n_fft=", n_fft);
  UT_CHECK(!(return_complex && half), "Cannot have onesided output if window or input is complex");
  Tensor factor = detail::padded_window(window, win, n_fft, self, "istft");
  if (!factor.defined()) factor = ones({n_fft}, self.options().dtype(toRealValueType(self.scalar_type())));
  UT_CHECK(return_complex || !factor.is_complex(), "Complex windows are incompatible with return_complex=False");
  const char* norm = normalized ? "ortho" : "backward";
  Tensor rows = (self.dim() == 2 ? self.unsqueeze(0) : self).transpose(1, 2);
  Tensor frames =
      return_complex ? fft::ifft(rows, {}, -1, norm) : fft::irfft(rows.narrow(-1, 0, n_fft / 2 + 1), n_fft, -1, norm);
  const int64_t count = frames.size(1), whole = n_fft + hop * (count - 1), start = center ? n_fft / 2 : 0;
  const int64_t end = length ? start + *length : whole - start, stop = std::min(end, whole);
  Tensor signal = detail::overlapped(frames * factor, hop, whole).slice(1, start, stop);
  Tensor weight = detail::overlapped((factor * factor).expand({1, count, n_fft}), hop, whole).slice(1, start, stop);
  UT_CHECK((weight.abs() > 1e-11).all().item<bool>(), "istft: window overlap add min: 1: the windows of length ", win,
           ", ", hop, " apart, leave parts of the signal without weight");
  signal = signal / weight;
  if (end > whole) {
    core::warn("istft: the signal is shorter than the length parameter; zeros are added at its end");
    signal = constant_pad_nd(signal, {0, end - whole});
  }
  return self.dim() == 2 ? signal.squeeze(0) : signal;
}

}  // namespace undertow
