// scatter.cpp: gather and the scatters: every element has a position of its own along one dimension.
#include "core/forward/copy/copy.h"
#include "core/forward/index/index_common.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::fwd {

namespace {

void check_index_dtype(const char* name, const Tensor& index) {
  if (index.numel() == 0) return;
  UT_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, name,
           "(): Expected dtype int32/int64 for index; got ", index.dtype());
}
int64_t dim_or_one(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }
int64_t size_or_one(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }
int64_t stride_or_one(const Tensor& t, int64_t d) { return t.dim() ? t.stride(d) : 1; }

// The shapes a scatter accepts: index no larger than self apart from dim, and no larger than src anywhere.
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

void check_positions(const Tensor& self, int64_t dim, const Tensor& at) {
  int64_t n = size_or_one(self, dim);
  if (auto bad = first_outside(at, 0, n))
    UT_FAIL("index ", *bad, " is out of bounds for dimension ", dim, " with size ", n);
}

// out[index along dim] op= src; a src of no dimensions is one element for all positions. Positions are checked on the
// way, so a write that is refused may have been done in part, as in torch.
void update_elements(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool one_value,
                     Update kind) {
  Tensor at = contiguous(as_int64(index));
  cpu::ScatterUpdate u;
  int64_t w = out.itemsize();
  u.size = size_or_one(out, dim);
  u.dst = out.data();
  u.src = src.data();
  u.index = at.data();
  u.count = size_or_one(at, dim);
  u.dst_stride = stride_or_one(out, dim) * w;
  u.src_stride = one_value ? 0 : stride_or_one(src, dim) * w;
  u.index_stride = stride_or_one(at, dim) * 8;
  for (int64_t d = at.dim(); d-- > 0;) {
    if (d == dim || at.size(d) == 1) continue;
    int64_t n = at.size(d), ds = out.stride(d) * w, ss = one_value ? 0 : src.stride(d) * w, is = at.stride(d) * 8;
    if (!u.sizes.empty() && ds == u.dst_strides.back() * u.sizes.back() &&
        ss == u.src_strides.back() * u.sizes.back() && is == u.index_strides.back() * u.sizes.back()) {
      u.sizes.back() *= n;
      continue;
    }
    u.sizes.push_back(n);
    u.dst_strides.push_back(ds);
    u.src_strides.push_back(ss);
    u.index_strides.push_back(is);
  }
  if (UT_UNLIKELY(!cpu::run_update(u, out.dtype(), kind))) check_positions(out, dim, at);
}

Tensor row_major_copy(const Tensor& self) {
  Tensor out = empty(self.sizes(), self.dtype());
  copy_into(out, self);
  return out;
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
  if (index.numel() == 0) return;
  update_elements(out, dim, index, &out.storage() == &src.storage() ? clone_preserve(src) : src, false, kind);
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad) {
  UT_CHECK_AS(NotImplemented, !sparse_grad, "gather: sparse gradients are not supported; use sparse_grad=False");
  dim = wrap_dim(dim, self.dim());
  check_index_dtype("gather", index);
  if (index.numel() == 0) return empty(index.sizes(), self.dtype());
  UT_CHECK(dim_or_one(self) == dim_or_one(index),
           "Index tensor must have the same number of dimensions as input tensor; got index ", ShapeText{index.sizes()},
           " and input ", ShapeText{self.sizes()});
  for (int64_t d = 0; d < dim_or_one(self); d++)
    UT_CHECK(d == dim || size_or_one(index, d) <= size_or_one(self, d), "Size does not match at dimension ", d,
             " expected index ", ShapeText{index.sizes()}, " to be no larger than self ", ShapeText{self.sizes()},
             " apart from dimension ", dim);
  Tensor at = contiguous(as_int64(index)), out = empty(index.sizes(), self.dtype());
  cpu::ElementRead r;
  r.to = out.data();
  r.from = self.data();
  r.positions = at.data_as<int64_t>();
  r.size = size_or_one(self, dim);
  r.width = self.itemsize();
  r.stride = stride_or_one(self, dim) * r.width;
  // Runs of positions that lie together, innermost; the others are walked.
  for (int64_t d = 0; d < index.dim(); d++) {
    r.sizes.push_back(index.size(d));
    r.strides.push_back(d == dim ? 0 : stride_or_one(self, d) * r.width);
  }
  if (UT_UNLIKELY(!cpu::read_elements(r))) check_positions(self, dim, at);
  return out;
}

void scatter_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_source("scatter", out, dim, index, src, Update::Set);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor out = row_major_copy(self);
  scatter_out(out, self, dim, index, src);
  return out;
}

void scatter_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
  dim = wrap_dim(dim, out.dim());
  check_index_dtype("scatter", index);
  check_scatter(out, dim, index, nullptr);
  check_no_internal_overlap(out);
  Tensor element = element_of(value, out.dtype());
  if (index.numel() == 0) return;
  update_elements(out, dim, index, element, true, Update::Set);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor out = row_major_copy(self);
  scatter_out(out, self, dim, index, value);
  return out;
}

void scatter_add_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
  scatter_source("scatter_add", out, dim, index, src, Update::Add);
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor out = row_major_copy(self);
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
  UT_CHECK_AS(NotImplemented, !out.is_complex() || (kind != ReduceKind::Max && kind != ReduceKind::Min),
              "\"scatter_reduce_", reduce, "\" not implemented for '", long_name(out.dtype()), "'");
  if (index.numel() == 0) return;
  Tensor at = contiguous(as_int64(index));
  check_positions(out, dim, at);
  Tensor from = &out.storage() == &src.storage() ? clone_preserve(src) : src;
  if (!include_self) {
    Tensor identity = empty({}, out.dtype());
    store_identity(identity.data(), kind, out.dtype());
    update_elements(out, dim, at, identity, true, Update::Set);
  }
  update_elements(out, dim, at, from, false, update_of(kind));
  if (kind == ReduceKind::Mean) {
    Tensor counts = full(out.sizes(), Scalar(include_self ? 1 : 0), DType::Int64);
    update_elements(counts, dim, at, full({}, Scalar(1), DType::Int64), true, Update::Add);
    divide_by_counts(out, counts);
  }
}
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self) {
  Tensor out = row_major_copy(self);
  scatter_reduce_out(out, self, dim, index, src, reduce, include_self);
  return out;
}

}  // namespace undertow::fwd
