// pointwise.cpp: the CPU's PointwiseKernels: runs an operator's loop over runs of elements; and the few operators with
// several results or mixed dtypes.
#include "core/kernels/pointwise.h"

#include <cmath>

#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/pointwise/special.h"
#include "core/kernels/cpu/pointwise/where_kernels.h"

namespace undertow::core::cpu {

namespace {

void run(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params) {
  LoopFn loop = op.loop(compute);
  walk(iter, [&](char* const* p, const int64_t* strides, int64_t n) { loop(p, strides, n, params); });
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
