// index_read.cpp: see index_read.h.
#include "core/kernels/cpu/index/index_read.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/index/index_loops.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

const IndexLoops& index_loops() {
  static const IndexLoops& chosen = UNDERTOW_CHOOSE_ISA(index_loops());
  return chosen;
}

namespace {

constexpr int64_t kGrain = 32 * 1024;  // elements
constexpr int64_t kBlock = 1024;       // positions whose offsets are kept in cache
struct ReadOffsets;                    // scratch

bool block_offsets(int64_t* offsets, std::span<const Positions> lists, int64_t begin, int64_t n) {
  bool fine = true, first = true;
  for (const Positions& p : lists) {
    fine &= index_loops().offsets(offsets, p.at + begin, n, p.size, p.may_wrap ? p.size : 0, p.stride, !first);
    first = false;
  }
  return fine;
}

// Rows of up to twice as many bytes as W has: two overlapping words each.
template <class W>
void copy_short_rows(char* to, const char* from, const int64_t* offsets, int64_t n, int64_t bytes) {
  const int64_t second = bytes - static_cast<int64_t>(sizeof(W));
  for (int64_t k = 0; k < n; k++, to += bytes) {
    W low, high;
    std::memcpy(&low, from + offsets[k], sizeof(W));
    std::memcpy(&high, from + offsets[k] + second, sizeof(W));
    std::memcpy(to, &low, sizeof(W));
    std::memcpy(to + second, &high, sizeof(W));
  }
}
struct TwoWords {
  uint64_t low, high;
};

// One block of the source: rows at n offsets.
void copy_rows(char* to, const char* from, const int64_t* offsets, int64_t n, int64_t run, int64_t width) {
  const int64_t bytes = run * width;
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
    return index_loops().gather(bytes)(to, from, offsets, n, 1, 0);
  if (bytes > 4 && bytes < 8) return copy_short_rows<uint32_t>(to, from, offsets, n, bytes);
  if (bytes > 8 && bytes < 16) return copy_short_rows<uint64_t>(to, from, offsets, n, bytes);
  if (bytes > 16 && bytes <= 32) return copy_short_rows<TwoWords>(to, from, offsets, n, bytes);
  auto copy = move_kernels().bytes;
  for (int64_t k = 0; k < n; k++) copy(to + k * bytes, from + offsets[k], bytes);
}
}  // namespace

int64_t first_outside(const int64_t* positions, int64_t n, int64_t low, int64_t high) {
  std::atomic<bool> bad{false};  // set by any chunk; no ordering is needed
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    if (!index_loops().all_within(positions + begin, end - begin, low, high))
      bad.store(true, std::memory_order_relaxed);
  });
  if (!bad) return n;
  return std::find_if(positions, positions + n, [&](int64_t p) { return p < low || p >= high; }) - positions;
}

bool byte_offsets(int64_t* offsets, std::span<const Positions> lists, int64_t count) {
  std::atomic<bool> fine{true};  // as in first_outside
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    if (!block_offsets(offsets + begin, lists, begin, end - begin)) fine.store(false, std::memory_order_relaxed);
  });
  return fine;
}

bool read_rows(const RowRead& r, std::span<const Positions> lists, int64_t count) {
  if (count == 0 || r.outer == 0) return true;
  int64_t bytes = r.run * r.width;
  if (r.outer == 1) {
    std::atomic<bool> fine{true};  // as in first_outside
    parallel_for(0, count, std::max<int64_t>(1, kGrain / std::max<int64_t>(r.run, 1)), [&](int64_t begin, int64_t end) {
      int64_t offsets[kBlock];
      for (int64_t k = begin; k < end; k += kBlock) {
        int64_t n = std::min(kBlock, end - k);
        if (!block_offsets(offsets, lists, k, n)) return fine.store(false, std::memory_order_relaxed);
        if (bytes) copy_rows(r.to + k * bytes, r.from, offsets, n, r.run, r.width);
      }
    });
    return fine;
  }
  Temporary<ReadOffsets, int64_t> all(count);
  int64_t* offsets = all.get();
  if (!byte_offsets(offsets, lists, count)) return false;
  if (bytes == 0) return true;
  // The positions are also divided into blocks, so that a few long lists are distributed over threads too.
  int64_t part = std::min(count, std::max<int64_t>(1, kGrain / r.run)), parts = (count + part - 1) / part;
  parallel_for(0, r.outer * parts, std::max<int64_t>(1, kGrain / (part * r.run)), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; item++) {
      int64_t o = item / parts, k = item % parts * part;
      copy_rows(r.to + (o * count + k) * bytes, r.from + o * r.outer_bytes, offsets + k, std::min(part, count - k),
                r.run, r.width);
    }
  });
  return true;
}

bool read_elements(const ElementRead& r) {
  // Merges dimensions with compatible strides; the innermost one is a run.
  struct Axis {
    int64_t size, from, at;
  };
  SmallVector<Axis, 8> axes;
  for (size_t d = 0; d < r.sizes.size(); d++) {
    const Axis axis{r.sizes[d], r.strides[d], r.position_strides[d]};
    if (axis.size == 0) return true;
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.size && axes.back().at == axis.at * axis.size)
      axes.back() = {axes.back().size * axis.size, axis.from, axis.at};
    else
      axes.push_back(axis);
  }
  Axis inner{1, 0, 0};
  if (!axes.empty()) {
    inner = axes.back();
    axes.pop_back();
  }
  // Rows at positions of their own; else single elements, or one row.
  const bool rows = inner.at == 0 && inner.from == r.width && !axes.empty() && axes.back().at == 1 && !axes.back().from;
  const int64_t row = rows ? inner.size : 1;
  if (rows) {
    inner = axes.back();
    axes.pop_back();
  }
  const int64_t run = inner.size, step = inner.from;
  int64_t runs = 1;
  for (const Axis& a : axes) runs *= a.size;
  int64_t part = std::min(run, std::max<int64_t>(1, kGrain / row)), parts = (run + part - 1) / part;
  IndexLoops::Gather gather = index_loops().gather(r.width);
  MoveKernels::Plane move = move_kernels().plane(r.width);
  std::atomic<bool> fine{true};  // as in first_outside
  // n elements or rows, each at its own position, or n elements at one.
  auto read = [&](char* to, const char* from, const int64_t* positions, int64_t n) {
    if (rows) {
      int64_t offsets[kBlock];
      if (!index_loops().offsets(offsets, positions, n, r.size, 0, r.stride, false))
        return fine.store(false, std::memory_order_relaxed);
      return copy_rows(to, from, offsets, n, row, r.width);
    }
    if (!index_loops().all_within(positions, inner.at ? n : 1, 0, r.size))
      return fine.store(false, std::memory_order_relaxed);
    if (inner.at)
      gather(to, from, positions, n, r.stride, step);
    else if (step == r.width)
      move_kernels().bytes(to, from + *positions * r.stride, n * r.width);
    else
      move({to, from + *positions * r.stride, n, r.width, step, 1, 0, 0});
  };
  const int64_t width = row * r.width;  // of what one position selects
  parallel_for(0, runs * parts, std::max<int64_t>(1, kGrain / (part * row)), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end && fine.load(std::memory_order_relaxed); item++) {
      int64_t rest = parts == 1 ? item : item / parts, k = parts == 1 ? 0 : item % parts * part;
      char* to = r.to + (rest * run + k) * width;
      const char* from = r.from + k * step;
      const int64_t* positions = r.positions + k * inner.at;
      for (size_t d = axes.size(); d-- > 0;) {
        const int64_t i = d ? rest % axes[d].size : rest;
        from += i * axes[d].from;
        positions += i * axes[d].at;
        if (d) rest /= axes[d].size;
      }
      const int64_t n = std::min(part, run - k);
      // In blocks, so that positions just checked are still in cache when they are used.
      const int64_t block = inner.at ? kBlock : n;
      for (int64_t i = 0; i < n; i += block)
        read(to + i * width, from + i * step, positions + i * inner.at, std::min(block, n - i));
    }
  });
  return fine;
}

}  // namespace undertow::core::cpu
