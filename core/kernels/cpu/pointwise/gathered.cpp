// gathered.cpp: see gathered.h.
#include "core/kernels/cpu/pointwise/gathered.h"

#include <algorithm>
#include <cstring>

namespace undertow::core::cpu {
namespace {

// Three blocks of the widest elements fill half of the L1 cache.
constexpr int64_t kBlock = 512;

template <int width>
void move(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) std::memcpy(to, from, width);
}
void move(int width, char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  switch (width) {
    case 1:
      return move<1>(to, to_stride, from, from_stride, n);
    case 2:
      return move<2>(to, to_stride, from, from_stride, n);
    case 4:
      return move<4>(to, to_stride, from, from_stride, n);
    case 8:
      return move<8>(to, to_stride, from, from_stride, n);
    default:
      return move<16>(to, to_stride, from, from_stride, n);
  }
}

}  // namespace

void run_gathered(ContiguousLoop loop, const void* op, OperandWidths widths, char* const* p, const int64_t* strides,
                  int64_t n) noexcept {
  run_gathered_integers(loop, op, widths, p, strides, n);
}

void run_gathered_integers(ContiguousLoop loop, const void* op, OperandWidths widths, char* const* p,
                           const int64_t* strides, int64_t n) {
  alignas(64) char block[3][kBlock * 16];
  for (int k = 1; k <= widths.inputs; k++)
    if (strides[k] == 0) move(widths.in, block[k], widths.in, p[k], 0, std::min(n, kBlock));
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    char* at[3] = {block[0], block[1], block[2]};
    for (int k = 1; k <= widths.inputs; k++) {
      char* from = p[k] + done * strides[k];
      if (strides[k] == widths.in)
        at[k] = from;
      else if (strides[k] != 0)
        move(widths.in, block[k], widths.in, from, strides[k], count);
    }
    char* out = p[0] + done * strides[0];
    if (strides[0] == widths.out) at[0] = out;
    loop(op, count, at);
    if (at[0] == block[0]) move(widths.out, out, strides[0], block[0], widths.out, count);
  }
}

}  // namespace undertow::core::cpu
