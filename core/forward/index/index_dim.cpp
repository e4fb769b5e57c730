// index_dim.cpp: whole slices along one dimension, selected by a vector of indices: index_select, index_add,
// index_copy, index_fill, index_reduce; fill_diagonal, and embedding and one_hot, which read and write rows the same
// way.
#include "core/forward/index/index_common.h"

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/embedding.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_embedding.h"
#include "generated/fwd_index.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

bool is_int_index(DType t) { return t == DType::Int64 || t == DType::Int32; }

int64_t size_along(const Tensor& t, int64_t dim) { return t.dim() ? t.size(dim) : 1; }
int64_t stride_along(const Tensor& t, int64_t dim) { return t.dim() ? t.stride(dim) * t.itemsize() : 0; }

IndexedDim indexed_dim(const Tensor& t, int64_t dim, bool may_wrap,
                       void (*raise_out_of_range)(int64_t, int64_t, int64_t)) {
  return {dim, size_along(t, dim), stride_along(t, dim), may_wrap, raise_out_of_range};
}
void raise_out_of_range_in_self(int64_t position, int64_t dim, int64_t size) {
  UT_FAIL_AS(Index, "index out of range in self: index ", position, " for dimension ", dim, " of size ", size);
}

// out[offsets along dim] = or op= src; src has one slice per index, in order, or is a single element.
void update_slices(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& src, Update kind) {
  int64_t count = offsets.numel();
  Dims sizes(out.sizes()), strides(out.strides()), src_strides(std::max<size_t>(sizes.size(), 1), 0);
  if (sizes.empty()) {
    sizes.push_back(count);
    strides.push_back(0);
  } else {
    sizes[static_cast<size_t>(dim)] = count;
    strides[static_cast<size_t>(dim)] = 0;
  }
  if (src.dim()) src_strides = Dims(src.strides());
  Tensor at = offsets.dim() ? offsets : with_layout(offsets, IntSpan(&count, 1), Dims{1});
  backend_of(out).index->write(with_layout(out, sizes, strides), at, dim, with_layout(src, sizes, src_strides), kind);
}

// Checks shared by index_add_ and index_reduce_; `name` is the name in torch's messages.
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
  if (UT_UNLIKELY(is_wide_unsigned(self.dtype()) && self.dim() <= 1))
    throw_not_implemented("index_select", self.dtype());
  dim = wrap_dim(dim, self.dim());
  UT_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector; got shape ",
                 ShapeText{index.sizes()});
  UT_CHECK(is_int_index(index.dtype()), "index_select(): Expected dtype int32 or int64 for index; got ", index.dtype());
  UT_CHECK(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
           index.numel(), " value(s)");
  Tensor at = as_int64(index);
  IndexedDim along = indexed_dim(self, dim, false, raise_out_of_range_in_self);
  const IndexKernels& kernels = *backend_of(self).index;
  Dims sizes(self.sizes());
  // Rows of an empty tensor are not read, but the positions are checked.
  if (self.numel() && self.dim() && self.is_contiguous() && at.is_contiguous()) {
    sizes[static_cast<size_t>(dim)] = at.numel();
    Tensor out = empty_on_device_of(self, sizes, self.dtype());
    kernels.read_rows(out, self, dim, {&at, 1}, {&along, 1});
    return out;
  }
  Tensor offsets = byte_offsets(at, along);
  if (self.dim() == 0) return clone_preserve(self);
  Dims strides(self.strides()), offset_strides(sizes.size(), 0);
  sizes[static_cast<size_t>(dim)] = index.numel();
  strides[static_cast<size_t>(dim)] = 0;
  offset_strides[static_cast<size_t>(dim)] = 1;
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  ElementwiseIter iter;
  iter.add_output(out, self.dtype());
  iter.add_input(with_layout(self, sizes, strides));
  iter.add_input(with_layout(offsets, sizes, offset_strides));
  iter.build();
  kernels.read(iter, self.dtype());
  return out;
}

void index_add_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha) {
  dim = wrap_dim(dim, out.dim());
  check_slices("index_add_()", out, dim, index, source);
  if (UT_UNLIKELY(out.dtype() == DType::Complex32)) {
    Tensor wide = to_carrier(out);
    index_add_out(wide, wide, dim, index, to_carrier(source), alpha);
    return copy_into(out, wide);
  }
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  check_no_overlap(out, source);
  check_fits(alpha, out.dtype());
  Tensor src = copy_if_overlapping(out, source);
  auto of_vector = [](int64_t position, int64_t, int64_t size) {
    UT_FAIL_AS(Index, "index out of range in self: ", position, ", the size is ", size);
  };
  auto of_slices = [](int64_t position, int64_t d, int64_t size) {
    UT_FAIL("index ", position, " is out of bounds for dimension ", d, " with size ", size);
  };
  Tensor offsets = out.dim() <= 1 ? byte_offsets(as_int64(index), indexed_dim(out, dim, false, of_vector))
                                  : byte_offsets(as_int64(index), indexed_dim(out, dim, false, of_slices));
  if (alpha.is_complex() || !alpha.equals(1)) {
    src = contiguous_copy(src);
    backend_of(out).index->scale(src, alpha);
  }
  update_slices(out, dim, offsets, src, Update::Add);
}
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  Tensor out = contiguous_copy(self);
  index_add_out(out, self, dim, index, source, alpha);
  return out;
}

void index_copy_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source) {
  check_no_internal_overlap(out);
  check_no_overlap(out, index);
  check_no_overlap(out, source);
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
  if (is_float8(out.dtype())) throw_not_implemented("index_copy_cpu", out.dtype());
  Tensor offsets = byte_offsets(index, indexed_dim(out, dim, false, [](int64_t position, int64_t d, int64_t size) {
                                  UT_FAIL_AS(Index, "index_copy_(): index ", position,
                                             " is out of bounds for dimension ", d, " with size ", size);
                                }));
  update_slices(out, dim, offsets, copy_if_overlapping(out, source), Update::Set);
}
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  Tensor out = contiguous_copy(self);
  index_copy_out(out, self, dim, index, source);
  return out;
}

namespace {
void fill_slices(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& element) {
  Tensor offsets =
      byte_offsets(index, indexed_dim(out, dim, true, [](int64_t position, int64_t d, int64_t size) {
                     UT_FAIL_AS(Index, "index ", position, " is out of bounds for dimension ", d, " with size ", size);
                   }));
  update_slices(out, dim, offsets, element, Update::Set);
}
int64_t check_fill(const Tensor& out, int64_t dim, const Tensor& index, bool complex_value) {
  UT_CHECK_INDEX(index.dtype() == DType::Int64, "index_fill_(): Expected dtype int64 for index. Got ", index.dtype());
  UT_CHECK(out.is_complex() || !complex_value,
           "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  if (is_float8(out.dtype())) throw_not_implemented("index_fill_cpu", out.dtype());
  warn_if_expanded(out, "index_fill_", "tensor[mask] = scalar");
  check_no_overlap(out, index);
  dim = wrap_dim(dim, out.dim());
  UT_CHECK(index.dim() <= 1, "Index has to be a vector/scalar; got shape ", ShapeText{index.sizes()});
  return dim;
}
}  // namespace

void index_fill_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
  dim = check_fill(out, dim, index, value.is_complex());
  fill_slices(out, dim, index, element_of(value, out));
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor out = clone_preserve(self);
  index_fill_out(out, self, dim, index, value);
  return out;
}
void index_fill_out(const Tensor& out, const Tensor&, int64_t dim, const Tensor& index, const Tensor& value) {
  UT_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  dim = check_fill(out, dim, index, value.is_complex());
  fill_slices(out, dim, index, element_of(value, out));
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  Tensor out = clone_preserve(self);
  index_fill_out(out, self, dim, index, value);
  return out;
}

void fill_diagonal_out(const Tensor& out, const Tensor&, const Scalar& fill_value, bool wrap) {
  UT_CHECK(out.dim() >= 2, "dimensions must larger than 1; fill_diagonal_ got a tensor of shape ",
           ShapeText{out.sizes()});
  int64_t step = 0, length = out.size(0);
  for (int64_t d = 0; d < out.dim(); d++) {
    UT_CHECK(out.dim() == 2 || out.size(d) == length,
             "all dimensions of input must be of equal length; fill_diagonal_ got a tensor of shape ",
             ShapeText{out.sizes()});
    step += out.stride(d);
    length = std::min(length, out.size(d));
  }
  int64_t rows = out.size(0), width = out.size(1);
  fill_into(as_strided(out, IntSpan(&length, 1), IntSpan(&step, 1), out.storage_offset()), fill_value);
  if (!wrap || out.dim() != 2 || rows <= width + 1) return;
  for (int64_t first = width + 1; first < rows; first += width + 1) {
    int64_t count = std::min(width, rows - first), at = out.storage_offset() + first * out.stride(0);
    fill_into(as_strided(out, IntSpan(&count, 1), IntSpan(&step, 1), at), fill_value);
  }
}
Tensor fill_diagonal(const Tensor& self, const Scalar& fill_value, bool wrap) {
  Tensor out = clone_preserve(self);
  fill_diagonal_out(out, self, fill_value, wrap);
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
  check_no_overlap(out, index);
  check_no_overlap(out, source);
  UT_CHECK_AS(NotImplemented, !out.is_complex() || kind == ReduceKind::Prod || kind == ReduceKind::Mean,
              "\"index_reduce_", reduce, "\" not implemented for '", long_name(out.dtype()), "'");
  Tensor at = as_int64(index), src = copy_if_overlapping(out, source);
  Tensor offsets = byte_offsets(at, indexed_dim(out, dim, false, raise_out_of_range_in_self));
  if (!include_self) update_slices(out, dim, offsets, identity_of(kind, out), Update::Set);
  update_slices(out, dim, offsets, src, update_of(kind));
  if (kind == ReduceKind::Mean) {
    Dims shape(out.sizes().size(), 1);
    if (out.dim()) shape[static_cast<size_t>(dim)] = size_along(out, dim);
    Tensor counts = full_on_device_of(out, shape, Scalar(include_self ? 1 : 0), DType::Int64);
    Tensor places = byte_offsets(at, indexed_dim(counts, dim, false, raise_out_of_range_in_self));
    update_slices(counts, dim, places, element_of(Scalar(1), counts), Update::Add);
    divide_by_counts(out, broadcast(counts, out.sizes()));
  }
}
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self) {
  Tensor out = contiguous_copy(self);
  index_reduce_out(out, self, dim, index, source, reduce, include_self);
  return out;
}

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  UT_CHECK(weight.dim() == 2, "'weight' must be 2-D; got shape ", ShapeText{weight.sizes()});
  UT_CHECK(is_int_index(indices.dtype()),
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
           "undertow.",
           long_name(indices.dtype()), "Tensor instead (while checking arguments for embedding)");
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
  backend_of(out).embedding->renorm(out, contiguous(as_int64(indices)), max_norm, norm_type);
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
  if (in.numel() == 0) UT_CHECK(num_classes > 0, "Can not infer total number of classes from empty tensor.");
  const IndexKernels& kernels = *backend_of(self).index;
  if (num_classes < 0) {
    int64_t highest = kernels.largest_class(in);
    UT_CHECK(num_classes == -1, "Class values must be smaller than num_classes. Got class ", highest,
             " and num_classes ", num_classes);
    num_classes = highest + 1;
  }
  Dims sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = empty_on_device_of(self, sizes, DType::Int64);
  kernels.one_hot(out, in);
  // Torch fills it, then writes the ones.
  for (int i = 0; i < (in.numel() ? 2 : 0); i++) out.bump_version("one_hot");
  return out;
}

}  // namespace undertow::core::fwd
