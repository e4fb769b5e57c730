// pointwise.cpp: the CPU's PointwiseKernels: runs an operator's loop over runs of elements; and the few operators with
// several results or mixed dtypes.
#include "core/kernels/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/pointwise/special.h"
#include "core/kernels/cpu/pointwise/where_kernels.h"
#include "core/kernels/cpu/short_rows.h"
#include "core/kernels/cpu/transposed_inputs.h"

namespace undertow::core::cpu {

namespace {

// Runs of which every input is one element are one result, written n times.
void run_repeated(LoopFn loop, const ElementwiseIter& iter, int64_t width, const Scalar* params) {
  walk(iter, [&](char* const* p, const int64_t* strides, int64_t n) {
    loop(p, strides, 1, params);
    repeat_first(p[0], strides[0], n, width);
  });
}

// Three inputs, of which the first is one element along each run: the loops have no path for it, so blocks of it are
// made contiguous.
void run_first_repeated(LoopFn loop, const ElementwiseIter& iter, int64_t width, const Scalar* params) {
  constexpr int64_t kBlock = 512;
  walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    alignas(64) char block[kBlock * 16];
    std::memcpy(block, p[1], static_cast<size_t>(width));
    repeat_first(block, width, std::min(n, kBlock), width);
    const int64_t strides[] = {s[0], width, s[2], s[3]};
    for (int64_t done = 0; done < n; done += kBlock) {
      char* const at[] = {p[0] + done * s[0], block, p[2] + done * s[2], p[3] + done * s[3]};
      loop(at, strides, std::min(kBlock, n - done), params);
    }
  });
}

void run(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params) {
  LoopFn loop = op.loop(compute);
  auto run_loop = [&](char* const* p, const int64_t* strides, int64_t n) { loop(p, strides, n, params); };
  const int64_t out = itemsize(op.result_dtype(compute)), in = itemsize(compute);
  if (has_short_rows(iter))
    walk_short_rows(iter, out, in, run_loop);
  else if (is_repeated(iter))
    run_repeated(loop, iter, out, params);
  else if (iter.count() == 4 && !iter.dims().empty() && iter.byte_strides(1)[0] == 0)
    run_first_repeated(loop, iter, in, params);
  else if (const size_t across = tile_dimension(iter, out, in))
    walk_transposed_inputs(iter, across, in, run_loop);
  else
    walk(iter, run_loop);
}

// Only moves elements, so only their width matters.
void where(const ElementwiseIter& iter, DType dtype) { walk(iter, UNDERTOW_CHOOSE_ISA(where_loop(itemsize(dtype)))); }

void frexp(const ElementwiseIter& iter, DType dtype) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
        for (int64_t i = 0; i < n; i++) {
          int exponent = 0;
          OpMath<T> x = static_cast<OpMath<T>>(*reinterpret_cast<T*>(p[2] + i * s[2]));
          *reinterpret_cast<T*>(p[0] + i * s[0]) = T(std::frexp(x, &exponent));
          *reinterpret_cast<int32_t*>(p[1] + i * s[1]) = std::isfinite(x) ? exponent : 0;
        }
      });
    }
  });
}

// Half dtypes step in their own 16 bits, which float arithmetic cannot do.
template <class T>
T next_after(T a, T b) {
  float x = a, y = b;
  if (x != x || y != y) return T(std::nanf(""));
  if (x == y) return b;
  T r;
  if (x == 0) {
    r.bits = static_cast<uint16_t>(1 | (y < 0 ? 0x8000 : 0));
  } else {
    r.bits = static_cast<uint16_t>((x < y) == (x > 0) ? a.bits + 1 : a.bits - 1);
  }
  return r;
}

void nextafter_half(const ElementwiseIter& iter, DType half) {
  auto run = [&]<class T>(TypeTag<T>) {
    walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        *reinterpret_cast<T*>(p[0] + i * s[0]) =
            next_after(*reinterpret_cast<T*>(p[1] + i * s[1]), *reinterpret_cast<T*>(p[2] + i * s[2]));
    });
  };
  if (half == DType::Float16)
    run(TypeTag<Half>{});
  else
    run(TypeTag<BFloat16>{});
}

template <class Make>
void make_complex(const ElementwiseIter& iter, DType real, Make make) {
  auto run = [&]<class T>(TypeTag<T>) {
    walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; i++)
        *reinterpret_cast<std::complex<T>*>(p[0] + i * s[0]) =
            make(*reinterpret_cast<T*>(p[1] + i * s[1]), *reinterpret_cast<T*>(p[2] + i * s[2]));
    });
  };
  if (real == DType::Float64)
    run(TypeTag<double>{});
  else
    run(TypeTag<float>{});
}
void complex(const ElementwiseIter& iter, DType real) {
  make_complex(iter, real, []<class T>(T x, T y) { return std::complex<T>(x, y); });
}
void polar(const ElementwiseIter& iter, DType real) {
  make_complex(iter, real, []<class T>(T r, T a) { return std::complex<T>(r * std::cos(a), r * std::sin(a)); });
}

}  // namespace

constinit const PointwiseKernels pointwise_kernels = {
    .run = run,
    .where = where,
    .frexp = frexp,
    .nextafter_half = nextafter_half,
    .complex = complex,
    .polar = polar,
    .special_function = special_function,
    .special_polynomial = special_polynomial,
};

}  // namespace undertow::core::cpu
