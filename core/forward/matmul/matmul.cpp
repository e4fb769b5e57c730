// matmul.cpp: see matmul.h; and the forward functions of products of two vectors or matrices.
#include "core/forward/matmul/matmul.h"

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/tensor/layout.h"
#include "generated/fwd_matmul.h"

namespace undertow::fwd {

namespace {

Matrices matrix_of(const Tensor& t) { return {t.data(), 0, t.stride(0), t.stride(1)}; }
Matrices column_of(const Tensor& t) { return {t.data(), 0, t.stride(0), 0}; }
Matrices row_of(const Tensor& t) { return {t.data(), 0, 0, t.stride(0)}; }

template <class T>
void run(int64_t batch, int64_t m, int64_t n, int64_t k, const Scalar& alpha, const Matrices& a, const Matrices& b,
         const Scalar& beta, const Matrices& c) {
  const T *pa = reinterpret_cast<const T*>(a.data), *pb = reinterpret_cast<const T*>(b.data);
  T* pc = reinterpret_cast<T*>(c.data);
  T va = alpha.to<T>(), vb = beta.to<T>();
  if (batch == 1)
    return cpu::gemm<T>(m, n, k, va, pa, a.row_stride, a.column_stride, pb, b.row_stride, b.column_stride, vb, pc,
                        c.row_stride, c.column_stride);
  cpu::bgemm<T>(batch, m, n, k, va, pa, a.batch_stride, a.row_stride, a.column_stride, pb, b.batch_stride, b.row_stride,
                b.column_stride, vb, pc, c.batch_stride, c.row_stride, c.column_stride);
}

void check_vectors(const Tensor& a, const Tensor& b, const char* name) {
  UT_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  UT_CHECK(a.dtype() == b.dtype(), name, " : expected both vectors to have same dtype, but found ",
           long_name(a.dtype()), " and ", long_name(b.dtype()));
  UT_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor ", ShapeText{a.sizes()}, " and src ",
           ShapeText{b.sizes()}, " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
           " elements respectively");
}

// One dimension of a broadcast batch: its size, and how far a, b and c step along it.
struct BatchDim {
  int64_t size, a, b, c;
};

// The batch dimensions of a product, outermost first, those that can be walked as one joined. False if they do not
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

void multiply(DType dtype, const char* kernel, int64_t batch, int64_t m, int64_t n, int64_t k, const Scalar& alpha,
              const Matrices& a, const Matrices& b, const Scalar& beta, const Matrices& c) {
  switch (dtype) {
    case DType::Float32:
      return run<float>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Float64:
      return run<double>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Complex64:
      return run<Complex64>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Complex128:
      return run<Complex128>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::UInt8:
      return run<uint8_t>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Int8:
      return run<int8_t>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Int16:
      return run<int16_t>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Int32:
      return run<int32_t>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Int64:
      return run<int64_t>(batch, m, n, k, alpha, a, b, beta, c);
    case DType::Float16:
    case DType::BFloat16: {
      auto* product = dtype == DType::Float16 ? cpu::bgemm_f16 : cpu::bgemm_bf16;
      return product(batch, m, n, k, alpha.to<float>(), reinterpret_cast<const uint16_t*>(a.data), a.batch_stride,
                     a.row_stride, a.column_stride, reinterpret_cast<const uint16_t*>(b.data), b.batch_stride,
                     b.row_stride, b.column_stride, beta.to<float>(), reinterpret_cast<uint16_t*>(c.data),
                     c.batch_stride, c.row_stride, c.column_stride);
    }
    case DType::Bool:
      break;
  }
  UT_FAIL_AS(NotImplemented, "\"", kernel, "\" not implemented for '", long_name(dtype), "'");
}

Tensor matmul_direct(const Tensor& self, const Tensor& other) {
  const TensorImpl *x = self.impl(), *y = other.impl();
  int dx = x->ndim, dy = y->ndim;
  if (dx == 0 || dy == 0 || x->dtype != y->dtype || x->dtype == DType::Bool) return {};
  const int64_t *sx = x->sizes_ptr() + dx, *tx = x->strides_ptr() + dx, *sy = y->sizes_ptr() + dy,
                *ty = y->strides_ptr() + dy;
  int64_t m = dx > 1 ? sx[-2] : 1, k = sx[-1], n = dy > 1 ? sy[-1] : 1;
  if (k != (dy > 1 ? sy[-2] : sy[-1])) return {};
  Matrices a{x->data(), 0, dx > 1 ? tx[-2] : 0, tx[-1]};
  Matrices b{y->data(), 0, dy > 1 ? ty[-2] : ty[-1], dy > 1 ? ty[-1] : 0};
  if (dx <= 2 && dy <= 2) {
    int64_t sizes[2] = {m, n};
    IntSpan shape = dx == 2   ? (dy == 2 ? IntSpan(sizes, 2) : IntSpan(sizes, 1))
                    : dy == 2 ? IntSpan(sizes + 1, 1)
                              : IntSpan();
    Tensor out = undertow::empty(shape, x->dtype);
    multiply(x->dtype, "matmul", 1, m, n, k, Scalar(1), a, b, Scalar(0), {out.data(), 0, n, 1});
    return out;
  }
  SmallVector<BatchDim, 6> dims;
  Dims sizes;
  if (!batch_dims(self, other, m * n, dims, sizes)) return {};
  if (dx > 1) sizes.push_back(m);
  if (dy > 1) sizes.push_back(n);
  Tensor out = undertow::empty(sizes, x->dtype);
  if (out.numel() == 0) return out;
  BatchDim inner = dims.empty() ? BatchDim{1, 0, 0, 0} : dims.back();
  if (!dims.empty()) dims.pop_back();
  a.batch_stride = inner.a;
  b.batch_stride = inner.b;
  Matrices c{out.data(), inner.c, n, 1};
  int64_t width = self.itemsize(), rest = 1;
  for (const BatchDim& d : dims) rest *= d.size;
  for (int64_t i = 0; i < rest; i++) {
    Matrices at[3] = {a, b, c};
    int64_t index = i;
    for (size_t d = dims.size(); d-- > 0; index /= dims[d].size) {
      int64_t j = index % dims[d].size;
      at[0].data += j * dims[d].a * width;
      at[1].data += j * dims[d].b * width;
      at[2].data += j * dims[d].c * width;
    }
    multiply(x->dtype, "matmul", inner.size, m, n, k, Scalar(1), at[0], at[1], Scalar(0), at[2]);
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
  int64_t m = self.size(0), n = mat2.size(1), sizes[2] = {m, n};
  Tensor out = undertow::empty(sizes, self.dtype());
  multiply(self.dtype(), "addmm_impl_cpu_", 1, m, n, self.size(1), Scalar(1), matrix_of(self), matrix_of(mat2),
           Scalar(0), {out.data(), 0, n, 1});
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
  Tensor out = undertow::empty(sizes, self.dtype());
  multiply(self.dtype(), "bmm", batch, m, n, k, Scalar(1),
           {self.data(), self.stride(0), self.stride(1), self.stride(2)},
           {mat2.data(), mat2.stride(0), mat2.stride(1), mat2.stride(2)}, Scalar(0), {out.data(), m * n, n, 1});
  return out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  UT_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ", self.dim(), ", ",
           vec.dim());
  int64_t m = self.size(0), k = self.size(1);
  UT_CHECK(vec.size(0) == k, "size mismatch, got input (", m, "), mat (", m, "x", k, "), vec (", vec.size(0), ")");
  UT_CHECK(self.dtype() == vec.dtype(), "addmv input tensors must have the same dtype, but got ",
           long_name(vec.dtype()), ", ", long_name(self.dtype()), ", and ", long_name(vec.dtype()));
  Tensor out = undertow::empty(IntSpan(&m, 1), self.dtype());
  multiply(self.dtype(), "addmv_impl_cpu", 1, m, 1, k, Scalar(1), matrix_of(self), column_of(vec), Scalar(0),
           {out.data(), 0, 1, 1});
  return out;
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  check_vectors(self, tensor, "dot");
  Tensor out = undertow::empty({}, self.dtype());
  multiply(self.dtype(), "dot", 1, 1, 1, self.numel(), Scalar(1), row_of(self), column_of(tensor), Scalar(0),
           {out.data(), 0, 1, 1});
  return out;
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  check_vectors(self, other, "vdot");
  if (!self.is_complex()) return dot(self, other);
  Tensor turned = alias(self);
  turned.impl()->set(kConj, !self.is_conj());
  return dot(materialize_bits(turned), other);
}

Tensor trace(const Tensor& self) {
  UT_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool, "\"trace\" not implemented for 'Bool'");
  Tensor out = undertow::empty({}, is_integral(self.dtype()) ? DType::Int64 : self.dtype());
  int64_t n = std::min(self.size(0), self.size(1)), step = self.stride(0) + self.stride(1);
  dispatch(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, OpMath<T>>;
    Sum sum{};
    const T* p = self.data_as<T>();
    for (int64_t i = 0; i < n; i++) sum += static_cast<Sum>(p[i * step]);
    using Out = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    *out.data_as<Out>() = Out(sum);
  });
  return out;
}

}  // namespace undertow::fwd
