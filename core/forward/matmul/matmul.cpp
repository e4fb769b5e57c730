// matmul.cpp: see matmul.h; also the forward functions of products of two vectors or matrices.
#include "core/forward/matmul/matmul.h"

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_matmul.h"

namespace undertow::core::fwd {

namespace {

MatrixStrides matrix_of(const Tensor& t) { return {0, t.stride(0), t.stride(1)}; }
MatrixStrides column_of(const Tensor& t) { return {0, t.stride(0), 0}; }
MatrixStrides row_of(const Tensor& t) { return {0, 0, t.stride(0)}; }

// Writes a product to new memory.
void product(const char* name, const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape) {
  multiply(name, c, a, b, shape, Scalar(1), Scalar(0));
}

void check_vectors(const Tensor& a, const Tensor& b, const char* name) {
  UT_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  UT_CHECK(a.dtype() == b.dtype(), name, " : expected both vectors to have same dtype, but found ",
           long_name(a.dtype()), " and ", long_name(b.dtype()));
  UT_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", ShapeText{a.sizes()}, " and src ",
           ShapeText{b.sizes()}, " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
           " elements respectively");
}

// One dimension of a broadcast batch: its size, and the strides of a, b and c along it.
struct BatchDim {
  int64_t size, a, b, c;
};

// The batch dimensions of a product, outermost first, merged where strides allow. Returns false if they do not
// broadcast.
bool batch_dims(const Tensor& x, const Tensor& y, int64_t matrix, SmallVector<BatchDim, 6>& dims, Dims& sizes) {
  int64_t nx = std::max<int64_t>(x.dim() - 2, 0), ny = std::max<int64_t>(y.dim() - 2, 0), n = std::max(nx, ny);
  sizes = Dims(static_cast<size_t>(n));
  SmallVector<BatchDim, 6> inner_first;
  int64_t c_stride = matrix;
  for (int64_t i = 0; i < n; i++) {
    int64_t dx = nx - 1 - i, dy = ny - 1 - i;
    int64_t sx = dx >= 0 ? x.size(dx) : 1, sy = dy >= 0 ? y.size(dy) : 1;
    if (sx != sy && sx != 1 && sy != 1) return false;
    int64_t size = sx == 1 ? sy : sx;
    sizes[static_cast<size_t>(n - 1 - i)] = size;
    BatchDim d{size, sx == 1 ? 0 : x.stride(dx), sy == 1 ? 0 : y.stride(dy), c_stride};
    c_stride *= size;
    if (size == 1) continue;
    if (!inner_first.empty()) {
      BatchDim& last = inner_first.back();
      if (d.a == last.a * last.size && d.b == last.b * last.size && d.c == last.c * last.size) {
        last.size *= size;
        continue;
      }
    }
    inner_first.push_back(d);
  }
  for (size_t i = inner_first.size(); i-- > 0;) dims.push_back(inner_first[i]);
  return true;
}

}  // namespace

void multiply(const char* name, const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape,
              const Scalar& alpha, const Scalar& beta) {
  UT_CHECK_AS(NotImplemented, c.dtype() != DType::Bool, "\"", name, "\" not implemented for 'Bool'");
  backend_of(c).matmul->multiply(c, a, b, shape, alpha, beta);
}

Tensor matmul_direct(const Tensor& self, const Tensor& other) {
  const TensorImpl *x = self.impl(), *y = other.impl();
  int dx = x->ndim, dy = y->ndim;
  if (dx == 0 || dy == 0 || x->dtype != y->dtype || x->dtype == DType::Bool || is_storage(x->dtype)) return {};
  const int64_t *sx = x->sizes_ptr() + dx, *tx = x->strides_ptr() + dx, *sy = y->sizes_ptr() + dy,
                *ty = y->strides_ptr() + dy;
  int64_t m = dx > 1 ? sx[-2] : 1, k = sx[-1], n = dy > 1 ? sy[-1] : 1;
  if (k != (dy > 1 ? sy[-2] : sy[-1])) return {};
  ProductShape shape{
      1, m, n, k, {0, dx > 1 ? tx[-2] : 0, tx[-1]}, {0, dy > 1 ? ty[-2] : ty[-1], dy > 1 ? ty[-1] : 0}, {0, n, 1}};
  if (dx <= 2 && dy <= 2) {
    int64_t sizes[2] = {m, n};
    IntSpan out_sizes = dx == 2   ? (dy == 2 ? IntSpan(sizes, 2) : IntSpan(sizes, 1))
                        : dy == 2 ? IntSpan(sizes + 1, 1)
                                  : IntSpan();
    Tensor out = empty_on_device_of(self, out_sizes, x->dtype);
    product("matmul", out, self, other, shape);
    return out;
  }
  SmallVector<BatchDim, 6> dims;
  Dims sizes;
  if (!batch_dims(self, other, m * n, dims, sizes)) return {};
  if (dx > 1) sizes.push_back(m);
  if (dy > 1) sizes.push_back(n);
  Tensor out = empty_on_device_of(self, sizes, x->dtype);
  if (out.numel() == 0) return out;
  BatchDim inner = dims.empty() ? BatchDim{1, 0, 0, 0} : dims.back();
  if (!dims.empty()) dims.pop_back();
  shape.batch = inner.size;
  shape.a.batch = inner.a;
  shape.b.batch = inner.b;
  shape.c.batch = inner.c;
  int64_t rest = 1;
  for (const BatchDim& d : dims) rest *= d.size;
  for (int64_t i = 0; i < rest; i++) {
    shape.a.offset = shape.b.offset = shape.c.offset = 0;
    int64_t index = i;
    for (size_t d = dims.size(); d-- > 0; index /= dims[d].size) {
      int64_t j = index % dims[d].size;
      shape.a.offset += j * dims[d].a;
      shape.b.offset += j * dims[d].b;
      shape.c.offset += j * dims[d].c;
    }
    product("matmul", out, self, other, shape);
  }
  return out;
}

Tensor mm(const Tensor& self, const Tensor& mat2) {
  UT_CHECK(self.dim() == 2, "self must be a matrix, got ", self.dim(), "-D tensor");
  UT_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  UT_CHECK(self.size(1) == mat2.size(0), "mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x", self.size(1),
           " and ", mat2.size(0), "x", mat2.size(1), ")");
  UT_CHECK(self.dtype() == mat2.dtype(),
           "expected m1 and m2 to have the same dtype, but got: ", meta_name(self.dtype()),
           " != ", meta_name(mat2.dtype()));
  if (UT_UNLIKELY(computes_products(self.dtype()))) return mm_in_carrier(self, mat2);
  int64_t m = self.size(0), n = mat2.size(1), sizes[2] = {m, n};
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  product("addmm_impl_cpu_", out, self, mat2, {1, m, n, self.size(1), matrix_of(self), matrix_of(mat2), {0, n, 1}});
  return out;
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  UT_CHECK(self.dim() == 3, "batch1 must be a 3D tensor, got shape ", ShapeText{self.sizes()});
  UT_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor, got shape ", ShapeText{mat2.sizes()});
  int64_t batch = self.size(0), m = self.size(1), k = self.size(2), n = mat2.size(2);
  UT_CHECK(mat2.size(0) == batch && mat2.size(1) == k,
           "Expected size for first two dimensions of batch2 tensor to be: [", batch, ", ", k, "] but got: [",
           mat2.size(0), ", ", mat2.size(1), "].");
  UT_CHECK(self.dtype() == mat2.dtype(), "expected scalar type ", long_name(self.dtype()), " but found ",
           long_name(mat2.dtype()));
  int64_t sizes[3] = {batch, m, n};
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  MatrixStrides a{self.stride(0), self.stride(1), self.stride(2)}, b{mat2.stride(0), mat2.stride(1), mat2.stride(2)};
  product("bmm", out, self, mat2, {batch, m, n, k, a, b, {m * n, n, 1}});
  return out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  UT_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ", self.dim(), ", ",
           vec.dim());
  int64_t m = self.size(0), k = self.size(1);
  UT_CHECK(vec.size(0) == k, "size mismatch, got input (", m, "), mat (", m, "x", k, "), vec (", vec.size(0), ")");
  UT_CHECK(self.dtype() == vec.dtype(), "addmv input tensors must have the same dtype, but got ",
           long_name(vec.dtype()), ", ", long_name(self.dtype()), ", and ", long_name(vec.dtype()));
  Tensor out = empty_on_device_of(self, IntSpan(&m, 1), self.dtype());
  product("addmv_impl_cpu", out, self, vec, {1, m, 1, k, matrix_of(self), column_of(vec), {0, 1, 1}});
  return out;
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  check_vectors(self, tensor, "dot");
  Tensor out = empty_on_device_of(self, {}, self.dtype());
  product("dot", out, self, tensor, {1, 1, 1, self.numel(), row_of(self), column_of(tensor), {0, 1, 1}});
  return out;
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  check_vectors(self, other, "vdot");
  if (!self.is_complex()) return dot(self, other);
  Tensor conjugated = alias(self);
  conjugated.impl()->set(kConj, !self.is_conj());
  return dot(materialize_bits(conjugated), other);
}

Tensor trace(const Tensor& self) {
  UT_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool, "\"trace\" not implemented for 'Bool'");
  Tensor out = empty_on_device_of(self, {}, is_integral(self.dtype()) ? DType::Int64 : self.dtype());
  backend_of(self).matmul->trace(out, self);
  return out;
}

}  // namespace undertow::core::fwd
