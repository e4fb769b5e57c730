// index_read.cpp: see index_read.h.
#include "core/kernels/cpu/index/index_read.h"

#include <algorithm>
#include <atomic>

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

// One block of the source: rows at n offsets.
void copy_rows(char* to, const char* from, const int64_t* offsets, int64_t n, int64_t run, int64_t width) {
  if (run == 1) {
    index_loops().gather(width)(to, from, offsets, n, 1, 0);
    return;
  }
  int64_t bytes = run * width;
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
  Dims sizes, strides;
  for (size_t d = 0; d < r.sizes.size(); d++) {
    if (r.sizes[d] == 0) return true;
    if (r.sizes[d] == 1) continue;
    if (!sizes.empty() && strides.back() == r.strides[d] * r.sizes[d]) {
      sizes.back() *= r.sizes[d];
      strides.back() = r.strides[d];
    } else {
      sizes.push_back(r.sizes[d]);
      strides.push_back(r.strides[d]);
    }
  }
  int64_t run = 1, step = 0, runs = 1;
  if (!sizes.empty()) {
    run = sizes.back();
    step = strides.back();
    sizes.pop_back();
    strides.pop_back();
  }
  for (int64_t s : sizes) runs *= s;
  int64_t part = std::min(run, kGrain), parts = (run + part - 1) / part;
  IndexLoops::Gather gather = index_loops().gather(r.width);
  std::atomic<bool> fine{true};  // as in first_outside
  parallel_for(0, runs * parts, std::max<int64_t>(1, kGrain / part), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; item++) {
      int64_t rest = parts == 1 ? item : item / parts, k = parts == 1 ? 0 : item % parts * part, at = rest * run + k;
      const char* from = r.from + k * step;
      for (size_t d = sizes.size(); d-- > 0;) {
        if (d == 0) {
          from += rest * strides[0];
          break;
        }
        from += rest % sizes[d] * strides[d];
        rest /= sizes[d];
      }
      int64_t n = std::min(part, run - k);
      // In blocks, so that positions just checked are still in cache when they are used.
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        if (!index_loops().all_within(r.positions + at + i, m, 0, r.size))
          return fine.store(false, std::memory_order_relaxed);
        gather(r.to + (at + i) * r.width, from + i * step, r.positions + at + i, m, r.stride, step);
      }
    }
  });
  return fine;
}

}  // namespace undertow::core::cpu
