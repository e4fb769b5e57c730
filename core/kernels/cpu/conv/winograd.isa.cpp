// winograd.isa.cpp: Winograd's transforms of tiles and weights. Compiled once per instruction set, like gemm.isa.cpp.
// See Note [Winograd] and Note [One Namespace Per Instruction Set].
#include "core/kernels/cpu/conv/winograd_kernels.h"
#include "core/kernels/cpu/matmul/gemm_pack.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

using V = Vec<float>;
constexpr int64_t kL = kLanes<float>;

// Lanes [begin, end) of a vector: loads zeros into the others without accessing their memory.
class Window {
 public:
  // The lanes of a vector starting at `column` that are inside a row of `width` elements.
  Window(int64_t column, int64_t width) {
    int64_t begin = column < 0 ? min64(-column, kL) : 0, end = min64(kL, width - column);
    if (end < begin) end = begin;
#if defined(__AVX512F__)
    mask_ = static_cast<__mmask16>((1u << end) - (1u << begin));
  }
  V load(const float* p) const { return (V)_mm512_maskz_loadu_ps(mask_, p); }

 private:
  __mmask16 mask_;
#else
    begin_ = begin;
    end_ = end;
  }
  V load(const float* p) const {
    if (end_ - begin_ == kL) return cpu::load(p);
    V v{};
    for (int64_t i = begin_; i < end_; ++i) v[i] = p[i];
    return v;
  }

 private:
  int64_t begin_, end_;
#endif
};

inline void source_line(V d0, V d1, V d2, V d3, V (&to)[4]) {
  to[0] = d0 - d2;
  to[1] = d1 + d2;
  to[2] = d2 - d1;
  to[3] = d1 - d3;
}

inline void source_square(const V (&d)[4][4], V (&out)[kPlanes]) {
  V columns[4][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) source_line(d[0][j], d[1][j], d[2][j], d[3][j], columns[j]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    V row[4];
    source_line(columns[0][i], columns[1][i], columns[2][i], columns[3][i], row);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) out[4 * i + j] = row[j];
  }
}

inline void result_line(V y0, V y1, V (&to)[4]) {
  to[0] = y0;
  to[1] = y0 + y1;
  to[2] = y0 - y1;
  to[3] = -y1;
}

// --- Weights

inline void weight_line(V g0, V g1, V g2, V (&to)[4]) {
  V half = (g0 + g2) * 0.5f, middle = g1 * 0.5f;
  to[0] = g0;
  to[1] = half + middle;
  to[2] = half - middle;
  to[3] = g2;
}

// The taps of `rows` rows, transposed: one vector per tap.
inline void load_taps(int64_t rows, const float* w, int64_t row_stride, V (&taps)[9]) {
#if defined(__AVX512F__)
  Partial<float> nine(9);
  V square[kL] = {};
#pragma GCC unroll 16
  for (int r = 0; r < kL; ++r) {
    if (r < rows) square[r] = nine.load(w + r * row_stride);
  }
  transpose<float>(square);
#pragma GCC unroll 9
  for (int t = 0; t < 9; ++t) taps[t] = square[t];
#else
  float lines[9][kL] = {};
  for (int64_t r = 0; r < rows; ++r) {
    for (int t = 0; t < 9; ++t) lines[t][r] = w[r * row_stride + t];
  }
  for (int t = 0; t < 9; ++t) taps[t] = load(lines[t]);
#endif
}

void weights(int64_t rows, int64_t channels, const float* w, int64_t row_stride, int64_t channel_stride, bool flipped,
             int64_t plane, float* packed) {
  RowStore<float> out(packed, channels, rows, 0);
  for (int64_t c = 0; c < channels; ++c, w += channel_stride) {
    V g[9];
    load_taps(rows, w, row_stride, g);
    if (flipped) {
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        V swapped = g[t];
        g[t] = g[8 - t];
        g[8 - t] = swapped;
      }
    }
    V columns[3][4];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) weight_line(g[j], g[3 + j], g[6 + j], columns[j]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      V row[4];
      weight_line(columns[0][i], columns[1][i], columns[2][i], row);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        RowStore<float> to = out;
        to.packed += plane * (4 * i + j);
        to.put(c, row[j]);
      }
    }
  }
}

inline Vec<int32_t> larger(Vec<int32_t> x, Vec<int32_t> y) { return x > y ? x : y; }

// Keeps the maximum of the magnitudes' bits, which reaches the bits of infinity if a value is not finite.
struct Finite {
  Vec<int32_t> greatest{};
  void see(V v, Vec<int32_t> magnitude) { greatest = larger(greatest, (Vec<int32_t>)v & magnitude); }
  bool all() const {
    bool finite = true;
    for (int i = 0; i < kL; ++i) finite = finite && greatest[i] < 0x7f800000;
    return finite;
  }
};
inline Vec<int32_t> magnitude_of_first(int64_t lanes) {
  return (lane_numbers<float>() < static_cast<int32_t>(lanes)) & 0x7fffffff;
}

// --- Lanes are tiles

void source(const Planes& from, const TileRun& run, int64_t plane, int64_t width, int64_t room, float* out) {
  int64_t size = from.height * from.width;
  for (int64_t i = 0; i < run.tiles; i += kL) {
    int64_t column = run.column + 2 * i;
    Window windows[4] = {
        {column, from.width}, {column + kL, from.width}, {column + 2, from.width}, {column + 2 + kL, from.width}};
    bool inside[4];
    for (int r = 0; r < 4; ++r) inside[r] = run.row + r >= 0 && run.row + r < from.height;
    const float* image = from.data + run.row * from.width + column;
    float* to = out + i;
    bool whole = i + kL <= room;
    Partial<float> part(whole ? kL : room - i);
    for (int64_t c = 0; c < from.channels; ++c, image += size, to += width) {
      V d[4][4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        if (inside[r]) {
          const float* line = image + r * from.width;
          V a = windows[0].load(line), b = windows[1].load(line + kL), c2 = windows[2].load(line + 2),
            e = windows[3].load(line + 2 + kL);
          d[r][0] = even_lanes<float>(a, b);
          d[r][1] = odd_lanes<float>(a, b);
          d[r][2] = even_lanes<float>(c2, e);
          d[r][3] = odd_lanes<float>(c2, e);
        } else {
          d[r][0] = d[r][1] = d[r][2] = d[r][3] = V{};
        }
      }
      V transformed[kPlanes];
      source_square(d, transformed);
#pragma GCC unroll 16
      for (int xi = 0; xi < kPlanes; ++xi) {
        if (whole) {
          store(to + xi * plane, transformed[xi]);
        } else {
          part.store(to + xi * plane, transformed[xi]);
        }
      }
    }
  }
}

inline void result_pair(V m0, V m1, V m2, V m3, V& y0, V& y1) {
  y0 = m0 + m1 + m2;
  y1 = m1 - m2 - m3;
}

inline void store_columns(float* to, V first, V second, int64_t columns) {
  V a = interleave_low<float>(first, second), b = interleave_high<float>(first, second);
  if (columns >= 2 * kL) {
    store(to, a);
    store(to + kL, b);
    return;
  }
  Partial<float>(min64(kL, columns)).store(to, a);
  if (columns > kL) Partial<float>(columns - kL).store(to + kL, b);
}

bool result(const TileRun& run, int64_t channels, const float* products, int64_t plane, int64_t width,
            const float* bias, float* to, int64_t to_plane, int64_t to_row, int64_t rows, int64_t columns) {
  Finite finite;
  for (int64_t i = 0; i < run.tiles; i += kL) {
    Vec<int32_t> magnitude = magnitude_of_first(min64(kL, run.tiles - i));
    const float* m = products + i;
    float* out = to + 2 * i;
    int64_t left = min64(columns - 2 * i, 2 * min64(kL, run.tiles - i));
    for (int64_t c = 0; c < channels; ++c, m += width, out += to_plane) {
      V lines[2][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        result_pair(load(m + j * plane), load(m + (4 + j) * plane), load(m + (8 + j) * plane),
                    load(m + (12 + j) * plane), lines[0][j], lines[1][j]);
      }
      V add = broadcast(bias[c]);
#pragma GCC unroll 2
      for (int r = 0; r < 2; ++r) {
        if (r >= rows) break;
        V y0, y1;
        result_pair(lines[r][0], lines[r][1], lines[r][2], lines[r][3], y0, y1);
        y0 += add;
        y1 += add;
        finite.see(y0, magnitude);
        finite.see(y1, magnitude);
        store_columns(out + r * to_row, y0, y1, left);
      }
    }
  }
  return finite.all();
}

// --- Lanes are channels

// Columns [column, column + count) of one line of an image, transposed: one vector of channels per column.
void transpose_line(const Planes& from, int64_t row, int64_t column, int64_t count, float* line) {
  int64_t size = from.height * from.width;
  if (row < 0 || row >= from.height) {
    for (int64_t i = 0; i < count; ++i) store(line + i * kL, V{});
    return;
  }
  for (int64_t i = 0; i < count; i += kL) {
    Window window(column + i, from.width);
    const float* at = from.data + row * from.width + column + i;
    V square[kL] = {};
#pragma GCC unroll 16
    for (int c = 0; c < kL; ++c) {
      if (c < from.channels) square[c] = window.load(at + c * size);
    }
    transpose<float>(square);
#pragma GCC unroll 16
    for (int c = 0; c < kL; ++c) store(line + (i + c) * kL, square[c]);
  }
}

template <int kSize>
inline void transform_channels(const float* const (&lines)[4], V (&out)[kPlanes]) {
  if constexpr (kSize == 4) {
    V d[4][4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) d[r][j] = load(lines[r] + j * kL);
    }
    source_square(d, out);
  } else {
    V columns[2][4];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) result_line(load(lines[0] + j * kL), load(lines[1] + j * kL), columns[j]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      V row[4];
      result_line(columns[0][i], columns[1][i], row);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) out[4 * i + j] = row[j];
    }
  }
}

template <int kSize>
void channels_of(const Planes& from, const TileRun& run, int64_t tile_rows, int64_t plane, int64_t width, float* lines,
                 float* out) {
  int64_t count = 2 * run.tiles + kSize - 2, pitch = (count + kL) * kL;
  RowStore<float> store_row(out, tile_rows * run.tiles, width, 0);
  for (int64_t r = 0; r < tile_rows; ++r) {
    // Line l of the image is stored at l mod 4, so that two of four are already there.
    for (int64_t l = r > 0 && kSize == 4 ? 2 : 0; l < kSize; ++l) {
      transpose_line(from, run.row + 2 * r + l, run.column, count, lines + (2 * r + l) % 4 * pitch);
    }
    for (int64_t i = 0; i < run.tiles; ++i) {
      const float* at[4];
      for (int l = 0; l < 4; ++l) at[l] = lines + (2 * r + l) % 4 * pitch + 2 * i * kL;
      V transformed[kPlanes];
      transform_channels<kSize>(at, transformed);
      int64_t row = r * run.tiles + i;
#pragma GCC unroll 16
      for (int xi = 0; xi < kPlanes; ++xi) {
        RowStore<float> to = store_row;
        to.packed += xi * plane;
        to.put(row, transformed[xi]);
      }
    }
  }
}

void channels(int64_t size, const Planes& from, const TileRun& run, int64_t tile_rows, int64_t plane, int64_t width,
              float* lines, float* out) {
  return size == 4 ? channels_of<4>(from, run, tile_rows, plane, width, lines, out)
                   : channels_of<2>(from, run, tile_rows, plane, width, lines, out);
}

inline void tap_line(V u0, V u1, V u2, V u3, V (&to)[3]) {
  V sum = (u1 + u2) * 0.5f;
  to[0] = u0 + sum;
  to[1] = (u1 - u2) * 0.5f;
  to[2] = sum + u3;
}

bool taps(int64_t channels, const float* sums, int64_t plane, int64_t chunks, int64_t chunk_size, float* w) {
  Finite finite;
  for (int64_t c = 0; c < channels; c += kL, w += 9 * kL) {
    int64_t count = min64(kL, channels - c);
    Partial<float> part(count);
    Vec<int32_t> magnitude = magnitude_of_first(count);
    V columns[4][3];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const float* at = sums + c + j * plane;
      V u[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) u[i] = part.load(at + 4 * i * plane);
      for (int64_t chunk = 1; chunk < chunks; ++chunk) {
        at += chunk_size;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) u[i] += part.load(at + 4 * i * plane);
      }
      tap_line(u[0], u[1], u[2], u[3], columns[j]);
    }
    float lanes[9][kL];
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      V row[3];
      tap_line(columns[0][i], columns[1][i], columns[2][i], columns[3][i], row);
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) {
        finite.see(row[j], magnitude);
        store(lanes[3 * i + j], row[j]);
      }
    }
#if defined(__AVX512F__)
    V square[kL] = {};
#pragma GCC unroll 9
    for (int t = 0; t < 9; ++t) square[t] = load(lanes[t]);
    transpose<float>(square);
    Partial<float> nine(9);
#pragma GCC unroll 16
    for (int r = 0; r < kL; ++r) {
      if (r < count) nine.store(w + 9 * r, square[r]);
    }
#else
    for (int64_t r = 0; r < count; ++r) {
      for (int t = 0; t < 9; ++t) w[9 * r + t] = lanes[t][r];
    }
#endif
  }
  return finite.all();
}

constexpr WinogradKernels kKernels{weights, source, result, channels, taps};

}  // namespace

namespace UNDERTOW_ISA_NS {
const WinogradKernels& winograd_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
