// index_dim.cpp: whole slices along one dimension, named by a vector of positions: index_select, index_add, index_copy,
// index_fill, index_reduce, and embedding and one_hot, which read and write rows the same way.
#include "core/forward/index/index_common.h"

#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_embedding.h"
#include "generated/fwd_index.h"

namespace undertow::fwd {

namespace {

bool is_int_index(DType t) { return t == DType::Int64 || t == DType::Int32; }

// out[offsets along dim] = or op= src; src has out's slices along dim in the order of the positions, or is one element.
void update_slices(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& src, Update kind) {
  cpu::IndexUpdate u;
  int64_t w = out.itemsize();
  u.dst = out.data();
  u.src = src.data();
  u.count = offsets.numel();
  u.dst_offsets = offsets.data_as<int64_t>();
  u.src_step = src.dim() ? src.stride(dim) * w : 0;
  for (int64_t d = out.dim(); d-- > 0;) {
    if (d == dim || out.size(d) == 1) continue;
    int64_t ds = out.stride(d) * w, ss = src.dim() ? src.stride(d) * w : 0;
    if (!u.sizes.empty() && ds == u.dst_strides.back() * u.sizes.back() &&
        ss == u.src_strides.back() * u.sizes.back()) {
      u.sizes.back() *= out.size(d);
      continue;
    }
    u.sizes.push_back(out.size(d));
    u.dst_strides.push_back(ds);
    u.src_strides.push_back(ss);
  }
  cpu::run_update(u, out.dtype(), kind);
}

int64_t size_along(const Tensor& t, int64_t dim) { return t.dim() ? t.size(dim) : 1; }
int64_t stride_along(const Tensor& t, int64_t dim) { return t.dim() ? t.stride(dim) * t.itemsize() : 0; }

Tensor apart(const Tensor& out, const Tensor& src) {
  return out.numel() && &out.storage() == &src.storage() ? clone_preserve(src) : src;
}

Tensor row_major_copy(const Tensor& self) {
  Tensor out = empty(self.sizes(), self.dtype());
  copy_into(out, self);
  return out;
}

// What index_add_ and index_reduce_ check alike; `name` is in torch's messages.
void check_slices(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  UT_CHECK_INDEX(index.dim() <= 1, name, ": Index is supposed to be a vector, but got dim: ", index.dim(),
                 " with type: ", long_name(index.dtype()), " and size: ", ShapeText{index.sizes()});
  UT_CHECK(is_int_index(index.dtype()), name,
           ": Expected dtype int32/int64 for index but got: ", long_name(index.dtype()));
  UT_CHECK(self.dtype() == source.dtype(), name, ": self (", long_name(self.dtype()), ") and source (",
           long_name(source.dtype()), ") must have the same scalar type");
  UT_CHECK(dim == 0 || dim < source.dim(), name, ": Indexing dim ", dim,
           " is out of bounds of the source tensor with dim ", source.dim());
  UT_CHECK(index.numel() == size_along(source, dim), name, ": Number of indices (", index.numel(),
           ") should be equal to source.size(dim): (", size_along(source, dim), "), for dim: ", dim);
  bool alike = self.dim() == source.dim();
  for (int64_t d = 0; alike && d < self.dim(); d++) alike = d == dim || self.size(d) == source.size(d);
  UT_CHECK(alike,
           "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
           ShapeText{self.sizes()}, " source.shape = ", ShapeText{source.sizes()});
}

}  // namespace

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  UT_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector; got shape ",
                 ShapeText{index.sizes()});
  UT_CHECK(is_int_index(index.dtype()), "index_select(): Expected dtype int32 or int64 for index; got ", index.dtype());
  UT_CHECK(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
           index.numel(), " value(s)");
  Tensor at = as_int64(index);
  int64_t n = size_along(self, dim);
  auto refuse = [&] {
    if (auto bad = first_outside(at, 0, n))
      UT_FAIL_AS(Index, "index out of range in self: index ", *bad, " for dimension ", dim, " of size ", n);
  };
  if (self.dim() && self.is_contiguous() && at.is_contiguous()) {
    Dims shape(self.sizes());
    shape[static_cast<size_t>(dim)] = at.numel();
    Tensor out = empty(shape, self.dtype());
    cpu::Positions list{at.data_as<int64_t>(), n, stride_along(self, dim), false};
    if (UT_UNLIKELY(!read_rows(out, self, static_cast<size_t>(dim), 1, {&list, 1}, at.numel()))) refuse();
    return out;
  }
  refuse();
  if (self.dim() == 0) return clone_preserve(self);
  Dims sizes(self.sizes()), strides(self.strides()), offset_strides(sizes.size(), 0);
  sizes[static_cast<size_t>(dim)] = index.numel();
  strides[static_cast<size_t>(dim)] = 0;
  offset_strides[static_cast<size_t>(dim)] = 1;
  Tensor offsets = byte_offsets(at, n, stride_along(self, dim));
  return read_at(empty(sizes, self.dtype()), with_layout(self, sizes, strides),
                 with_layout(offsets, sizes, offset_strides));
}

void index_add_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha) {
  dim = wrap_dim(dim, out.dim());
  check_slices("index_add_()", out, dim, index, source);
  check_no_internal_overlap(out);
  check_fits(alpha, out.dtype());
  Tensor at = as_int64(index), src = apart(out, source);
  int64_t n = size_along(out, dim);
  if (auto bad = first_outside(at, 0, n))
    UT_FAIL("index ", *bad, " is out of bounds for dimension ", dim, " with size ", n);
  if (alpha.is_complex() || !alpha.equals(1)) {
    src = row_major_copy(src);
    dispatch(src.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      using M = OpMath<T>;
      M by = alpha.to<M>();
      T* p = src.data_as<T>();
      for (int64_t i = 0; i < src.numel(); i++) {
        if constexpr (std::is_same_v<T, bool>)
          p[i] = p[i] && by;
        else
          p[i] = T(static_cast<M>(p[i]) * by);
      }
    });
  }
  update_slices(out, dim, byte_offsets(at, n, stride_along(out, dim)), src, Update::Add);
}
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  Tensor out = row_major_copy(self);
  index_add_out(out, self, dim, index, source, alpha);
  return out;
}

void index_copy_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source) {
  dim = wrap_dim(dim, out.dim());
  UT_CHECK_INDEX(index.dim() < 2, "index_copy_(): Index should have dimension 1 or 0 (got ", index.dim(), ")");
  UT_CHECK_INDEX(source.dim() != 0 || index.numel() == 1,
                 "index_copy_(): When source is scalar, index should have one element (got ", index.numel(), ")");
  UT_CHECK_INDEX(source.dim() == out.dim() || source.dim() == 0 || out.dim() == 0,
                 "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                 "dimensionality (",
                 source.dim(), "), destination dimensionality (", out.dim(), ")");
  UT_CHECK(index.dtype() == DType::Int64, "index_copy_(): Expected a long tensor for index, but got ",
           long_name(index.dtype()));
  UT_CHECK(out.dtype() == source.dtype(),
           "index_copy_(): self and source expected to have the same dtype, but got (self) ", long_name(out.dtype()),
           " and (source) ", long_name(source.dtype()));
  for (int64_t d = 0; d < std::min(out.dim(), source.dim()); d++)
    UT_CHECK(d == dim || out.size(d) == source.size(d),
             "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: ",
             out.size(d), " at dimension ", d, " and source slice shape: ", source.size(d), " at dimension ", d, ".");
  UT_CHECK_INDEX(source.dim() == 0 || index.numel() == source.size(dim), "index_copy_(): Number of indices (",
                 index.numel(), ") should be equal to source.size(dim) (", size_along(source, dim), ")");
  check_no_internal_overlap(out);
  int64_t n = size_along(out, dim);
  if (auto bad = first_outside(index, 0, n))
    UT_FAIL_AS(Index, "index_copy_(): index ", *bad, " is out of bounds for dimension ", dim, " with size ", n);
  update_slices(out, dim, byte_offsets(index, n, stride_along(out, dim)), apart(out, source), Update::Set);
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  Tensor out = row_major_copy(self);
  index_copy_out(out, self, dim, index, source);
  return out;
}

void index_fill_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
  UT_CHECK_INDEX(index.dtype() == DType::Int64, "index_fill_(): Expected dtype int64 for index. Got ", index.dtype());
  UT_CHECK(out.is_complex() || !value.is_complex(),
           "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  check_no_internal_overlap(out);
  dim = wrap_dim(dim, out.dim());
  UT_CHECK(index.dim() <= 1, "Index has to be a vector/scalar; got shape ", ShapeText{index.sizes()});
  int64_t n = size_along(out, dim);
  if (auto bad = first_outside(index, -n, n))
    UT_FAIL_AS(Index, "index ", *bad, " is out of bounds for dimension ", dim, " with size ", n);
  update_slices(out, dim, byte_offsets(index, n, stride_along(out, dim)), element_of(value, out.dtype()), Update::Set);
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor out = clone_preserve(self);
  index_fill_out(out, self, dim, index, value);
  return out;
}
void index_fill_out(const Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  UT_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  index_fill_out(out, self, dim, index, item(value));
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  Tensor out = clone_preserve(self);
  index_fill_out(out, self, dim, index, value);
  return out;
}

void index_reduce_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self) {
  UT_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  ReduceKind kind = reduce == "prod"   ? ReduceKind::Prod
                    : reduce == "mean" ? ReduceKind::Mean
                    : reduce == "amax" ? ReduceKind::Max
                                       : ReduceKind::Min;
  dim = wrap_dim(dim, out.dim());
  check_slices("index_reduce_()", out, dim, index, source);
  check_no_internal_overlap(out);
  UT_CHECK_AS(NotImplemented, !out.is_complex() || kind == ReduceKind::Prod || kind == ReduceKind::Mean,
              "\"index_reduce_", reduce, "\" not implemented for '", long_name(out.dtype()), "'");
  int64_t n = size_along(out, dim);
  Tensor at = as_int64(index), src = apart(out, source);
  if (auto bad = first_outside(at, 0, n))
    UT_FAIL_AS(Index, "index out of range in self: index ", *bad, " for dimension ", dim, " of size ", n);
  Tensor offsets = byte_offsets(at, n, stride_along(out, dim));
  if (!include_self) {
    Tensor identity = empty({}, out.dtype());
    store_identity(identity.data(), kind, out.dtype());
    update_slices(out, dim, offsets, identity, Update::Set);
  }
  update_slices(out, dim, offsets, src, update_of(kind));
  if (kind == ReduceKind::Mean) {
    Dims shape(out.sizes().size(), 1);
    if (out.dim()) shape[static_cast<size_t>(dim)] = n;
    Tensor counts = full(shape, Scalar(include_self ? 1 : 0), DType::Int64);
    Tensor list = contiguous(at);
    for (int64_t k = 0; k < list.numel(); k++) counts.data_as<int64_t>()[list.data_as<int64_t>()[k]]++;
    divide_by_counts(out, broadcast(counts, out.sizes()));
  }
}
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self) {
  Tensor out = row_major_copy(self);
  index_reduce_out(out, self, dim, index, source, reduce, include_self);
  return out;
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool sparse) {
  UT_CHECK(weight.dim() == 2, "'weight' must be 2-D; got shape ", ShapeText{weight.sizes()});
  UT_CHECK(is_int_index(indices.dtype()),
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
           "undertow.",
           long_name(indices.dtype()), "Tensor instead (while checking arguments for embedding)");
  UT_CHECK_AS(NotImplemented, !sparse, "embedding: sparse gradients are not supported; use sparse=False");
  Tensor flat = contiguous(as_int64(indices));
  int64_t count = flat.numel();
  Tensor rows = index_select(weight, 0, alias(flat, Dims{count}, Dims{1}, flat.storage_offset(), DType::Int64));
  Dims sizes(indices.sizes());
  sizes.push_back(weight.size(1));
  return alias(rows, sizes, contiguous_strides(sizes), 0, rows.dtype());
}

void embedding_renorm_out(const Tensor& out, const Tensor&, const Tensor& indices, double max_norm, double norm_type) {
  UT_CHECK(out.dim() == 2, "'self' must be 2-D; got shape ", ShapeText{out.sizes()});
  UT_CHECK(out.is_floating(), "embedding_renorm_: expected a floating dtype, got ", out.dtype());
  UT_CHECK(is_int_index(indices.dtype()),
           "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
           "undertow.",
           long_name(indices.dtype()), "Tensor instead (while checking arguments for embedding_renorm_)");
  Tensor at = contiguous(as_int64(indices));
  if (auto bad = first_outside(at, 0, out.size(0)))
    UT_FAIL_AS(Index, "index out of range in self: index ", *bad, " for ", out.size(0), " rows");
  std::vector<int64_t> rows(at.data_as<int64_t>(), at.data_as<int64_t>() + at.numel());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      for (int64_t r : rows) {
        T* p = out.data_as<T>() + r * out.stride(0);
        double norm = 0;
        for (int64_t c = 0; c < out.size(1); c++) {
          double v = std::abs(static_cast<double>(static_cast<OpMath<T>>(p[c * out.stride(1)])));
          norm = std::isinf(norm_type) ? std::max(norm, v) : norm + std::pow(v, norm_type);
        }
        if (!std::isinf(norm_type)) norm = std::pow(norm, 1 / norm_type);
        if (norm <= max_norm) continue;
        double scale = max_norm / (norm + 1e-7);
        for (int64_t c = 0; c < out.size(1); c++)
          p[c * out.stride(1)] = T(static_cast<OpMath<T>>(static_cast<OpMath<T>>(p[c * out.stride(1)]) * scale));
      }
    }
  });
}
Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  Tensor out = clone_preserve(self);
  embedding_renorm_out(out, self, indices, max_norm, norm_type);
  return out;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  UT_CHECK(self.dtype() == DType::Int64, "one_hot is only applicable to index tensor of type LongTensor. Got ",
           self.dtype());
  Tensor in = contiguous(self);
  const int64_t* p = in.data_as<int64_t>();
  int64_t n = in.numel(), highest = -1;
  if (n == 0) UT_CHECK(num_classes > 0, "Can not infer total number of classes from empty tensor.");
  for (int64_t i = 0; i < n; i++) {
    UT_CHECK(p[i] >= 0, "Class values must be non-negative. Got ", p[i]);
    highest = std::max(highest, p[i]);
  }
  if (num_classes == -1) num_classes = highest + 1;
  UT_CHECK(num_classes > highest, "Class values must be smaller than num_classes. Got class ", highest,
           " and num_classes ", num_classes);
  Dims sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = zeros(sizes, DType::Int64);
  for (int64_t i = 0; i < n; i++) out.data_as<int64_t>()[i * num_classes + p[i]] = 1;
  return out;
}

}  // namespace undertow::fwd
