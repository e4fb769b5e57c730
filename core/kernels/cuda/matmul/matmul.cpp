// matmul.cpp: see matmul.h: chooses between cuBLASLt and our own kernels.
#include "core/kernels/cuda/matmul/matmul.h"

#include <algorithm>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/matmul/product.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate trace_kernel("matmul/small.cuh", "trace");
KernelTemplate cross_kernel("matmul/small.cuh", "cross");

// Up to this size, a launch of our own costs less than a call of cuBLASLt, and the device is idle anyway.
constexpr int64_t kSmall = 32, kSmallDepth = 64;

bool prefers_kernel(const Product& p) {
  return is_integral(p.dtype) || p.m == 1 || p.n == 1 || p.k == 0 ||
         (p.m <= kSmall && p.n <= kSmall && p.k <= kSmallDepth);
}

// A batch in which one factor repeats is one product, if the other's matrices follow each other as their rows do.
void merge_batch(Product& p) {
  if (p.batch == 1) return;
  auto rows_follow = [&](const MatrixStrides& s) { return s.batch == p.m * s.row; };
  auto columns_follow = [&](const MatrixStrides& s) { return s.batch == p.n * s.column; };
  if (p.b_strides.batch == 0 && rows_follow(p.a_strides) && rows_follow(p.c_strides) && rows_follow(p.d_strides))
    p.m *= p.batch;
  else if (p.a_strides.batch == 0 && columns_follow(p.b_strides) && columns_follow(p.c_strides) &&
           columns_follow(p.d_strides))
    p.n *= p.batch;
  else
    return;
  p.batch = 1;
  for (MatrixStrides* s : {&p.a_strides, &p.b_strides, &p.c_strides, &p.d_strides}) s->batch = 0;
}

char* first(const Tensor& t, const MatrixStrides& s) { return t.data() + s.offset * t.itemsize(); }

// The matrices of one operand as a tensor.
Tensor matrices(const Tensor& t, const MatrixStrides& s, int64_t batch, int64_t rows, int64_t columns) {
  const int64_t sizes[] = {s.batch ? batch : 1, rows, columns}, strides[] = {s.batch, s.row, s.column};
  return alias(t, sizes, strides, t.storage_offset() + s.offset, t.dtype());
}
// A dense copy for a library, if the strides need it.
void make_dense(Tensor& keep, const Tensor& t, MatrixStrides& s, char*& data, int64_t batch, int64_t rows,
                int64_t columns) {
  if (has_leading(s, rows, columns)) return;
  keep = empty_on_device_of(t, IntSpan({s.batch ? batch : 1, rows, columns}), t.dtype());
  copy(keep, matrices(t, s, batch, rows, columns));
  s = {s.batch ? rows * columns : 0, columns, 1, 0};
  data = keep.data();
}

void multiply_large(const Launcher& on, Product p, const Tensor& c, const Tensor& a, const Tensor& b) {
  Tensor dense_a, dense_b;
  make_dense(dense_a, a, p.a_strides, p.a, p.batch, p.m, p.k);
  make_dense(dense_b, b, p.b_strides, p.b, p.batch, p.k, p.n);
  if (has_leading(p.c_strides, p.m, p.n)) {
    if (!multiply_by_library(on, p)) multiply_by_kernel(on, p);
    return;
  }
  // A result with gaps between its elements.
  Tensor gaps = matrices(c, p.c_strides, p.batch, p.m, p.n), dense = empty_on_device_of(c, gaps.sizes(), c.dtype());
  if (!p.beta.equals(0)) copy(dense, gaps);
  p.c_strides = p.d_strides = {p.m * p.n, p.n, 1, 0};
  p.c = p.d = dense.data();
  if (!multiply_by_library(on, p)) multiply_by_kernel(on, p);
  copy(gaps, dense);
}

Product product_of(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& s, const Scalar& alpha,
                   const Scalar& beta) {
  char* to = first(c, s.c);
  return {c.dtype(), s.batch, s.m, s.n, s.k, to, to, first(a, s.a), first(b, s.b), s.c, s.c, s.a, s.b, alpha, beta};
}

void addmm(const Tensor& c, const Tensor& d, const Tensor& a, const Tensor& b, const Scalar& alpha,
           const Scalar& beta) {
  if (c.numel() == 0) return;
  ProductShape s{1,
                 c.size(0),
                 c.size(1),
                 a.size(1),
                 {0, a.stride(0), a.stride(1)},
                 {0, b.stride(0), b.stride(1)},
                 {0, c.stride(0), c.stride(1)}};
  if (beta.equals(0)) return multiply(c, a, b, s, alpha, beta);
  Launcher on(c);
  Product p = product_of(c, a, b, s, alpha, beta);
  p.d = d.data();
  p.d_strides = {0, d.stride(0), d.stride(1)};
  if (prefers_kernel(p)) return multiply_by_kernel(on, p);
  if (has_leading(p.a_strides, p.m, p.k) && has_leading(p.b_strides, p.k, p.n)) {
    if (d.stride(0) == 0 && d.stride(1) == 1 && beta.equals(1)) {
      Product plain = p;
      plain.beta = Scalar(0);
      plain.d = plain.c;
      plain.d_strides = plain.c_strides;
      if (multiply_with_bias(on, plain, d.data())) return;
    }
    if (multiply_by_library(on, p)) return;
  }
  copy(c, d);
  multiply(c, a, b, s, alpha, beta);
}

void trace(const Tensor& out, const Tensor& matrix) {
  int64_t n = std::min(matrix.size(0), matrix.size(1)), step = matrix.stride(0) + matrix.stride(1);
  Launcher(out).run(trace_kernel, {out.dtype(), matrix.dtype()}, {}, out.data(), matrix.data(), n, step);
}

void cross(const Tensor& out, const Tensor& a, const Tensor& b, int64_t d) {
  int64_t inner = 1;
  for (int64_t i = d + 1; i < out.dim(); i++) inner *= out.size(i);
  int64_t vectors = out.numel() / 3;
  Launcher(out).run(cross_kernel, {out.dtype()}, {.blocks = std::min<int64_t>(blocks_for(vectors, 256), 65536)},
                    out.data(), a.data(), b.data(), vectors, inner);
}

}  // namespace

void multiply(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& s, const Scalar& alpha,
              const Scalar& beta) {
  if (s.batch == 0 || s.m == 0 || s.n == 0) return;
  Product p = product_of(c, a, b, s, alpha, beta);
  merge_batch(p);
  Launcher on(c);
  if (prefers_kernel(p)) return multiply_by_kernel(on, p);
  multiply_large(on, p, c, a, b);
}

const MatmulKernels matmul_kernels = {
    .multiply = multiply,
    .addmm = addmm,
    .trace = trace,
    .cross = cross,
};

}  // namespace undertow::core::cuda
