// gemm.isa.cpp: the kernels for matrix products: packing into panels, and register tiles. Compiled once per instruction
// set: -O2 with vectors (CMakeLists.txt), -ffp-contract=fast and -DUNDERTOW_ISA_NS=isa_baseline -march=x86-64, or
// isa_avx2 -march=x86-64-v3, or isa_avx512 -march=x86-64-v4 -mprefer-vector-width=512 (only isa_baseline if not on
// x86). Knows neither threads nor allocation. See Note [One Namespace Per Instruction Set].
#include <type_traits>

#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/matmul/gemm_pack.h"
#include "core/kernels/cpu/matmul/gemm_tile.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// A tile of rows x 2 vectors leaves registers for the two vectors of B and a broadcast of A: 28 of 32 registers
// accumulate with AVX-512, 12 of 16 elsewhere. Integers do not justify so much code.
#if defined(__AVX512F__)
constexpr int kFloatRows = 14;
constexpr bool kMaskedStores = true;
#else
constexpr int kFloatRows = 6;
constexpr bool kMaskedStores = false;
#endif
template <class T>
constexpr int kMaxRows = std::is_integral_v<T> ? 4 : kFloatRows;
constexpr int kPanelVecs = 2;
// Rows of B to prefetch: if B is in the caller's layout, its rows are far apart, and the hardware prefetcher does not
// predict the next one.
constexpr int64_t kAhead = 16;
// Bytes of the L1 cache for tiles of A, and bytes of the L2 cache for panels.
constexpr int64_t kNearBytes = 24576;
constexpr int64_t kFarBytes = 1 << 19;

// --- Packing

template <class T>
void pack_a(int64_t m, int64_t k, const T* a, int64_t a_rs, int64_t a_cs, int64_t tile_rows, T* packed) {
  for (int64_t i = 0; i < m; i += tile_rows) {
    int64_t rows = min64(tile_rows, m - i);
    pack_panel(k, rows, rows, a + i * a_rs, a_rs, a_cs, packed + i * k);
  }
}

template <class T>
void pack_b(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed) {
  constexpr int64_t kL = kLanes<T>, kPanel = kPanelVecs * kL;
  // If rows are contiguous, a few rows at a time across all panels: long runs suit the prefetcher, and rows a power of
  // two apart do not evict each other from the cache.
  int64_t step = b_cs == 1 ? 8 : k;
  for (int64_t p = 0; p < k; p += step) {
    int64_t depth = min64(step, k - p);
    for (int64_t j = 0; j < n; j += kPanel) {
      int64_t cols = min64(kPanel, n - j), width = cols <= kL ? kL : kPanel;
      pack_panel(depth, cols, width, b + p * b_rs + j * b_cs, b_cs, b_rs, packed + j * k + p * width);
    }
  }
}

// --- Register tiles

template <class T, int kRows, int kVecs>
inline void write_tile(const Tile<T>& t, Vec<T> (&acc)[kRows][kVecs]) {
  constexpr int64_t kL = kLanes<T>;
  bool whole = kMaskedStores || t.cols == kVecs * kL;
  if (t.c_cs != 1 || !whole || std::is_integral_v<T>) {
    T sums[kRows * kVecs * kL];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) store(sums + (i * kVecs + v) * kL, acc[i][v]);
    }
    return write_from_memory(t, kRows, sums, kVecs * kL);
  }
  Partial<T> last(t.cols - (kVecs - 1) * kL);
  bool adds = t.beta != T{};
  T* c = t.c;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, c += t.c_rs) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      Vec<T> value = acc[i][v] * t.alpha;
      if (kMaskedStores && v + 1 == kVecs) {
        if (adds) value += last.load(c + v * kL) * t.beta;
        last.store(c + v * kL, value);
      } else {
        if (adds) value += load(c + v * kL) * t.beta;
        store(c + v * kL, value);
      }
    }
  }
}

// Every tile sums a * b over k in ascending order, whatever its size, so the value of an element does not depend on how
// C is divided into tiles.
template <class T, int kRows, int kVecs>
void packed_tile(const Tile<T>& t) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> acc[kRows][kVecs] = {};
  const T* a = t.a;
  const T* b = t.b;
  if (t.c_cs == 1) {
    for (int i = 0; i < kRows; ++i) __builtin_prefetch(t.c + i * t.c_rs, 1);
  }
  for (int64_t p = 0; p < t.k; ++p, a += kRows, b += kVecs * kL) {
    Vec<T> row[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) row[v] = load(b + v * kL);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      Vec<T> ai = broadcast(a[i]);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[i][v] += ai * row[v];
    }
  }
  write_tile<T, kRows, kVecs>(t, acc);
}

template <class T, int kRows, int kVecs>
void direct_tile(const Tile<T>& t) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> acc[kRows][kVecs] = {};
  Partial<T> last(t.cols - (kVecs - 1) * kL);
  // Instruction sets without masks load partial vectors slowly; a packed panel is padded.
  bool whole = !kMaskedStores && (t.cols == kVecs * kL || t.padded);
  const T* b = t.b;
  // Every fourth row has a pointer; the rows between are reached with one and three times the stride, which fits the
  // registers.
  const T* a[(kRows + 3) / 4];
  for (int i = 0; i < (kRows + 3) / 4; ++i) a[i] = t.a + 4 * i * t.a_rs;
  for (int64_t p = 0; p < t.k; ++p, b += t.b_rs) {
    Vec<T> row[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) __builtin_prefetch(b + kAhead * t.b_rs + v * kL);
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) row[v] = v + 1 < kVecs || whole ? load(b + v * kL) : last.load(b + v * kL);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      Vec<T> ai = broadcast(a[i / 4][(i % 4) * t.a_rs]);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[i][v] += ai * row[v];
    }
#pragma GCC unroll 4
    for (int i = 0; i < (kRows + 3) / 4; ++i) a[i] += t.a_cs;
  }
  write_tile<T, kRows, kVecs>(t, acc);
}

template <class T>
using TileFn = void (*)(const Tile<T>&);

// [rows - 1][vectors - 1]
template <class T>
struct TileTable {
  TileFn<T> packed[kMaxRows<T>][kPanelVecs];
  TileFn<T> direct[kMaxRows<T>][kPanelVecs];
};

template <class T, int kRows>
constexpr void fill_tiles(TileTable<T>& table) {
  table.packed[kRows - 1][0] = packed_tile<T, kRows, 1>;
  table.packed[kRows - 1][1] = packed_tile<T, kRows, 2>;
  if constexpr (!std::is_integral_v<T>) {
    table.direct[kRows - 1][0] = direct_tile<T, kRows, 1>;
    table.direct[kRows - 1][1] = direct_tile<T, kRows, 2>;
  }
  if constexpr (kRows > 1) fill_tiles<T, kRows - 1>(table);
}

template <class T>
constexpr TileTable<T> make_tiles() {
  TileTable<T> table{};
  fill_tiles<T, kMaxRows<T>>(table);
  return table;
}

template <class T>
constexpr TileTable<T> kTiles = make_tiles<T>();

template <class T>
void packed(const Product<T>& x, int64_t tile_rows) {
  constexpr int64_t kL = kLanes<T>, kPanel = kPanelVecs * kL;
  for (int64_t j = 0; j < x.n; j += kPanel) {
    int64_t cols = min64(kPanel, x.n - j);
    for (int64_t i = 0; i < x.m; i += tile_rows) {
      int64_t rows = min64(tile_rows, x.m - i);
      Tile<T> t{x.k,    cols,  x.a + i * x.k, 0, 0, x.b + j * x.k, 0, x.alpha, x.beta, x.c + i * x.c_rs + j * x.c_cs,
                x.c_rs, x.c_cs};
      kTiles<T>.packed[rows - 1][cols > kL](t);
    }
  }
}

template <class T>
inline void direct_panel(const Product<T>& x, int64_t tile_rows, int64_t j, int64_t cols, const T* b, int64_t b_rs) {
  for (int64_t i = 0; i < x.m; i += tile_rows) {
    int64_t rows = min64(tile_rows, x.m - i);
    Tile<T> t{x.k,    cols,  x.a + i * x.a_rs, x.a_rs, x.a_cs, b, b_rs, x.alpha, x.beta, x.c + i * x.c_rs + j * x.c_cs,
              x.c_rs, x.c_cs};
    kTiles<T>.direct[rows - 1][cols > kLanes<T>](t);
  }
}

// Separate from `direct` because of its large stack frame.
template <class T>
__attribute__((noinline)) void direct_packing(const Product<T>& x, int64_t tile_rows) {
  constexpr int64_t kL = kLanes<T>, kPanel = kPanelVecs * kL;
  alignas(64) T panel[kDirectDepth * kPanel];
  for (int64_t j = 0; j < x.n; j += kPanel) {
    int64_t cols = min64(kPanel, x.n - j), width = cols > kL ? kPanel : kL;
    pack_panel(x.k, cols, width, x.b + j * x.b_cs, x.b_cs, x.b_rs, panel);
    direct_panel(x, tile_rows, j, cols, panel, width);
  }
}

template <class T>
void direct(const Product<T>& x) {
  constexpr int64_t kPanel = kPanelVecs * kLanes<T>;
  // Tiles of equal height: 16 rows are 8 and 8, not 14 and 2.
  int64_t tile_rows = x.m;
  if (x.m > kMaxRows<T>) {
    int64_t tiles = (x.m + kMaxRows<T> - 1) / kMaxRows<T>;
    tile_rows = (x.m + tiles - 1) / tiles;
  }
  if (x.b_cs != 1) return direct_packing(x, tile_rows);
  for (int64_t j = 0; j < x.n; j += kPanel) {
    direct_panel(x, tile_rows, j, min64(kPanel, x.n - j), x.b + j, x.b_rs);
  }
}

// A contiguous copy of the rows of one tile of A, `depth` columns wide: rows a power of two apart evict each other from
// the L1 cache, and columns far apart miss it.
template <class T>
struct LeftTile {
  const T* a;
  int64_t a_rs, a_cs;

  void copy(int64_t rows, int64_t depth, T* to) {
    constexpr int64_t kL = kLanes<T>;
    if (a_cs != 1) {
      pack_panel(depth, rows, rows, a, a_rs, a_cs, to);
      a_rs = 1;
      a_cs = rows;
    } else {
      int64_t stride = kPanelDepth + kL;
      for (int64_t i = 0; i < rows; ++i) {
        int64_t p = 0;
        for (; p + kL <= depth; p += kL) store(to + i * stride + p, load(a + i * a_rs + p));
        for (; p < depth; ++p) to[i * stride + p] = a[i * a_rs + p];
      }
      a_rs = stride;
    }
    a = to;
  }
};

template <class T>
void panels(const Product<T>& x, T* copy) {
  constexpr int64_t kL = kLanes<T>, kPanel = kPanelVecs * kL;
  int64_t tiles = (x.m + kMaxRows<T> - 1) / kMaxRows<T>, tile_rows = (x.m + tiles - 1) / tiles;
  bool b_contiguous = x.b_cs == 1;
  int64_t blocks = (x.k + kPanelDepth - 1) / kPanelDepth, block = (x.k + blocks - 1) / blocks;
  // The number of tiles that use a panel in turn: as many as have their rows in the L1 cache, but at least two if the
  // panels come from the last-level cache. One, so that C is written along its rows, if all panels fit the L1 cache.
  int64_t group = kNearBytes / static_cast<int64_t>(sizeof(T)) / (tile_rows * block);
  if (group < 2) group = x.k * x.n * static_cast<int64_t>(sizeof(T)) > kFarBytes ? 2 : 1;
  if (x.k * x.n * static_cast<int64_t>(sizeof(T)) <= kNearBytes) group = 1;
  if (copy) group = min64(group, 2);
  for (int64_t p = 0; p < x.k; p += block) {
    int64_t depth = min64(block, x.k - p);
    for (int64_t top = 0; top < x.m; top += group * tile_rows) {
      int64_t bottom = min64(x.m, top + group * tile_rows);
      LeftTile<T> lefts[2];  // copies, if any
      if (copy) {
        for (int64_t i = top, n = 0; i < bottom; i += tile_rows, ++n) {
          lefts[n] = {x.a + i * x.a_rs + p * x.a_cs, x.a_rs, x.a_cs};
          lefts[n].copy(min64(tile_rows, x.m - i), depth, copy + n * (kCopyElements / 2));
        }
      }
      for (int64_t j = 0; j < x.n; j += kPanel) {
        int64_t cols = min64(kPanel, x.n - j), width = cols > kL ? kPanel : kL;
        for (int64_t i = top, n = 0; i < bottom; i += tile_rows, ++n) {
          LeftTile<T> left = copy ? lefts[n] : LeftTile<T>{x.a + i * x.a_rs + p * x.a_cs, x.a_rs, x.a_cs};
          Tile<T> t{depth,
                    cols,
                    left.a,
                    left.a_rs,
                    left.a_cs,
                    b_contiguous ? x.b + p * x.b_rs + j : x.b + j * x.k + p * width,
                    b_contiguous ? x.b_rs : width,
                    x.alpha,
                    p > 0 ? T{1} : x.beta,
                    x.c + i * x.c_rs + j * x.c_cs,
                    x.c_rs,
                    x.c_cs,
                    !b_contiguous};
          kTiles<T>.direct[min64(tile_rows, x.m - i) - 1][cols > kL](t);
        }
      }
    }
  }
}

template <class T>
constexpr GemmKernels<T> make_kernels() {
  GemmKernels<T> kernels{
      .max_tile_rows = kMaxRows<T>,
      .lanes = kLanes<T>,
      .panel_cols = kPanelVecs * kLanes<T>,
      .pack_a = pack_a<T>,
      .pack_b = pack_b<T>,
      .packed = packed<T>,
      .direct = nullptr,
      .panels = nullptr,
  };
  if constexpr (!std::is_integral_v<T>) {
    kernels.direct = direct<T>;
    kernels.panels = panels<T>;
  }
  return kernels;
}

template <class T>
constexpr GemmKernels<T> kKernels = make_kernels<T>();

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const GemmKernels<T>& gemm_kernels() {
  return kKernels<T>;
}
template const GemmKernels<float>& gemm_kernels<float>();
template const GemmKernels<double>& gemm_kernels<double>();
template const GemmKernels<uint8_t>& gemm_kernels<uint8_t>();
template const GemmKernels<uint16_t>& gemm_kernels<uint16_t>();
template const GemmKernels<uint32_t>& gemm_kernels<uint32_t>();
template const GemmKernels<uint64_t>& gemm_kernels<uint64_t>();
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
