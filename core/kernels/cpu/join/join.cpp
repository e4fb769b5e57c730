// join.cpp: the CPU's JoinKernels: concatenated blocks of bytes, and rearranged elements of one tensor.
#include "core/kernels/join.h"

#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

// One part of a concatenated tensor: for every outer index, `bytes` of it go to byte `at` of the row.
struct Block {
  const char* from;
  int64_t at, bytes;
};

void cat(const Tensor& out, TensorSpan parts, int64_t d) {
  constexpr int64_t kGrain = 128 << 10, kInCache = 16 << 10;
  int64_t outer = product(out.sizes().subspan(0, static_cast<size_t>(d)));
  int64_t row = outer ? out.nbytes() / outer : 0, at = 0;
  SmallVector<Block, 8> blocks;
  for (const Tensor& t : parts) {
    int64_t bytes = outer ? t.nbytes() / outer : 0;
    if (bytes == 0) continue;
    blocks.push_back({t.data(), at, bytes});
    at += bytes;
  }
  // Whole rows; few enough at a time that cache lines shared by two blocks are still in cache for the second.
  if (row < kGrain) {
    parallel_for(0, outer, kGrain / row, [&](int64_t begin, int64_t end) {
      int64_t step = std::max<int64_t>(1, kInCache / row);
      for (int64_t i = begin; i < end; i += step)
        for (const Block& b : blocks)
          copy_rows(out.data() + i * row + b.at, row, b.from + i * b.bytes, b.bytes, b.bytes, std::min(step, end - i));
    });
    return;
  }
  parallel_for(0, out.nbytes(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end;) {
      int64_t i = place / row, inside = place % row;
      const Block& b =
          *(std::upper_bound(blocks.begin(), blocks.end(), inside, [](int64_t x, const Block& y) { return x < y.at; }) -
            1);
      int64_t n = std::min(b.at + b.bytes - inside, end - place);
      copy_bytes(out.data() + place, b.from + i * b.bytes + (inside - b.at), n);
      place += n;
    }
  });
}

// Iterates over both tensors, but backwards from the input's far end along the flipped dimensions.
void flip(const Tensor& out, const Tensor& in, uint64_t dims) {
  int64_t w = in.itemsize();
  Dims to(out.strides()), from(in.strides());
  const char* start = in.data();
  for (size_t d = 0; d < to.size(); d++) {
    to[d] *= w;
    from[d] *= w;
    if (!(dims >> d & 1)) continue;
    start += (in.sizes()[d] - 1) * from[d];
    from[d] = -from[d];
  }
  move_elements(out.data(), start, Dims(in.sizes()), to, from, w);
}

// Along every rolled dimension there are two parts, which swap places.
void roll(const Tensor& out, const Tensor& in, IntSpan shifts) {
  int64_t w = in.itemsize();
  Dims to(out.strides()), from(in.strides()), rolled;
  for (size_t d = 0; d < to.size(); d++) {
    to[d] *= w;
    from[d] *= w;
    if (shifts[d]) rolled.push_back(static_cast<int64_t>(d));
  }
  for (uint64_t part = 0; part < uint64_t{1} << rolled.size(); part++) {
    Dims sizes(in.sizes());
    char* target = out.data();
    const char* source = in.data();
    for (size_t k = 0; k < rolled.size(); k++) {
      size_t d = static_cast<size_t>(rolled[k]);
      int64_t head = sizes[d] - shifts[d];
      if (part >> k & 1) {
        source += head * from[d];
        sizes[d] = shifts[d];
      } else {
        target += shifts[d] * to[d];
        sizes[d] = head;
      }
    }
    move_elements(target, source, sizes, to, from, w);
  }
}

void keep_triangle(const Tensor& t, int64_t diagonal, Triangle triangle) {
  int64_t rows = t.size(-2), cols = t.size(-1), w = t.itemsize(), width = cols * w;
  parallel_for(0, t.numel() / cols, std::max<int64_t>(1, kParallelGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      char* row = t.data() + r * width;
      TriangleRow kept(triangle, r % rows, cols, diagonal);
      std::memset(row, 0, static_cast<size_t>(kept.begin * w));
      std::memset(row + kept.end * w, 0, static_cast<size_t>(width - kept.end * w));
    }
  });
}

void triangle_indices(const Tensor& out, int64_t rows, int64_t cols, int64_t diagonal, Triangle triangle) {
  int64_t *row = out.data_as<int64_t>(), *col = row + out.size(1);
  // Only rows that have elements: there may be far more empty ones.
  const int64_t first = triangle == Triangle::Lower ? std::max<int64_t>(-diagonal, 0) : 0;
  const int64_t end = triangle == Triangle::Lower ? rows : std::min(rows, cols - std::min(diagonal, cols));
  for (int64_t i = first; i < end; i++) {
    TriangleRow in(triangle, i, cols, diagonal);
    for (int64_t j = in.begin; j < in.end; j++) {
      *row++ = i;
      *col++ = j;
    }
  }
}

int64_t sum_counts(const Tensor& counts) {
  const int64_t* c = counts.data_as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); i++) {
    UT_CHECK(c[i] >= 0, "repeats can not be negative");
    UT_CHECK(!__builtin_add_overflow(total, c[i], &total), "repeat_interleave: the repeats sum to more than 2**63 - 1");
  }
  return total;
}

void repeat_indices(const Tensor& out, const Tensor& counts) {
  UT_CHECK(out.numel() == sum_counts(counts), "allocated size does not match required size");
  const int64_t* c = counts.data_as<int64_t>();
  int64_t* to = out.data_as<int64_t>();
  for (int64_t i = 0; i < counts.numel(); i++) to = std::fill_n(to, c[i], i);
}

}  // namespace

constinit const JoinKernels join_kernels = {
    .cat = cat,
    .flip = flip,
    .roll = roll,
    .keep_triangle = keep_triangle,
    .triangle_indices = triangle_indices,
    .sum_counts = sum_counts,
    .repeat_indices = repeat_indices,
};

}  // namespace undertow::core::cpu
