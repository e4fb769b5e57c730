// gemm_panels.cpp: see gemm_panels.h. Chooses which side is packed, and divides C among threads.
#include "core/kernels/cpu/matmul/gemm_panels.h"

#include <algorithm>
#include <atomic>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

struct OwnPanels;
struct LeftCopy;

// Multiply-adds that justify a chunk: about 2 microseconds.
constexpr int64_t kChunkWork = 1 << 18;
// Enough chunks to balance the load of a few threads.
constexpr int64_t kEnoughChunks = 16;
// Maximum rows and columns of a chunk: its panels and its rows of A stay in the L2 cache.
constexpr int64_t kMaxRows = 168;
constexpr int64_t kMaxCols = 256;
// Up to this many elements, B stays in the last-level cache and is read in place.
constexpr int64_t kMaxCached = 1 << 23;
// Maximum elements of a packed side, and maximum length of the shorter side: beyond, rows of A are read too often from
// too far away.
constexpr int64_t kMaxPacked = 1 << 21;
constexpr int64_t kMaxNarrow = 1024;
// Columns, in panels, from which a chunk copies its rows of A.
constexpr int64_t kMinCopied = 8;

// Rows 4096 bytes apart map to the same set of the L1 cache; without unit column stride every element touches another
// cache line.
template <class T>
bool needs_copy(const Product<T>& x) {
  if (x.a_cs != 1) return true;
  return x.m > 4 && x.a_rs * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
}

// The orientation in which the larger side can be read in place, if possible: A needs runs along k, B runs along n.
template <class T>
Product<T> oriented(const Product<T>& x) {
  bool left_lies = x.a_cs == 1, right_lies = x.b_rs == 1 && x.b_cs != 1;
  if (!right_lies) return !left_lies && x.a_rs == 1 && x.m > x.n && x.m > kMaxRows ? x.transposed() : x;
  if (!left_lies) return x.transposed();
  // One side is transposed while it is packed; in the transposed orientation C is also transposed while it is written.
  return x.m * (x.k + x.n) < x.n * x.k && 2 * x.m >= gemm_kernels<T>().lanes ? x.transposed() : x;
}

template <class T>
void multiply(const Product<T>& x) {
  gemm_kernels<T>().panels(x, needs_copy(x) ? Scratch<LeftCopy>::get<T>(kCopyElements) : nullptr);
}

// Note [Private Panels]
// Panels that all threads pack together and then read come from another core's cache, line by line, after a barrier; on
// the machine where this was measured, that costs more than packing in each thread whatever it needs. So a thread packs
// the panels of its chunk, and keeps them for its next chunk if that has the same columns.

// Numbers products, so that a thread knows which product its panels belong to; atomic, but no ordering is needed.
std::atomic<uint64_t> jobs{0};
struct Kept {
  uint64_t job;
  int64_t column;
};
constinit thread_local Kept kept{0, 0};

template <class T>
const T* own_panels(const Product<T>& x, uint64_t job, int64_t column, int64_t n, int64_t most) {
  T* own =
      Scratch<OwnPanels>::get<T>(gemm_kernels<T>().panel_cols * ceil_div(most, gemm_kernels<T>().panel_cols) * x.k);
  if (kept.job == job && kept.column == column) return own;
  gemm_kernels<T>().pack_b(x.k, n, x.b + column * x.b_cs, x.b_rs, x.b_cs, own);
  kept = {job, column};
  return own;
}

// Copies the initial value of C, along C's contiguous side.
template <class T>
void begin_with(Product<T> x) {
  if (x.c_cs != 1 && x.c_rs == 1) x = x.transposed();
  for (int64_t i = 0; i < x.m; ++i) {
    T* to = x.c + i * x.c_rs;
    const T* from = x.start + i * x.start_rs;
    if (x.c_cs == 1 && x.start_cs == 1) {
      std::copy(from, from + x.n, to);
    } else {
      for (int64_t j = 0; j < x.n; ++j) to[j * x.c_cs] = from[j * x.start_cs];
    }
  }
}

struct Cut {
  int64_t rows, cols;

  // Depends only on the shape. Columns are divided first, since every chunk packs its own.
  template <class T>
  static Cut of(const Product<T>& x) {
    int64_t panel = gemm_kernels<T>().panel_cols, most = gemm_kernels<T>().max_tile_rows;
    int64_t tile = ceil_div(x.m, ceil_div(x.m, most));
    Cut cut{std::min(std::max(kMaxRows / tile, int64_t{1}) * tile, ceil_div(x.m, tile) * tile),
            std::min(ceil_div(kMaxCols, panel), ceil_div(x.n, panel)) * panel};
    auto too_few = [&] {
      return ceil_div(x.m, cut.rows) * ceil_div(x.n, cut.cols) < kEnoughChunks &&
             cut.rows * cut.cols * x.k >= 2 * kChunkWork;
    };
    int64_t least = needs_copy(x) ? kMinCopied * panel : panel;
    while (too_few() && cut.cols > least) cut.cols = ceil_div(cut.cols / panel, 2) * panel;
    while (too_few() && cut.rows > tile) cut.rows = ceil_div(cut.rows / tile, 2) * tile;
    return cut;
  }
};

}  // namespace

template <class T>
int64_t panel_elements(int64_t k, int64_t n) {
  int64_t panel = gemm_kernels<T>().panel_cols;
  return ceil_div(n, panel) * panel * k;
}

template <class T>
int64_t panel_columns() {
  return gemm_kernels<T>().panel_cols;
}

template <class T>
void pack_panels(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed) {
  gemm_kernels<T>().pack_b(k, n, b, b_rs, b_cs, packed);
}

template <class T>
void multiply_panels(Product<T> x) {
  if (x.m <= 0 || x.n <= 0) return;
  if (x.k <= 0) {
    for (int64_t i = 0; i < x.m; ++i) {
      for (int64_t j = 0; j < x.n; ++j) {
        T& c = x.c[i * x.c_rs + j * x.c_cs];
        c = x.beta == T{} ? T{} : c * x.beta;
      }
    }
    return;
  }
  x.b_cs = 0;
  multiply(x);
}

template <class T>
bool run_panels(Product<T> x) {
  x = oriented(x);
  bool b_contiguous = x.b_cs == 1 && x.k * x.n <= kMaxCached;
  if (!b_contiguous && x.k * x.n > kMaxPacked) return false;
  int64_t narrow = std::min(x.m, x.n);
  if (narrow > (x.a_cs != 1 ? kMaxNarrow / 2 : kMaxNarrow)) return false;
  Cut cut = Cut::of(x);
  int64_t down = ceil_div(x.m, cut.rows), across = ceil_div(x.n, cut.cols);
  int64_t grain = std::max<int64_t>(1, kChunkWork / std::max<int64_t>(1, cut.rows * cut.cols * x.k));
  const uint64_t job = jobs.fetch_add(1, std::memory_order_relaxed) + 1;
  parallel_for(0, down * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      // Down the columns first: a thread's next chunk often uses the same panels.
      int64_t i = chunk % down * cut.rows, j = chunk / down * cut.cols;
      Product<T> part = x;
      part.m = std::min(cut.rows, x.m - i);
      part.n = std::min(cut.cols, x.n - j);
      part.a += i * x.a_rs;
      part.c += i * x.c_rs + j * x.c_cs;
      if (x.start) {
        part.start += i * x.start_rs + j * x.start_cs;
        begin_with(part);
      }
      if (b_contiguous) {
        part.b += j;
      } else {
        part.b_cs = 0;
        part.b = own_panels(x, job, j, part.n, cut.cols);
      }
      multiply(part);
    }
  });
  return true;
}

#define UNDERTOW_INSTANTIATE_PANELS(T)                                            \
  template int64_t panel_elements<T>(int64_t, int64_t);                           \
  template int64_t panel_columns<T>();                                            \
  template void pack_panels<T>(int64_t, int64_t, const T*, int64_t, int64_t, T*); \
  template void multiply_panels<T>(Product<T>);                                   \
  template bool run_panels<T>(Product<T>);
UNDERTOW_INSTANTIATE_PANELS(float)
UNDERTOW_INSTANTIATE_PANELS(double)
#undef UNDERTOW_INSTANTIATE_PANELS

}  // namespace undertow::core::cpu
