// gemm.cpp: chooses how a product of real or integer matrices is computed, and divides large ones into tiles for
// threads. Knows shapes, strides and caches; the arithmetic is in gemm.isa.cpp. Complex and half dtypes are built on
// top of this.
// build: small
#include "core/kernels/cpu/matmul/gemm.h"

#include <algorithm>
#include <type_traits>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/matmul/gemm_panels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

// Rows of B in one packed block: a B panel and an A panel of this depth fit the L1 cache together.
template <class T>
constexpr int64_t kDepth = 1536 / static_cast<int64_t>(sizeof(T));
// Maximum number of rows and columns packed at once; both packed blocks stay in the last-level cache.
constexpr int64_t kMaxPackedRows = 2016;
constexpr int64_t kMaxPackedCols = 2048;
// A thread's tile: its slice of packed A (168 rows of kDepth) takes a quarter of a megabyte of L2 cache.
constexpr int64_t kMaxTileRows = 168;
constexpr int64_t kMaxTileCols = 256;
// Maximum number of elements of a side that is packed whole.
constexpr int64_t kMaxShared = 1 << 21;
// Multiply-adds that justify a chunk: about 10 microseconds.
constexpr int64_t kChunkWork = 1 << 19;
// Up to this size B stays in the L1 and L2 caches, and packing costs more than it saves.
constexpr int64_t kDirectWork = 64 * 64 * 64;

// So few elements of C are faster to sum along k than across n; so is a single row or column.
constexpr int64_t kFewDots = 4;

// Rows of A up to which dot products of contiguous runs beat packing; the limit is higher if B comes from memory.
constexpr int64_t kMaxDotRows = 32;
constexpr int64_t kMaxCachedDotRows = 12;
constexpr int64_t kCachedElements = 1 << 20;
// For shorter runs, the final reduction costs more than reading them.
constexpr int64_t kMinDotDepth = 112;

// Elements in a chunk of one long dot product.
constexpr int64_t kLongDot = 1 << 15;

struct PackA;
struct PackB;
struct PackShared;
struct PackOwn;
struct ThinCopy;
struct LongSums;

template <class T>
void scale(const Product<T>& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    for (int64_t j = 0; j < x.n; ++j) {
      T& c = x.c[i * x.c_rs + j * x.c_cs];
      c = x.beta == T{} ? T{} : static_cast<T>(1u * c * x.beta);
    }
  }
}

// --- Large: packed, in tiles

template <class T>
struct Blocking {
  int64_t tile_rows;   // of a register tile
  int64_t rows, cols;  // of a thread's tile

  // Register tiles have equal heights, which depend only on the shape. Tiles for threads are as large as the caches
  // allow, but smaller if there would be too few for the threads.
  Blocking(int64_t m, int64_t n, int64_t k) {
    int64_t most = gemm_kernels<T>().max_tile_rows, panel = gemm_kernels<T>().panel_cols;
    tile_rows = ceil_div(m, ceil_div(m, most));
    rows = std::max(kMaxTileRows / tile_rows, int64_t{1}) * tile_rows;
    cols = ceil_div(kMaxTileCols, panel) * panel;
    int64_t depth = std::min(k, kDepth<T>);
    const int64_t enough = std::max<int64_t>(32, enough_chunks(6));
    while (ceil_div(m, rows) * ceil_div(n, cols) < enough && rows * cols * depth > 2 * kChunkWork) {
      if (rows >= cols && rows > tile_rows) {
        rows = ceil_div(rows / tile_rows, 2) * tile_rows;
      } else if (cols > panel) {
        cols = ceil_div(cols / panel, 2) * panel;
      } else {
        break;
      }
    }
  }
};

// Packs a block of A and a block of B in parallel: `x` is the block.
template <class T>
void pack_block(const Product<T>& x, const Blocking<T>& blocking, T* packed_a, T* packed_b) {
  int64_t a_step = blocking.rows, b_step = blocking.cols;
  int64_t a_tasks = ceil_div(x.m, a_step), b_tasks = ceil_div(x.n, b_step);
  int64_t elements = (x.m + x.n) * x.k;
  // Packing only moves memory, so a chunk needs fewer elements than it would need multiply-adds.
  int64_t grain = std::max<int64_t>(1, (a_tasks + b_tasks) * (kChunkWork / 16) / elements);
  parallel_for(0, a_tasks + b_tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      if (task < a_tasks) {
        int64_t i = task * a_step;
        gemm_kernels<T>().pack_a(std::min(a_step, x.m - i), x.k, x.a + i * x.a_rs, x.a_rs, x.a_cs, blocking.tile_rows,
                                 packed_a + i * x.k);
      } else {
        int64_t j = (task - a_tasks) * b_step;
        gemm_kernels<T>().pack_b(x.k, std::min(b_step, x.n - j), x.b + j * x.b_cs, x.b_rs, x.b_cs, packed_b + j * x.k);
      }
    }
  });
}

template <class T>
void multiply_block(const Product<T>& x, const Blocking<T>& blocking) {
  int64_t down = ceil_div(x.m, blocking.rows), across = ceil_div(x.n, blocking.cols);
  int64_t work = blocking.rows * blocking.cols * x.k;
  parallel_for(0, down * across, std::max<int64_t>(1, kChunkWork / work), [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      int64_t i = tile / across * blocking.rows, j = tile % across * blocking.cols;
      Product<T> part = x;
      part.m = std::min(blocking.rows, x.m - i);
      part.n = std::min(blocking.cols, x.n - j);
      part.a += i * x.k;
      part.b += j * x.k;
      part.c += i * x.c_rs + j * x.c_cs;
      gemm_kernels<T>().packed(part, blocking.tile_rows);
    }
  });
}

// For a product with one side no longer than a tile: that side is packed once for all depths. Every tile packs its own
// slice of the other side, which then comes from the L2 cache, and runs through all depths without a barrier.
template <class T>
void run_one_tile_high(const Product<T>& x, const Blocking<T>& blocking, int64_t depth, bool cut_rows) {
  const GemmKernels<T>& kernel = gemm_kernels<T>();
  int64_t shared = cut_rows ? ceil_div(x.n, kernel.panel_cols) * kernel.panel_cols : x.m;
  int64_t length = cut_rows ? x.m : x.n, step = cut_rows ? blocking.rows : blocking.cols;
  T* packed_shared = Scratch<PackShared>::get<T>(shared * x.k);
  int64_t depths = ceil_div(x.k, depth);
  parallel_for(0, depths, std::max<int64_t>(1, kChunkWork / 16 / (shared * depth)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin * depth; p < std::min(end * depth, x.k); p += depth) {
      int64_t k = std::min(depth, x.k - p);
      if (cut_rows) {
        kernel.pack_b(k, x.n, x.b + p * x.b_rs, x.b_rs, x.b_cs, packed_shared + shared * p);
      } else {
        kernel.pack_a(x.m, k, x.a + p * x.a_cs, x.a_rs, x.a_cs, blocking.tile_rows, packed_shared + shared * p);
      }
    }
  });
  int64_t tiles = ceil_div(length, step), work = x.m * x.n * x.k / tiles;
  parallel_for(0, tiles, std::max<int64_t>(1, kChunkWork / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 T* packed_own = Scratch<PackOwn>::get<T>(step * depth);
                 for (int64_t at = begin * step; at < std::min(end * step, length); at += step) {
                   Product<T> part = x;
                   (cut_rows ? part.m : part.n) = std::min(step, length - at);
                   part.c += at * (cut_rows ? x.c_rs : x.c_cs);
                   for (int64_t p = 0; p < x.k; p += depth) {
                     part.k = std::min(depth, x.k - p);
                     if (p > 0) part.beta = T{1};
                     if (cut_rows) {
                       kernel.pack_a(part.m, part.k, x.a + at * x.a_rs + p * x.a_cs, x.a_rs, x.a_cs, blocking.tile_rows,
                                     packed_own);
                     } else {
                       kernel.pack_b(part.k, part.n, x.b + p * x.b_rs + at * x.b_cs, x.b_rs, x.b_cs, packed_own);
                     }
                     part.a = cut_rows ? packed_own : packed_shared + shared * p;
                     part.b = cut_rows ? packed_shared + shared * p : packed_own;
                     kernel.packed(part, blocking.tile_rows);
                   }
                 }
               });
}

template <class T>
void run_packed(Product<T> x) {
  // Vectors run along n, so C should have unit stride there, and enough columns to fill a vector.
  bool transpose = x.c_cs != 1 && x.c_rs == 1;
  if ((transpose ? x.m : x.n) < gemm_kernels<T>().lanes && (transpose ? x.n : x.m) > (transpose ? x.m : x.n)) {
    transpose = !transpose;
  }
  if (transpose) x = x.transposed();

  Blocking<T> blocking(x.m, x.n, x.k);
  int64_t block_rows = std::min(x.m, kMaxPackedRows / blocking.tile_rows * blocking.tile_rows);
  int64_t block_cols = std::min(x.n, kMaxPackedCols);
  int64_t block_depth = ceil_div(x.k, ceil_div(x.k, kDepth<T>));
  int64_t panel = gemm_kernels<T>().panel_cols;
  if (std::min(x.m, x.n) <= kMaxTileRows && std::min(x.m, x.n) * x.k <= kMaxShared) {
    return run_one_tile_high(x, blocking, block_depth, x.m > x.n);
  }
  T* packed_a = Scratch<PackA>::get<T>(block_rows * block_depth);
  T* packed_b = Scratch<PackB>::get<T>(ceil_div(block_cols, panel) * panel * block_depth);
  for (int64_t i = 0; i < x.m; i += block_rows) {
    for (int64_t j = 0; j < x.n; j += block_cols) {
      for (int64_t p = 0; p < x.k; p += block_depth) {
        Product<T> block = x;
        block.m = std::min(block_rows, x.m - i);
        block.n = std::min(block_cols, x.n - j);
        block.k = std::min(block_depth, x.k - p);
        block.a += i * x.a_rs + p * x.a_cs;
        block.b += p * x.b_rs + j * x.b_cs;
        block.c += i * x.c_rs + j * x.c_cs;
        if (p > 0) block.beta = T{1};
        pack_block(block, blocking, packed_a, packed_b);
        block.a = packed_a;
        block.b = packed_b;
        multiply_block(block, blocking);
      }
    }
  }
}

// --- Small products and vectors: A and B are read in place

// Returns true if A was thin enough, and B's layout such, that B is best read once in place.
template <class T>
bool run_thin(const Product<T>& x) {
  bool dots = x.b_rs == 1 && (x.b_cs != 1 || x.k > x.n);
  if (dots && x.k < kMinDotDepth) return false;
  int64_t most = !dots ? kThinRows : x.k * x.n > kCachedElements ? kMaxDotRows : kMaxCachedDotRows;
  if (x.m > most || (!dots && x.b_cs != 1)) return false;
  Product<T> thin = x;
  if (dots && x.a_cs != 1) {
    T* copy = Scratch<ThinCopy>::get<T>(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i) {
      for (int64_t p = 0; p < x.k; ++p) copy[i * x.k + p] = x.a[i * x.a_rs + p * x.a_cs];
    }
    thin.a = copy;
    thin.a_rs = x.k;
    thin.a_cs = 1;
  }
  auto* kernel = dots ? thin_kernels<T>().dots : thin_kernels<T>().rows_times_matrix;
  // Memory-bound: about 10 microseconds of reads per chunk. If columns are adjacent, runs of columns must be long.
  int64_t unit = dots ? 4 : 1024;
  int64_t grain = ceil_div(ceil_div(kChunkWork / 8, x.k), unit) * unit;
  parallel_for(0, x.n, grain, [&](int64_t begin, int64_t end) {
    Product<T> part = thin;
    part.n = end - begin;
    part.b += begin * x.b_cs;
    part.c += begin * x.c_cs;
    kernel(part);
  });
  return true;
}

// Returns true if A and B were so long that even k is divided: into chunks that depend only on k, whose sums are added
// in order.
template <class T>
bool run_long(const Product<T>& x) {
  if (x.m != 1 || x.n != 1 || x.k < 2 * kLongDot || x.a_cs != 1 || x.b_rs != 1) return false;
  int64_t chunks = ceil_div(x.k, kLongDot);
  T* sums = Scratch<LongSums>::get<T>(chunks);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i * kLongDot;
      thin_kernels<T>().dots(
          {1, 1, std::min(kLongDot, x.k - at), T{1}, x.a + at, 0, 1, x.b + at, 1, 0, T{}, sums + i, 1, 1});
    }
  });
  T sum{};
  for (int64_t i = 0; i < chunks; ++i) sum += sums[i];
  *x.c = x.beta == T{} ? x.alpha * sum : x.alpha * sum + x.beta * *x.c;
  return true;
}

// Returns true if the product was small enough to be computed here.
template <class T>
bool run_small(const Product<T>& x) {
  if (x.m * x.n * x.k > kDirectWork) return false;
  bool few = x.m * x.n <= kFewDots || x.m == 1 || x.n == 1;
  if (few && x.a_cs == 1 && x.b_rs == 1 && (x.b_cs != 1 || x.n == 1)) {
    thin_kernels<T>().dots(x);
    return true;
  }
  if (x.b_cs != 1 && x.a_rs == 1) {
    gemm_kernels<T>().direct(x.transposed());
    return true;
  }
  if (x.b_cs != 1 && x.k > kDirectDepth) return false;
  gemm_kernels<T>().direct(x);
  return true;
}

template <class T>
void run(Product<T> x) {
  if (x.m <= 0 || x.n <= 0) return;
  if (x.k <= 0 || x.alpha == T{}) return scale(x);
  if constexpr (std::is_floating_point_v<T>) {
    if (run_long(x) || run_small(x)) return;
    if (run_thin(x.m <= x.n ? x : x.transposed())) return;
    if (run_panels(x)) return;
  }
  run_packed(x);
}

template <class T>
using Computed = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_rs, int64_t a_cs, const T* b, int64_t b_rs,
          int64_t b_cs, T beta, T* c, int64_t c_rs, int64_t c_cs) {
  using U = Computed<T>;
  run<U>({m, n, k, static_cast<U>(alpha), reinterpret_cast<const U*>(a), a_rs, a_cs, reinterpret_cast<const U*>(b),
          b_rs, b_cs, static_cast<U>(beta), reinterpret_cast<U*>(c), c_rs, c_cs});
}

template <class T>
bool gemm_onto(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_rs, int64_t a_cs, const T* b,
               int64_t b_rs, int64_t b_cs, T beta, const T* d, int64_t d_rs, int64_t d_cs, T* c, int64_t c_rs,
               int64_t c_cs) {
  if (std::min(m, n) <= kMaxDotRows || m * n * k <= kDirectWork || alpha == T{} || beta == T{}) return false;
  return run_panels<T>({m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, d, d_rs, d_cs});
}
template bool gemm_onto<float>(int64_t, int64_t, int64_t, float, const float*, int64_t, int64_t, const float*, int64_t,
                               int64_t, float, const float*, int64_t, int64_t, float*, int64_t, int64_t);
template bool gemm_onto<double>(int64_t, int64_t, int64_t, double, const double*, int64_t, int64_t, const double*,
                                int64_t, int64_t, double, const double*, int64_t, int64_t, double*, int64_t, int64_t);

#define UNDERTOW_INSTANTIATE_GEMM(T)                                                                                 \
  template void gemm<T>(int64_t, int64_t, int64_t, T, const T*, int64_t, int64_t, const T*, int64_t, int64_t, T, T*, \
                        int64_t, int64_t);
UNDERTOW_INSTANTIATE_GEMM(float)
UNDERTOW_INSTANTIATE_GEMM(double)
UNDERTOW_INSTANTIATE_GEMM(int8_t)
UNDERTOW_INSTANTIATE_GEMM(uint8_t)
UNDERTOW_INSTANTIATE_GEMM(int16_t)
UNDERTOW_INSTANTIATE_GEMM(int32_t)
UNDERTOW_INSTANTIATE_GEMM(int64_t)
#undef UNDERTOW_INSTANTIATE_GEMM

}  // namespace undertow::core::cpu
