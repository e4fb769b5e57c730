// scatter.cpp: gather and the scatters: every element has its own index along one dimension.
#include "core/forward/copy/copy.h"
#include "core/forward/index/index_common.h"
#include "core/kernels/backend.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::fwd {

namespace {

void check_index_dtype(const char* name, const Tensor& index) {
  if (index.numel() == 0) return;
  UT_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, name,
           "(): Expected dtype int32/int64 for index; got ", index.dtype());
}
int64_t dim_or_one(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }
int64_t size_or_one(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }
int64_t stride_or_one(const Tensor& t, int64_t d) { return t.dim() ? t.stride(d) : 1; }

// The shapes a scatter accepts: index is no larger than self except in dim, and no larger than src anywhere.
void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  if (index.numel() == 0) return;
  UT_CHECK(dim_or_one(self) == dim_or_one(index),
           "Index tensor must have the same number of dimensions as self tensor; got index ", ShapeText{index.sizes()},
           " and self ", ShapeText{self.sizes()});
  if (src)
    UT_CHECK(dim_or_one(*src) == dim_or_one(index),
             "Index tensor must have the same number of dimensions as src tensor; got index ", ShapeText{index.sizes()},
             " and src ", ShapeText{src->sizes()});
  bool fits = true;
  for (int64_t d = 0; d < dim_or_one(self); d++) {
    fits &= d == dim || size_or_one(index, d) <= size_or_one(self, d);
    fits &= !src || size_or_one(index, d) <= size_or_one(*src, d);
  }
  if (fits) return;
  if (src)
    UT_FAIL("Expected index ", ShapeText{index.sizes()}, " to be no larger than self ", ShapeText{self.sizes()},
            " apart from dimension ", dim, " and to be no larger size than src ", ShapeText{src->sizes()});
  UT_FAIL("Expected index ", ShapeText{index.sizes()}, " to be no larger than self ", ShapeText{self.sizes()},
          " apart from dimension ", dim);
}

IndexedDim indexed_dim(const Tensor& t, int64_t dim) {
  return {dim, size_or_one(t, dim), stride_or_one(t, dim) * t.itemsize(), false,
          [](int64_t position, int64_t d, int64_t size) {
            UT_FAIL("index ", position, " is out of bounds for dimension ", d, " with size ", size);
          }};
}

// out[index along dim] op= src; a 0-dimensional src is used for every index. Indices are checked during the loop, so a
// write that raises may have been partly done, as in torch.
void update_elements(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, Update kind) {
  backend_of(out).index->scatter(out, as_int64(index), src, indexed_dim(out, dim), kind);
}

// The common body of scatters with a source.
void scatter_source(const char* name, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                    Update kind) {
  dim = wrap_dim(dim, out.dim());
  check_index_dtype(name, index);
  UT_CHECK(out.dtype() == src.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype; got ", out.dtype(),
           " and ", src.dtype());
  check_scatter(out, dim, index, &src);
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  check_no_overlap(out, src);
  if (index.numel() == 0) return;
  update_elements(out, dim, index, copy_if_overlapping(out, src), kind);
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  dim = wrap_dim(dim, self.dim());
  check_index_dtype("gather", index);
  if (index.numel() == 0) return empty_on_device_of(self, index.sizes(), self.dtype());
  UT_CHECK(dim_or_one(self) == dim_or_one(index),
           "Index tensor must have the same number of dimensions as input tensor; got index ", ShapeText{index.sizes()},
           " and input ", ShapeText{self.sizes()});
  for (int64_t d = 0; d < dim_or_one(self); d++)
    UT_CHECK(d == dim || size_or_one(index, d) <= size_or_one(self, d), "Size does not match at dimension ", d,
             " expected index ", ShapeText{index.sizes()}, " to be no larger than self ", ShapeText{self.sizes()},
             " apart from dimension ", dim);
  Tensor at = as_int64(index), out = empty_on_device_of(self, index.sizes(), self.dtype());
  backend_of(self).index->gather(out, self, at, indexed_dim(self, dim));
  return out;
}

void scatter_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_source("scatter", out, dim, index, src, Update::Set);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor out = contiguous_copy(self);
  scatter_out(out, self, dim, index, src);
  return out;
}

void scatter_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
  dim = wrap_dim(dim, out.dim());
  check_index_dtype("scatter", index);
  check_scatter(out, dim, index, nullptr);
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  Tensor element = element_of(value, out);
  if (index.numel() == 0) return;
  update_elements(out, dim, index, element, Update::Set);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor out = contiguous_copy(self);
  scatter_out(out, self, dim, index, value);
  return out;
}

void scatter_add_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_source("scatter_add", out, dim, index, src, Update::Add);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor out = contiguous_copy(self);
  scatter_add_out(out, self, dim, index, src);
  return out;
}

void scatter_reduce_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self) {
  ReduceKind kind;
  if (reduce == "sum")
    kind = ReduceKind::Sum;
  else if (reduce == "prod")
    kind = ReduceKind::Prod;
  else if (reduce == "mean")
    kind = ReduceKind::Mean;
  else if (reduce == "amax")
    kind = ReduceKind::Max;
  else if (reduce == "amin")
    kind = ReduceKind::Min;
  else
    UT_FAIL("reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  dim = wrap_dim(dim, out.dim());
  check_index_dtype("scatter_reduce", index);
  UT_CHECK(out.dtype() == src.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype; got ", out.dtype(),
           " and ", src.dtype());
  check_scatter(out, dim, index, &src);
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  check_no_overlap(out, src);
  UT_CHECK_AS(NotImplemented, !out.is_complex() || (kind != ReduceKind::Max && kind != ReduceKind::Min),
              "\"scatter_reduce_", reduce, "\" not implemented for '", long_name(out.dtype()), "'");
  if (index.numel() == 0) return;
  Tensor at = as_int64(index);
  backend_of(out).index->check(at, indexed_dim(out, dim));
  Tensor from = copy_if_overlapping(out, src);
  if (!include_self) update_elements(out, dim, at, identity_of(kind, out), Update::Set);
  update_elements(out, dim, at, from, update_of(kind));
  if (kind == ReduceKind::Mean) {
    Tensor counts = full_on_device_of(out, out.sizes(), Scalar(include_self ? 1 : 0), DType::Int64);
    update_elements(counts, dim, at, element_of(Scalar(1), counts), Update::Add);
    divide_by_counts(out, counts);
  }
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self) {
  Tensor out = contiguous_copy(self);
  scatter_reduce_out(out, self, dim, index, src, reduce, include_self);
  return out;
}

}  // namespace undertow::core::fwd
