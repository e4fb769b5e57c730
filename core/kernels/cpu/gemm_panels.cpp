// gemm_panels.cpp: see gemm_panels.h. Chooses which side is packed, cuts C for threads, and packs for all of them or for each.
#include "core/kernels/cpu/gemm_panels.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::cpu {
namespace {

struct SharedPanels;
struct OwnPanels;
struct LeftCopy;

// Multiply-adds worth a chunk of their own: some 2 microseconds.
constexpr int64_t kChunkWork = 1 << 18;
// Chunks enough to keep a few threads evenly busy.
constexpr int64_t kEnoughChunks = 16;
// Most rows and columns of a chunk: its panels and its rows of A stay in the second cache.
constexpr int64_t kMaxRows = 168;
constexpr int64_t kMaxCols = 256;
// Elements up to which the last cache holds B, which then is read where it lies.
constexpr int64_t kMaxCached = 1 << 23;
// Most elements that are packed whole, and the longest shorter side: beyond, rows of A come from too far away too often.
constexpr int64_t kMaxShared = 1 << 21;
constexpr int64_t kMaxNarrow = 1024;
// Columns of a chunk that copies its rows of A, in panels.
constexpr int64_t kLeastCopied = 4;
// Elements that may be packed more than once before threads had better wait for each other; turning costs four times copying.
constexpr int64_t kPackedTwice = 1 << 15;

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

template <class T>
const GemmKernels<T>& kernels() {
  static const GemmKernels<T>& chosen = UNDERTOW_CHOOSE_ISA(gemm_kernels<T>());
  return chosen;
}

// Rows 4096 bytes apart share one set of the nearest cache; columns apart at all touch a line for every element.
template <class T>
bool needs_copy(const Product<T>& x) {
  if (x.a_cs != 1) return true;
  return x.m > 4 && x.a_rs * static_cast<int64_t>(sizeof(T)) % 4096 == 0;
}

// The reading that leaves the larger side where it lies, if it can: A needs runs along k, B runs along n.
template <class T>
Product<T> oriented(const Product<T>& x) {
  bool left_lies = x.a_cs == 1, right_lies = x.b_rs == 1 && x.b_cs != 1;
  if (!right_lies) return !left_lies && x.a_rs == 1 && x.m > x.n && x.m > kMaxRows ? x.transposed() : x;
  if (!left_lies) return x.transposed();
  return x.n > x.m && 2 * x.m >= kernels<T>().lanes ? x.transposed() : x;
}

template <class T>
void multiply(const Product<T>& x) {
  kernels<T>().panels(x, needs_copy(x) ? Scratch<LeftCopy>::get<T>(kCopyElements) : nullptr);
}

struct Cut {
  int64_t rows, cols;

  // Depends on the shape alone: columns are cut first, since every chunk packs its own.
  template <class T>
  static Cut of(const Product<T>& x) {
    int64_t panel = kernels<T>().panel_cols, most = kernels<T>().max_tile_rows;
    int64_t tile = ceil_div(x.m, ceil_div(x.m, most));
    Cut cut{std::min(std::max(kMaxRows / tile, int64_t{1}) * tile, ceil_div(x.m, tile) * tile),
            std::min(ceil_div(kMaxCols, panel), ceil_div(x.n, panel)) * panel};
    auto too_few = [&] {
      return ceil_div(x.m, cut.rows) * ceil_div(x.n, cut.cols) < kEnoughChunks && cut.rows * cut.cols * x.k >= 2 * kChunkWork;
    };
    int64_t least = needs_copy(x) ? kLeastCopied * panel : panel;
    while (too_few() && cut.cols > least) cut.cols = ceil_div(cut.cols / panel, 2) * panel;
    while (too_few() && cut.rows > tile) cut.rows = ceil_div(cut.rows / tile, 2) * tile;
    return cut;
  }
};

}  // namespace

template <class T>
int64_t panel_elements(int64_t k, int64_t n) {
  int64_t panel = kernels<T>().panel_cols;
  return ceil_div(n, panel) * panel * k;
}

template <class T>
int64_t panel_columns() {
  return kernels<T>().panel_cols;
}

template <class T>
void pack_panels(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed) {
  kernels<T>().pack_b(k, n, b, b_rs, b_cs, packed);
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
  bool lies = x.b_cs == 1 && x.k * x.n <= kMaxCached;
  if (!lies && x.k * x.n > kMaxShared) return false;
  int64_t narrow = std::min(x.m, x.n);
  if (narrow > (x.a_cs != 1 ? kMaxRows : needs_copy(x) ? kMaxNarrow / 2 : kMaxNarrow)) return false;
  Cut cut = Cut::of(x);
  int64_t down = ceil_div(x.m, cut.rows), across = ceil_div(x.n, cut.cols);
  bool shared = !lies && (down - 1) * x.n * x.k * (x.b_cs == 1 ? 1 : 4) > kPackedTwice;
  T* panels = nullptr;
  if (shared) {
    panels = Scratch<SharedPanels>::get<T>(panel_elements<T>(x.k, x.n));
    int64_t panel = panel_columns<T>();
    int64_t grain = std::max<int64_t>(1, kChunkWork / 32 / (panel * x.k)) * panel;
    parallel_for(0, x.n, grain, [&](int64_t begin, int64_t end) {
      pack_panels(x.k, end - begin, x.b + begin * x.b_cs, x.b_rs, x.b_cs, panels + begin * x.k);
    });
  }
  int64_t grain = std::max<int64_t>(1, kChunkWork / std::max<int64_t>(1, cut.rows * cut.cols * x.k));
  parallel_for(0, down * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      // Down the columns first: a thread's next chunk has the panels of the one before.
      int64_t i = chunk % down * cut.rows, j = chunk / down * cut.cols;
      Product<T> part = x;
      part.b_cs = lies ? 1 : 0;
      part.m = std::min(cut.rows, x.m - i);
      part.n = std::min(cut.cols, x.n - j);
      part.a += i * x.a_rs;
      part.c += i * x.c_rs + j * x.c_cs;
      if (lies) {
        part.b += j;
      } else if (shared) {
        part.b = panels + j * x.k;
      } else {
        T* own = Scratch<OwnPanels>::get<T>(panel_elements<T>(x.k, cut.cols));
        pack_panels(x.k, part.n, x.b + j * x.b_cs, x.b_rs, x.b_cs, own);
        part.b = own;
      }
      multiply(part);
    }
  });
  return true;
}

#define UNDERTOW_INSTANTIATE_PANELS(T)                                                      \
  template int64_t panel_elements<T>(int64_t, int64_t);                                     \
  template int64_t panel_columns<T>();                                                      \
  template void pack_panels<T>(int64_t, int64_t, const T*, int64_t, int64_t, T*);           \
  template void multiply_panels<T>(Product<T>);                                      \
  template bool run_panels<T>(Product<T>);
UNDERTOW_INSTANTIATE_PANELS(float)
UNDERTOW_INSTANTIATE_PANELS(double)
#undef UNDERTOW_INSTANTIATE_PANELS

}  // namespace undertow::cpu
