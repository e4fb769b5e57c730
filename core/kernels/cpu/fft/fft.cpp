// fft.cpp: see fft.h. Many lines are transformed in the lanes of vectors; a long line, or a few lines, as squares.
// Chooses between the two and divides the work among threads; see Note [Lanes Of Lines] and FftSplit.
#include "core/kernels/cpu/fft/fft.h"

#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/fft/fft_plan.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

struct Blocks;    // scratch: the two blocks of a group of lanes
struct Square;    // scratch: a line between its two passes
struct Chirped;   // scratch: Bluestein's algorithm on one line
struct RealLine;  // scratch: a line of real numbers being transformed

constexpr int64_t kBlockNumbers = 1 << 16;  // complex numbers in a block up to which two blocks stay in the L2 cache
constexpr int64_t kShortLine = 64;          // too short for a square
constexpr int64_t kChunkNumbers = 1 << 13;  // complex numbers that justify a chunk
constexpr int64_t kManyLines = 8;           // from here on, threads take whole lines instead of parts of one

template <class T>
using C = std::complex<T>;

template <class T>
T* parts(C<T>* p) {
  return reinterpret_cast<T*>(p);
}
template <class T>
const T* parts(const C<T>* p) {
  return reinterpret_cast<const T*>(p);
}

// Lines `first` to `first + count`, at most as many as a vector has lanes.
struct Group {
  int64_t first, count, inner;
  // Where the line of a lane begins in an array of lines with `length` elements.
  int64_t start(int64_t lane, int64_t length) const {
    int64_t line = first + lane;
    return line / inner * length * inner + line % inner;
  }
  bool side_by_side() const { return inner > 1 && first / inner == (first + count - 1) / inner; }
};

template <class T>
void load_complex(const Group& g, int64_t length, const C<T>* in, T* block) {
  const FftLoops<T>& kernels = fft_loops<T>();
  const int64_t lanes = kernels.lanes;
  if (g.inner == 1) return kernels.rows_in(2 * length, g.count, parts(in + g.first * length), 2 * length, block, lanes);
  if (g.side_by_side()) return kernels.pairs_in(length, g.count, parts(in + g.start(0, length)), g.inner, block);
  std::fill(block, block + length * 2 * lanes, T(0));
  for (int64_t lane = 0; lane < g.count; lane++) {
    const C<T>* from = in + g.start(lane, length);
    for (int64_t k = 0; k < length; k++) {
      block[k * 2 * lanes + lane] = from[k * g.inner].real();
      block[k * 2 * lanes + lanes + lane] = from[k * g.inner].imag();
    }
  }
}

template <class T>
void store_complex(const Group& g, int64_t length, const T* block, C<T>* out, T scale) {
  const FftLoops<T>& kernels = fft_loops<T>();
  const int64_t lanes = kernels.lanes;
  if (g.inner == 1)
    return kernels.rows_out(2 * length, g.count, block, lanes, parts(out + g.first * length), 2 * length, scale);
  if (g.side_by_side())
    return kernels.pairs_out(length, g.count, block, parts(out + g.start(0, length)), g.inner, scale);
  for (int64_t lane = 0; lane < g.count; lane++) {
    C<T>* to = out + g.start(lane, length);
    for (int64_t k = 0; k < length; k++)
      to[k * g.inner] = {block[k * 2 * lanes + lane] * scale, block[k * 2 * lanes + lanes + lane] * scale};
  }
}

// Real numbers: vectors `stride` apart in the block.
template <class T>
void load_real(const Group& g, int64_t length, const T* in, T* block, int64_t stride) {
  const FftLoops<T>& kernels = fft_loops<T>();
  if (g.inner == 1) return kernels.rows_in(length, g.count, in + g.first * length, length, block, stride);
  for (int64_t k = 0; k < length; k++) std::fill(block + k * stride, block + k * stride + kernels.lanes, T(0));
  if (g.side_by_side()) {
    const T* from = in + g.start(0, length);
    for (int64_t k = 0; k < length; k++)
      std::memcpy(block + k * stride, from + k * g.inner, static_cast<size_t>(g.count) * sizeof(T));
    return;
  }
  for (int64_t lane = 0; lane < g.count; lane++) {
    const T* from = in + g.start(lane, length);
    for (int64_t k = 0; k < length; k++) block[k * stride + lane] = from[k * g.inner];
  }
}

template <class T>
void store_real(const Group& g, int64_t length, const T* block, int64_t stride, T* out, T scale) {
  if (g.inner == 1)
    return fft_loops<T>().rows_out(length, g.count, block, stride, out + g.first * length, length, scale);
  bool adjacent = g.side_by_side();
  for (int64_t lane = 0; lane < (adjacent ? 1 : g.count); lane++) {
    T* to = out + g.start(lane, length);
    for (int64_t k = 0; k < length; k++)
      for (int64_t i = 0; i < (adjacent ? g.count : 1); i++) to[k * g.inner + i] = block[k * stride + lane + i] * scale;
  }
}

// Calls f(group, block, block) for every group of lines; each block has `room` elements.
template <class T, class F>
void for_groups(FftLines lines, int64_t room, F&& f) {
  const int64_t lanes = fft_loops<T>().lanes, total = lines.outer * lines.inner;
  // If inner blocks are short, groups run across their boundaries.
  bool flat = lines.inner == 1 || lines.inner * 2 < lanes;
  int64_t span = flat ? total : lines.inner, per_span = (span + lanes - 1) / lanes,
          groups = flat ? per_span : lines.outer * per_span;
  parallel_for(0, groups, std::max<int64_t>(1, kChunkNumbers / (room * lanes)), [&](int64_t begin, int64_t end) {
    T* block = Scratch<Blocks>::get<T>(4 * lanes * room);
    for (int64_t i = begin; i < end; i++) {
      int64_t at = i % per_span * lanes;
      f(Group{i / per_span * span + at, std::min(lanes, span - at), lines.inner}, block, block + 2 * lanes * room);
    }
  });
}

// Transforms a line of complex numbers `in_step` apart as a square; real and imaginary parts are exchanged if
// `swapped`.
template <class T>
void run_square(const FftSplit<T>& split, const C<T>* in, int64_t in_step, C<T>* out, int64_t out_step, T scale,
                bool swapped) {
  const FftLoops<T>& kernels = fft_loops<T>();
  const int64_t lanes = kernels.lanes, rows = split.rows, columns = split.columns, element = 2 * lanes;
  const int64_t column_groups = (columns + lanes - 1) / lanes, row_groups = (rows + lanes - 1) / lanes;
  const int64_t block = rows * element;
  T* square = Scratch<Square>::get<T>(column_groups * block);
  parallel_for(0, column_groups, std::max<int64_t>(1, kChunkNumbers / (rows * lanes)), [&](int64_t begin, int64_t end) {
    T* own = Scratch<Blocks>::get<T>(2 * block);
    for (int64_t g = begin; g < end; g++) {
      int64_t count = std::min(lanes, columns - g * lanes);
      const C<T>* from = in + g * lanes * in_step;
      if (in_step == 1) {
        kernels.pairs_in(rows, count, parts(from), columns, own);
      } else {
        std::fill(own, own + block, T(0));
        for (int64_t a = 0; a < rows; a++)
          for (int64_t i = 0; i < count; i++) {
            C<T> x = from[(a * columns + i) * in_step];
            own[a * element + i] = x.real();
            own[a * element + lanes + i] = x.imag();
          }
      }
      T* result = split.along_rows->run(own, own + block, swapped);
      kernels.scale_lanes(rows, result, split.roots.data() + g * block, square + g * block, swapped);
    }
  });
  parallel_for(0, row_groups, std::max<int64_t>(1, kChunkNumbers / (columns * lanes)), [&](int64_t begin, int64_t end) {
    T* own = Scratch<Blocks>::get<T>(2 * columns * element);
    for (int64_t r = begin; r < end; r++) {
      int64_t count = std::min(lanes, rows - r * lanes);
      for (int64_t g = 0; g < column_groups; g++) {
        int64_t width = std::min(lanes, columns - g * lanes);
        const T* from = square + g * block + r * lanes * element;
        T* to = own + g * lanes * element;
        kernels.rows_in(width, count, from, element, to, element);
        kernels.rows_in(width, count, from + lanes, element, to + lanes, element);
      }
      T* result = split.along_columns->run(own, own + columns * element, swapped);
      C<T>* to = out + r * lanes * out_step;
      if (out_step == 1) {
        kernels.pairs_out(columns, count, result, parts(to), rows, scale);
        continue;
      }
      for (int64_t b = 0; b < columns; b++)
        for (int64_t i = 0; i < count; i++)
          to[(b * rows + i) * out_step] = {result[b * element + i] * scale, result[b * element + lanes + i] * scale};
    }
  });
}

// What is needed to transform one line at a time.
template <class T>
struct LinePlan {
  int64_t n;
  std::shared_ptr<const FftPlan<T>> plan;    // null if the whole line is transformed as a square
  std::shared_ptr<const FftSplit<T>> split;  // for n, or for the inner length of a chirp; else null

  explicit LinePlan(int64_t length) : n(length) {
    bool smooth = fft_is_smooth(n);
    if (!smooth || n < kShortLine) plan = FftPlan<T>::of(n);
    int64_t square = smooth ? n : plan->inner().length();
    if (square >= kShortLine) split = FftSplit<T>::of(square);
  }
};

template <class T>
void run_line(const LinePlan<T>& with, const C<T>* in, int64_t in_step, C<T>* out, int64_t out_step, T scale,
              bool inverse) {
  if (!with.plan) return run_square(*with.split, in, in_step, out, out_step, scale, inverse);
  const FftPlan<T>& plan = *with.plan;
  const int64_t lanes = fft_loops<T>().lanes, n = with.n;
  if (!with.split) {
    T *block = Scratch<Blocks>::get<T>(4 * lanes * plan.room()), *other = block + 2 * lanes * plan.room();
    std::fill(block, other, T(0));
    for (int64_t k = 0; k < n; k++)
      block[k * 2 * lanes] = in[k * in_step].real(), block[k * 2 * lanes + lanes] = in[k * in_step].imag();
    const T* result = plan.run(block, other, inverse);
    for (int64_t k = 0; k < n; k++)
      out[k * out_step] = {result[k * 2 * lanes] * scale, result[k * 2 * lanes + lanes] * scale};
    return;
  }
  const int64_t m = plan.inner().length(), grain = 1 << 15;
  C<T>*work = Scratch<Chirped>::get<C<T>>(2 * m), *spectrum = work + m;
  // The inverse is the conjugate of the conjugate's transform.
  auto mirrored = [inverse](C<T> z) { return inverse ? std::conj(z) : z; };
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      work[k] = k < n ? mirrored(in[k * in_step]) * plan.chirp()[static_cast<size_t>(k)] : C<T>(0);
  });
  run_square<T>(*with.split, work, 1, spectrum, 1, T(1), false);
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) spectrum[k] *= plan.chirp_transform()[static_cast<size_t>(k)];
  });
  run_square<T>(*with.split, spectrum, 1, work, 1, T(1), true);
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      out[k * out_step] = mirrored(work[k] * plan.chirp()[static_cast<size_t>(k)]) * scale;
  });
}

// Calls f(block, line in it) for every line of n numbers.
template <class F>
void for_each_line(FftLines lines, int64_t n, F&& f) {
  int64_t total = lines.outer * lines.inner;
  parallel_for(0, total, total >= kManyLines ? std::max<int64_t>(1, kChunkNumbers / n) : total,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) f(i / lines.inner, i % lines.inner);
               });
}

// Are lines of n numbers transformed faster one at a time?
template <class T>
bool one_by_one(FftLines lines, int64_t n) {
  int64_t lanes = fft_loops<T>().lanes, room = fft_is_smooth(n) ? n : 2 * n;
  return n >= kShortLine && (lines.outer * lines.inner * 2 < lanes || room * lanes > kBlockNumbers);
}

template <class T>
void real_line(const LinePlan<T>& with, const FftRoots<T>& roots, int64_t n, const T* in, int64_t step, C<T>* out,
               int64_t kept, T scale) {
  const int64_t h = n / 2;
  C<T>* line = Scratch<RealLine>::get<C<T>>(n + 1);
  if (n % 2) {
    for (int64_t k = 0; k < n; k++) line[k] = in[k * step];
    run_line<T>(with, line, 1, line, 1, scale, false);
    for (int64_t k = 0; k < kept; k++) out[k * step] = line[k];
    return;
  }
  T* numbers = parts(line);
  for (int64_t k = 0; k < n; k++) numbers[k] = in[k * step];
  run_line<T>(with, line, 1, line, 1, scale, false);
  // Same as the kernel `unravel`, for one line.
  out[0] = line[0].real() + line[0].imag();
  out[h * step] = line[0].real() - line[0].imag();
  parallel_for(1, h / 2 + 1, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      C<T> a = line[k], b = std::conj(line[h - k]), even = (a + b) * T(0.5), w = roots.roots[static_cast<size_t>(k)];
      C<T> odd = (a - b) * T(0.5) * C<T>(w.imag(), -w.real());
      out[k * step] = even + odd;
      out[(h - k) * step] = std::conj(even - odd);
    }
  });
  for (int64_t k = h + 1; k < kept; k++) out[k * step] = std::conj(out[(n - k) * step]);
}

template <class T>
void line_to_real(const LinePlan<T>& with, const FftRoots<T>& roots, int64_t n, const C<T>* in, int64_t step, T* out,
                  T scale) {
  const int64_t h = n / 2;
  C<T>* line = Scratch<RealLine>::get<C<T>>(n + 1);
  if (n % 2) {
    line[0] = in[0].real();
    for (int64_t k = 1; k <= h; k++) line[k] = in[k * step], line[n - k] = std::conj(in[k * step]);
    run_line<T>(with, line, 1, line, 1, scale, true);
    for (int64_t k = 0; k < n; k++) out[k * step] = line[k].real();
    return;
  }
  line[0] = {in[0].real() + in[h * step].real(), in[0].real() - in[h * step].real()};
  parallel_for(1, h / 2 + 1, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      C<T> a = in[k * step], b = std::conj(in[(h - k) * step]), even = a + b, w = roots.roots[static_cast<size_t>(k)];
      C<T> odd = (a - b) * C<T>(w.imag(), w.real());  // times i and the conjugate root
      line[k] = even + odd;
      line[h - k] = std::conj(even - odd);
    }
  });
  run_line<T>(with, line, 1, line, 1, scale, true);
  const T* numbers = parts(line);
  for (int64_t k = 0; k < n; k++) out[k * step] = numbers[k];
}

}  // namespace

template <class T>
void fft_complex(FftLines lines, int64_t n, const C<T>* in, C<T>* out, bool inverse, T scale) {
  if (one_by_one<T>(lines, n)) {
    LinePlan<T> with(n);
    return for_each_line(lines, n, [&](int64_t o, int64_t i) {
      int64_t start = o * n * lines.inner + i;
      run_line<T>(with, in + start, lines.inner, out + start, lines.inner, scale, inverse);
    });
  }
  auto plan = FftPlan<T>::of(n);
  for_groups<T>(lines, plan->room(), [&](const Group& g, T* block, T* other) {
    load_complex(g, n, in, block);
    store_complex(g, n, plan->run(block, other, inverse), out, scale);
  });
}

template <class T>
void fft_from_real(FftLines lines, int64_t n, const T* in, C<T>* out, int64_t kept, T scale) {
  if (one_by_one<T>(lines, n)) {
    LinePlan<T> with(n % 2 ? n : n / 2);
    auto roots = FftRoots<T>::of(n);
    return for_each_line(lines, n, [&](int64_t o, int64_t i) {
      real_line<T>(with, *roots, n, in + o * n * lines.inner + i, lines.inner, out + o * kept * lines.inner + i, kept,
                   scale);
    });
  }
  const FftLoops<T>& kernels = fft_loops<T>();
  const int64_t lanes = kernels.lanes, element = 2 * lanes, h = n / 2;
  auto plan = FftPlan<T>::of(n % 2 ? n : h);
  auto roots = n % 2 ? nullptr : FftRoots<T>::of(n);
  for_groups<T>(lines, std::max(plan->room(), n), [&](const Group& g, T* block, T* other) {
    T* result;
    if (n % 2) {
      std::fill(block, block + n * element, T(0));
      load_real(g, n, in, block, element);
      result = plan->run(block, other, false);
    } else {
      load_real(g, n, in, block, lanes);
      T* pairs = plan->run(block, other, false);
      result = pairs == block ? other : block;
      kernels.unravel(h, pairs, result, parts(roots->roots.data()), kept == n && n > h + 1);
    }
    store_complex(g, kept, result, out, scale);
  });
}

template <class T>
void fft_to_real(FftLines lines, int64_t n, const C<T>* in, T* out, T scale) {
  const int64_t h = n / 2, given = h + 1;
  if (one_by_one<T>(lines, n)) {
    LinePlan<T> with(n % 2 ? n : n / 2);
    auto roots = FftRoots<T>::of(n);
    return for_each_line(lines, n, [&](int64_t o, int64_t i) {
      line_to_real<T>(with, *roots, n, in + o * given * lines.inner + i, lines.inner, out + o * n * lines.inner + i,
                      scale);
    });
  }
  const FftLoops<T>& kernels = fft_loops<T>();
  const int64_t lanes = kernels.lanes, element = 2 * lanes;
  auto plan = FftPlan<T>::of(n % 2 ? n : h);
  auto roots = n % 2 ? nullptr : FftRoots<T>::of(n);
  for_groups<T>(lines, std::max(plan->room(), std::max(n, given)), [&](const Group& g, T* block, T* other) {
    load_complex(g, given, in, block);
    if (n % 2) {
      std::fill(block + lanes, block + element, T(0));
      for (int64_t k = 1; k <= h; k++)
        for (int64_t i = 0; i < lanes; i++) {
          block[(n - k) * element + i] = block[k * element + i];
          block[(n - k) * element + lanes + i] = -block[k * element + lanes + i];
        }
      return store_real(g, n, plan->run(block, other, true), element, out, scale);
    }
    kernels.ravel(h, block, other, parts(roots->roots.data()));
    store_real(g, n, plan->run(other, block, true), lanes, out, scale);
  });
}

#define UT_FFT(T)                                                                 \
  template void fft_complex<T>(FftLines, int64_t, const C<T>*, C<T>*, bool, T);   \
  template void fft_from_real<T>(FftLines, int64_t, const T*, C<T>*, int64_t, T); \
  template void fft_to_real<T>(FftLines, int64_t, const C<T>*, T*, T);
UT_FFT(float)
UT_FFT(double)
#undef UT_FFT

}  // namespace undertow::core::cpu
