// addmm.cpp: forward functions of beta * self + alpha * product, for every kind of product.
// If beta is 0, self is not read, so NaN in it does not propagate.
#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/forward/matmul/matmul.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_matmul.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

MatrixStrides matrices_of(const Tensor& t) {
  if (t.dim() == 3) return {t.stride(0), t.stride(1), t.stride(2)};
  return {0, t.stride(0), t.dim() == 2 ? t.stride(1) : 0};
}

// A new result, initialized with self if it will be read.
Tensor start_from(const Tensor& self, IntSpan sizes, const Scalar& beta) {
  Tensor seen = expand(self, sizes, false);
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  if (!beta.equals(0)) copy_into(out, seen);
  return out;
}

void check_factors(DType t, const Scalar& beta, const Scalar& alpha) {
  check_fits(beta, t);
  check_fits(alpha, t);
}

bool shares_memory(const Tensor& out, const Tensor& a, const Tensor& b) {
  return &out.storage() == &a.storage() || &out.storage() == &b.storage();
}

// Runs an in-place form on self itself, or, if it shares memory with an operand, on a copy that is written back.
template <class Compute>
void in_place(const Tensor& out, const Tensor& a, const Tensor& b, IntSpan sizes, Compute&& compute) {
  UT_CHECK(same(out.sizes(), sizes), "Bad in-place call: input tensor size ", ShapeText{out.sizes()},
           " and output tensor size ", ShapeText{sizes}, " should match");
  if (!shares_memory(out, a, b)) return compute(out);
  Tensor copy = clone_preserve(out);
  compute(copy);
  copy_into(out, copy);
}

Dims check_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  UT_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  UT_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  UT_CHECK(mat1.size(1) == mat2.size(0), "mat1 and mat2 shapes cannot be multiplied (", mat1.size(0), "x", mat1.size(1),
           " and ", mat2.size(0), "x", mat2.size(1), ")");
  UT_CHECK(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got ", long_name(self.dtype()),
           " and ", long_name(mat2.dtype()));
  UT_CHECK(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got ", long_name(mat1.dtype()),
           " and ", long_name(mat2.dtype()));
  return {mat1.size(0), mat2.size(1)};
}
void addmm_into(const Tensor& c, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  check_factors(c.dtype(), beta, alpha);
  multiply("addmm_impl_cpu_", c, mat1, mat2,
           {1, c.size(0), c.size(1), mat1.size(1), matrices_of(mat1), matrices_of(mat2), matrices_of(c)}, alpha, beta);
}

Dims check_addmv(const Tensor& self, const Tensor& mat, const Tensor& vec) {
  UT_CHECK(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, "vector + matrix @ vector expected, got ", self.dim(),
           ", ", mat.dim(), ", ", vec.dim());
  UT_CHECK(mat.size(1) == vec.size(0) && (self.numel() == 1 || mat.size(0) == self.numel()),
           "size mismatch, got input (", self.numel(), "), mat (", mat.size(0), "x", mat.size(1), "), vec (",
           vec.size(0), ")");
  UT_CHECK(self.dtype() == mat.dtype() && mat.dtype() == vec.dtype(),
           "addmv input tensors must have the same dtype, but got ", long_name(self.dtype()), ", ",
           long_name(mat.dtype()), ", and ", long_name(vec.dtype()));
  return {mat.size(0)};
}
void addmv_into(const Tensor& c, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  check_factors(c.dtype(), beta, alpha);
  multiply("addmv_impl_cpu", c, mat, vec,
           {1, mat.size(0), 1, mat.size(1), matrices_of(mat), matrices_of(vec), matrices_of(c)}, alpha, beta);
}

void check_batches(const Tensor& batch1, const Tensor& batch2) {
  UT_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor, got shape ", ShapeText{batch1.sizes()});
  UT_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor, got shape ", ShapeText{batch2.sizes()});
}
void check_baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
  UT_CHECK(self.dtype() == batch1.dtype() && batch1.dtype() == batch2.dtype(),
           "Input dtypes must be the same, got: input ", meta_name(self.dtype()),
           ", batch1: ", meta_name(batch1.dtype()), ", batch2: ", meta_name(batch2.dtype()));
  UT_CHECK(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
           "Expected size for first two dimensions of batch2 tensor to be: [", batch1.size(0), ", ", batch1.size(2),
           "] but got: [", batch2.size(0), ", ", batch2.size(1), "].");
}
void baddbmm_into(const Tensor& c, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                  const Scalar& alpha) {
  check_factors(c.dtype(), beta, alpha);
  multiply("baddbmm", c, batch1, batch2,
           {c.size(0), c.size(1), c.size(2), batch1.size(2), matrices_of(batch1), matrices_of(batch2), matrices_of(c)},
           alpha, beta);
}

void check_addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
  UT_CHECK(batch1.size(0) == batch2.size(0), "batch1 and batch2 must have same number of batches, got ", batch1.size(0),
           " and ", batch2.size(0));
  UT_CHECK(batch1.size(2) == batch2.size(1), "Incompatible matrix sizes for bmm (", batch1.size(1), "x", batch1.size(2),
           " and ", batch2.size(1), "x", batch2.size(2), ")");
  UT_CHECK(self.dtype() == batch2.dtype(), "self and mat2 must have the same dtype, but got ", long_name(self.dtype()),
           " and ", long_name(batch2.dtype()));
  UT_CHECK(batch1.dtype() == batch2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
           long_name(batch1.dtype()), " and ", long_name(batch2.dtype()));
}
void addbmm_into(const Tensor& c, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  check_factors(c.dtype(), beta, alpha);
  int64_t count = batch1.size(0);
  ProductShape shape{
      1, c.size(0), c.size(1), count ? batch1.size(2) : 0, matrices_of(batch1), matrices_of(batch2), matrices_of(c)};
  for (int64_t i = 0; i < std::max<int64_t>(1, count); i++) {
    multiply("addbmm", c, batch1, batch2, shape, alpha, i ? Scalar(1) : beta);
    shape.a.offset += shape.a.batch;
    shape.b.offset += shape.b.batch;
  }
}

Tensor times(const Tensor& t, const Scalar& s) { return s.equals(1) ? t : mul(t, s); }

}  // namespace

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  Dims sizes = check_addmm(self, mat1, mat2);
  if (UT_UNLIKELY(computes_products(self.dtype()))) return addmm_in_carrier(self, mat1, mat2, beta, alpha);
  Tensor seen = expand(self, sizes, false), out = empty_on_device_of(self, sizes, self.dtype());
  check_factors(self.dtype(), beta, alpha);
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
  backend_of(self).matmul->addmm(out, seen, mat1, mat2, alpha, beta);
  return out;
}
void addmm_out(const Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
               const Scalar& alpha) {
  in_place(out, mat1, mat2, check_addmm(self, mat1, mat2),
           [&](const Tensor& c) { addmm_into(c, mat1, mat2, beta, alpha); });
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  Dims sizes = check_addmv(self, mat, vec);
  Tensor out = start_from(self, sizes, beta);
  addmv_into(out, mat, vec, beta, alpha);
  return out;
}
void addmv_out(const Tensor& out, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
               const Scalar& alpha) {
  in_place(out, mat, vec, check_addmv(self, mat, vec), [&](const Tensor& c) { addmv_into(c, mat, vec, beta, alpha); });
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  check_batches(batch1, batch2);
  Dims sizes{batch1.size(0), batch1.size(1), batch2.size(2)};
  Tensor out = start_from(self, sizes, beta);
  check_baddbmm(self, batch1, batch2);
  baddbmm_into(out, batch1, batch2, beta, alpha);
  return out;
}
void baddbmm_out(const Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha) {
  check_batches(batch1, batch2);
  check_baddbmm(self, batch1, batch2);
  in_place(out, batch1, batch2, Dims{batch1.size(0), batch1.size(1), batch2.size(2)},
           [&](const Tensor& c) { baddbmm_into(c, batch1, batch2, beta, alpha); });
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  check_batches(batch1, batch2);
  Dims sizes{batch1.size(1), batch2.size(2)};
  Tensor out = start_from(self, sizes, beta);
  check_addbmm(self, batch1, batch2);
  addbmm_into(out, batch1, batch2, beta, alpha);
  return out;
}
void addbmm_out(const Tensor& out, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                const Scalar& alpha) {
  check_batches(batch1, batch2);
  check_addbmm(self, batch1, batch2);
  in_place(out, batch1, batch2, Dims{batch1.size(1), batch2.size(2)},
           [&](const Tensor& c) { addbmm_into(c, batch1, batch2, beta, alpha); });
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  UT_CHECK(vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got ", vec1.dim(), "-D");
  UT_CHECK(vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  Promoter promoter;
  for (const Tensor* t : {&self, &vec1, &vec2}) promoter.add(*t);
  DType dtype = promoter.result();
  for (auto [factor, name] : {std::pair(&beta, "beta"), std::pair(&alpha, "alpha")}) {
    UT_CHECK(!factor->is_bool() || dtype == DType::Bool, "Boolean ", name, " only supported for Boolean results.");
    UT_CHECK(!is_integral(dtype) || factor->is_integral(), "For integral input tensors, argument ", name,
             " must not be a floating point number.");
    UT_CHECK(is_complex(dtype) || !factor->is_complex(), "For non-complex input tensors, argument ", name,
             " must not be a complex number.");
  }
  Tensor seen = expand(self, Dims{vec1.size(0), vec2.size(0)}, false);
  Tensor column = alias(vec1, Dims{vec1.size(0), 1}, Dims{vec1.stride(0), 1}, vec1.storage_offset(), vec1.dtype());
  Tensor product = mul(times(to_dtype(column, dtype), alpha), to_dtype(vec2, dtype));
  if (!beta.equals(0)) product = add(times(to_dtype(seen, dtype), beta), product, Scalar(1));
  return to_dtype(product, dtype);
}
void addr_out(const Tensor& out, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
              const Scalar& alpha) {
  UT_CHECK(self.dim() == 2, "2D tensor expected, got ", self.dim(), "D tensor for input");
  Tensor result = addr(self, vec1, vec2, beta, alpha);
  UT_CHECK(same(out.sizes(), result.sizes()), "size mismatch, input: ", ShapeText{out.sizes()},
           ", result: ", ShapeText{result.sizes()});
  UT_CHECK(can_cast(result.dtype(), out.dtype()), "result type ", long_name(result.dtype()),
           " can't be cast to the desired output type ", long_name(out.dtype()));
  copy_into(out, result);
}

}  // namespace undertow::core::fwd
