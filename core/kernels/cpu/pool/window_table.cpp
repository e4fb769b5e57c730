// window_table.cpp: see window_table.h.
#include "core/kernels/cpu/pool/window_table.h"

#include <algorithm>

namespace undertow::core::cpu {

namespace {

// The number of elements of window o.
int64_t length_of(const Windows& w, size_t o) { return (w.last[o] - w.first[o] + w.step - 1) / w.step; }
int64_t longest(const Windows& w) {
  int64_t n = 0;
  for (size_t o = 0; o < w.first.size(); o++) n = std::max(n, length_of(w, o));
  return n;
}
// With dilation, all taps of a window can be in the padding.
bool has_empty_window(const Windows& w) {
  for (size_t o = 0; o < w.first.size(); o++)
    if (w.first[o] >= w.last[o]) return true;
  return false;
}

}  // namespace

WindowTable table_of(const Pooling& p) {
  constexpr int64_t kLongRow = 16, kWindows = 64, kEntries = 16 * 1024;
  WindowTable t;
  const Windows &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
  if (p.out_plane == 0 || p.planes == 0 || ax.out() >= kLongRow) return t;
  if (has_empty_window(az) || has_empty_window(ay) || has_empty_window(ax)) return t;
  int64_t nz = longest(az), ny = longest(ay), nx = longest(ax), taps = nz * ny * nx;
  int64_t planes = std::min(p.planes, std::max<int64_t>(1, kWindows / p.out_plane)), windows = planes * p.out_plane;
  if (taps * windows > kEntries || planes * p.in_plane > kEntries * 16) return t;
  t.taps = taps;
  t.planes = planes;
  t.at.resize(static_cast<size_t>(taps * windows));
  int64_t o = 0;
  for (int64_t plane = 0; plane < planes; plane++)
    for (size_t z = 0; z < az.first.size(); z++)
      for (size_t y = 0; y < ay.first.size(); y++)
        for (size_t x = 0; x < ax.first.size(); x++, o++) {
          auto place = [&](int64_t i, int64_t j, int64_t k) {
            return static_cast<int32_t>(plane * p.in_plane +
                                        ((az.first[z] + i * az.step) * ay.in + ay.first[y] + j * ay.step) * ax.in +
                                        ax.first[x] + k * ax.step);
          };
          int64_t tap = 0;
          for (int64_t i = 0; i < length_of(az, z); i++)
            for (int64_t j = 0; j < length_of(ay, y); j++)
              for (int64_t k = 0; k < length_of(ax, x); k++, tap++)
                t.at[static_cast<size_t>(tap * windows + o)] = place(i, j, k);
          t.alike &= tap == taps;
          for (; tap < taps; tap++) t.at[static_cast<size_t>(tap * windows + o)] = place(0, 0, 0);
        }
  return t;
}

}  // namespace undertow::core::cpu
