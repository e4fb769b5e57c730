// fill.cpp: fill and zero of the CPU's CopyKernels.
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cpu {

namespace {

// One value in its memory representation.
struct Pattern {
  alignas(16) char bytes[16] = {};
  int64_t width;

  Pattern(const Scalar& value, const Tensor& dst) : width(dst.itemsize()) {
    if (UT_UNLIKELY(is_storage(dst.dtype()))) {
      Scalar stored = dst.is_conj() ? value.conj() : value;
      write_element(dst.dtype(), dst.is_neg() ? -stored : stored, bytes);
      return;
    }
    dispatch(dst.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v = value.to<T>();
      if constexpr (kIsComplex<T>) {
        if (dst.is_conj()) v = std::conj(v);
      }
      if constexpr (!std::is_same_v<T, bool>) {
        if (dst.is_neg()) v = T(-OpMath<T>(v));
      }
      std::memcpy(bytes, &v, sizeof(T));
    });
  }
  bool is_zero() const {
    for (char b : bytes)
      if (b) return false;
    return true;
  }
};

// Contiguous elements: 64 bytes per step.
void fill_run(char* out, int64_t bytes, const Pattern& value) {
  alignas(64) char line[64];
  for (int64_t at = 0; at < 64; at += value.width)
    std::memcpy(line + at, value.bytes, static_cast<size_t>(value.width));
  int64_t at = 0;
  for (; at + 64 <= bytes; at += 64) std::memcpy(out + at, line, 64);
  std::memcpy(out + at, line, static_cast<size_t>(bytes - at));
}

constexpr int64_t kZeroGrain = int64_t{256} << 10;  // bytes; below this, one thread is faster than waking another

}  // namespace

void fill(const Tensor& dst, const Scalar& value) {
  Pattern pattern(value, dst);
  bool zero = pattern.is_zero();
  ElementwiseIter iter;
  iter.add_output(dst, dst.dtype());
  iter.allow_internal_overlap();  // all writes have the same value
  iter.build();
  walk(iter, [&pattern, zero, dtype = dst.dtype()](char* const* p, const int64_t* s, int64_t n) {
    int64_t width = pattern.width;
    if (s[0] == width) {
      if (zero)
        std::memset(p[0], 0, static_cast<size_t>(n * width));
      else
        fill_run(p[0], n * width, pattern);
      return;
    }
    char* at = p[0];
    dispatch_width(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T v;
      std::memcpy(&v, pattern.bytes, sizeof(T));
      for (int64_t i = 0; i < n; i++, at += s[0]) std::memcpy(at, &v, sizeof(T));
    });
  });
}

void zero(const Tensor& dst) {
  char* data = dst.data();
  parallel_for(0, dst.nbytes(), kZeroGrain,
               [data](int64_t begin, int64_t end) { std::memset(data + begin, 0, static_cast<size_t>(end - begin)); });
}

}  // namespace undertow::core::cpu
