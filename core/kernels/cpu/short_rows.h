// short_rows.h: runs a loop over operands whose innermost dimension is short: several rows at once, as one contiguous
// block. Knows the loop nest and widths, not what is computed.
#pragma once
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/elementwise_walk.h"

namespace undertow::core::cpu {

constexpr int64_t kRowsBlock = 512;  // elements; four blocks of the widest fit in the L1 cache
constexpr int64_t kShortRow = 16;    // below this, calling a loop for every row costs more than copying the row

// Do rows of the output share elements, as those of unfold() do? Such rows are written one after another, as in torch,
// because an input may be the output itself.
inline bool rows_overlap(const ElementwiseIter& iter) {
  const int64_t step = iter.byte_strides(0)[0], row = iter.byte_strides(0)[1];
  return step <= row && row <= (iter.dims()[0] - 1) * step;
}

inline bool has_short_rows(const ElementwiseIter& iter) {
  return iter.dims().size() > 1 && iter.dims()[0] < kShortRow && iter.numel() > 0 && !rows_overlap(iter);
}

// Is every input one element along the innermost dimension?
inline bool is_repeated(const ElementwiseIter& iter) {
  if (iter.dims().empty()) return false;
  for (int k = 1; k < iter.count(); k++)
    if (iter.byte_strides(k)[0] != 0) return false;
  return true;
}

// One output and up to three inputs, which all have `in` bytes per element. Operands that are not contiguous over
// several rows go through blocks; if all inputs are repeated along the rows, each row's value is computed once.
template <class Loop>
void walk_short_rows(const ElementwiseIter& iter, int64_t out, int64_t in, Loop&& loop) {
  const int64_t n = iter.dims()[0], computed = is_repeated(iter) ? 1 : n, most = kRowsBlock / computed;
  const int operands = iter.count();
  const MoveKernels::Plane read = move_kernels().plane(in), write = move_kernels().plane(out);
  auto rows_of = [&](char* const* p, const int64_t* row, int64_t rows) {
    alignas(64) char block[4][kRowsBlock * 16];
    for (int64_t done = 0; done < rows; done += most) {
      const int64_t count = std::min(most, rows - done);
      char* at[4];
      int64_t strides[4];
      for (int k = 0; k < operands; k++) {
        const int64_t width = k ? in : out, step = iter.byte_strides(k)[0];
        at[k] = p[k] + done * row[k];
        strides[k] = width;
        if (k == 2 && step == 0 && row[k] == 0)
          strides[k] = 0;  // a constant: all loops have a path for it
        else if (row[k] != computed * width || (step != width && (k == 0 || computed > 1)))
          at[k] = block[k];
        if (k && at[k] == block[k])
          read({block[k], p[k] + done * row[k], computed, width, step, count, computed * width, row[k]});
      }
      loop(at, strides, count * computed);
      if (at[0] == block[0])
        write({p[0] + done * row[0], block[0], n, iter.byte_strides(0)[0], computed > 1 ? out : 0, count, row[0],
               computed * out});
    }
  };
  parallel_for(0, iter.numel() / n, std::max<int64_t>(1, kParallelGrain / n),
               [&](int64_t begin, int64_t end) { walk_part(iter, begin, end, rows_of, 1); });
}

}  // namespace undertow::core::cpu
