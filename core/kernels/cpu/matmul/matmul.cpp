// matmul.cpp: the CPU's MatmulKernels: converts tensors to the strided pointers that products take.
#include "core/kernels/matmul.h"

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace undertow::core::cpu {

namespace {

// The first element of each operand, and its strides.
struct Operands {
  char *a, *b, *c;
  const ProductShape& shape;
};

template <class T>
void run(const Operands& p, const Scalar& alpha, const Scalar& beta) {
  const ProductShape& s = p.shape;
  const T *a = reinterpret_cast<const T*>(p.a), *b = reinterpret_cast<const T*>(p.b);
  T* c = reinterpret_cast<T*>(p.c);
  T va = alpha.to<T>(), vb = beta.to<T>();
  if (s.batch == 1)
    return gemm<T>(s.m, s.n, s.k, va, a, s.a.row, s.a.column, b, s.b.row, s.b.column, vb, c, s.c.row, s.c.column);
  bgemm<T>(s.batch, s.m, s.n, s.k, va, a, s.a.batch, s.a.row, s.a.column, b, s.b.batch, s.b.row, s.b.column, vb, c,
           s.c.batch, s.c.row, s.c.column);
}

void multiply(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& s, const Scalar& alpha,
              const Scalar& beta) {
  int64_t width = c.itemsize();
  Operands p{a.data() + s.a.offset * width, b.data() + s.b.offset * width, c.data() + s.c.offset * width, s};
  switch (c.dtype()) {
    case DType::Float32:
      return run<float>(p, alpha, beta);
    case DType::Float64:
      return run<double>(p, alpha, beta);
    case DType::Complex64:
      return run<Complex64>(p, alpha, beta);
    case DType::Complex128:
      return run<Complex128>(p, alpha, beta);
    case DType::UInt8:
      return run<uint8_t>(p, alpha, beta);
    case DType::Int8:
      return run<int8_t>(p, alpha, beta);
    case DType::Int16:
      return run<int16_t>(p, alpha, beta);
    case DType::Int32:
      return run<int32_t>(p, alpha, beta);
    case DType::Int64:
      return run<int64_t>(p, alpha, beta);
    case DType::Float16:
    case DType::BFloat16: {
      auto* product = c.dtype() == DType::Float16 ? bgemm_f16 : bgemm_bf16;
      return product(s.batch, s.m, s.n, s.k, alpha.to<float>(), reinterpret_cast<const uint16_t*>(p.a), s.a.batch,
                     s.a.row, s.a.column, reinterpret_cast<const uint16_t*>(p.b), s.b.batch, s.b.row, s.b.column,
                     beta.to<float>(), reinterpret_cast<uint16_t*>(p.c), s.c.batch, s.c.row, s.c.column);
    }
    default:
      break;  // the caller reports the error
  }
}

// Below this many rows or columns, addmm in one pass does not pay off.
constexpr int64_t kRowsAtOnce = 32;

// addmm in one pass over the result; returns false if the product is too small, or too large, for that.
template <class T>
bool addmm_at_once(const Tensor& c, const Tensor& d, const Tensor& a, const Tensor& b, const Scalar& alpha,
                   const Scalar& beta) {
  return gemm_onto<T>(c.size(0), c.size(1), a.size(1), alpha.to<T>(), a.data_as<T>(), a.stride(0), a.stride(1),
                      b.data_as<T>(), b.stride(0), b.stride(1), beta.to<T>(), d.data_as<T>(), d.stride(0), d.stride(1),
                      c.data_as<T>(), c.size(1), 1);
}

void addmm(const Tensor& c, const Tensor& d, const Tensor& a, const Tensor& b, const Scalar& alpha,
           const Scalar& beta) {
  DType t = c.dtype();
  if (c.size(0) > kRowsAtOnce && c.size(1) > kRowsAtOnce) {
    if (t == DType::Float32 && addmm_at_once<float>(c, d, a, b, alpha, beta)) return;
    if (t == DType::Float64 && addmm_at_once<double>(c, d, a, b, alpha, beta)) return;
  }
  if (!beta.equals(0) && c.numel()) copy(c, d);
  multiply(c, a, b,
           {1,
            c.size(0),
            c.size(1),
            a.size(1),
            {0, a.stride(0), a.stride(1)},
            {0, b.stride(0), b.stride(1)},
            {0, c.stride(0), c.stride(1)}},
           alpha, beta);
}

void trace(const Tensor& out, const Tensor& matrix) {
  int64_t n = std::min(matrix.size(0), matrix.size(1)), step = matrix.stride(0) + matrix.stride(1);
  dispatch(matrix.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, OpMath<T>>;  // integers wrap around
    Sum sum{};
    const T* p = matrix.data_as<T>();
    for (int64_t i = 0; i < n; i++) sum += static_cast<Sum>(p[i * step]);
    using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    *out.data_as<Out>() = Out(sum);
  });
}

void cross(const Tensor& out, const Tensor& x, const Tensor& y, int64_t d) {
  int64_t inner = 1;
  for (int64_t i = d + 1; i < out.dim(); i++) inner *= out.size(i);
  int64_t rows = out.numel() / 3;
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      using M = OpMath<T>;
      parallel_for(0, rows, kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) {
          int64_t at = r / inner * 3 * inner + r % inner;
          const T *a = x.data_as<T>() + at, *b = y.data_as<T>() + at;
          T* c = out.data_as<T>() + at;
          M a0 = M(a[0]), a1 = M(a[inner]), a2 = M(a[2 * inner]), b0 = M(b[0]), b1 = M(b[inner]), b2 = M(b[2 * inner]);
          // Each product rounds to the element type, as torch's do.
          auto difference = [](M x0, M y0, M x1, M y1) { return T(M(T(x0 * y0)) - M(T(x1 * y1))); };
          c[0] = difference(a1, b2, a2, b1);
          c[inner] = difference(a2, b0, a0, b2);
          c[2 * inner] = difference(a0, b1, a1, b0);
        }
      });
    }
  });
}

}  // namespace

constinit const MatmulKernels matmul_kernels = {
    .multiply = multiply,
    .addmm = addmm,
    .trace = trace,
    .cross = cross,
};

}  // namespace undertow::core::cpu
