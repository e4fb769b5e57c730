// composites.cpp: views, copies and joins that are compositions of other operators.
// build: small
#include "core/autograd/delegated/observers.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/tangents.h"
#include "core/autograd/views/inplace.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/uninitialized.h"
#include "core/forward/shape/narrow.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/asynchronous_copies.h"
#include "core/tensor/storage/storage_size.h"

namespace undertow::core::ops {

Tensor reshape_composite(const Tensor& self, IntSpan shape) {
  if (self.is_contiguous() && self.numel()) return view(self, shape);
  Dims sizes = infer_size(shape, self.numel()), strides;
  if (view_strides(self.sizes(), self.strides(), sizes, strides)) return view(self, sizes);
  return _unsafe_view(clone(self, MemoryFormat::Contiguous), sizes);
}

Tensor view_dtype_composite(const Tensor& self, DType dtype) {
  Tensor out = _view_dtype(self, dtype);
  share_version(self, out);
  return out;
}

Tensor detach_composite(const Tensor& self) {
  Tensor out = graph_ops::detach(self);
  share_version(self, out);
  if (UT_UNLIKELY(thread_mode.bits & (kProvenance | kProfile))) observe_result("detach", 0u, out, self);
  return out;
}

Tensor flatten_composite(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  int64_t a = wrap_dim(start_dim, self.dim()), b = wrap_dim(end_dim, self.dim());
  UT_CHECK(a <= b, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return reshape(self, Dims{1});
  if (a == b) return self;
  Dims shape;
  int64_t joined = 1;
  for (int64_t d = 0; d < self.dim(); d++) {
    if (d >= a && d <= b) joined *= self.size(d);
    if (d < a || d > b) shape.push_back(self.size(d));
    if (d == b) shape.push_back(joined);
  }
  return reshape(self, shape);
}

Tensor unflatten_composite(const Tensor& self, int64_t dim, IntSpan sizes) {
  int64_t d = wrap_dim(dim, self.dim());
  UT_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  UT_CHECK_INDEX(self.dim() > 0, "unflatten: a zero-dimensional tensor has no dimension to split");
  int64_t known = 1, open = 0;
  bool overflow = false;
  for (int64_t s : sizes) {
    if (s == -1)
      open++;
    else
      overflow |= __builtin_mul_overflow(known, s, &known);
  }
  UT_CHECK(open <= 1, "only one dimension can be inferred");
  UT_CHECK(!overflow && (open ? known != 0 && self.size(d) % known == 0 : known == self.size(d)),
           "unflatten: Provided sizes ", ShapeText{sizes}, " don't multiply up to the size of dim ", d, " (",
           self.size(d), ") in the input tensor");
  Dims shape;
  for (int64_t k = 0; k < self.dim(); k++) {
    if (k != d) {
      shape.push_back(self.size(k));
      continue;
    }
    for (int64_t s : sizes) shape.push_back(s == -1 ? self.size(d) / known : s);
  }
  return view(self, shape);
}

int64_t index_of(const Tensor& start) {
  UT_CHECK(start.dim() == 0 && is_integral(start.dtype()) && start.dtype() != DType::Bool,
           "start must be an 0-dim integral Tensor.");
  return item(start).to_int();
}

Tensor narrow_composite(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  int64_t from = fwd::narrow_start(self.sizes(), dim, start, length);
  return slice(self, dim, from, from + length, 1);
}

Tensor movedim_composite(const Tensor& self, IntSpan source, IntSpan destination) {
  UT_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (",
           ShapeText{source}, " dims) should contain the same number of dims as destination (", ShapeText{destination},
           " dims)");
  int64_t n = self.dim();
  Dims order(static_cast<size_t>(n), -1);
  uint64_t from = 0, to = 0;
  for (size_t i = 0; i < source.size(); i++) {
    int64_t s = wrap_dim(source[i], n), d = wrap_dim(destination[i], n);
    UT_CHECK(!(from >> s & 1), "movedim: repeated dim in `source` (", ShapeText{source}, ")");
    UT_CHECK(!(to >> d & 1), "movedim: repeated dim in `destination` (", ShapeText{destination}, ")");
    from |= uint64_t{1} << s;
    to |= uint64_t{1} << d;
    if (n) order[static_cast<size_t>(d)] = s;
  }
  if (n == 0) return _alias(self);
  int64_t next = 0;
  for (int64_t& o : order) {
    if (o >= 0) continue;
    while (from >> next & 1) next++;
    o = next++;
  }
  return permute(self, order);
}

Tensor diag_composite(const Tensor& self, int64_t diagonal) {
  UT_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
  return self.dim() == 1 ? diag_embed(self, diagonal) : diagonal_copy(self, diagonal);
}

Tensor real_composite(const Tensor& self) {
  if (!self.is_complex()) return self;
  return select(view_as_real(self.is_conj() ? conj(self) : self), -1, 0);
}
Tensor imag_composite(const Tensor& self) {
  UT_CHECK(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
  if (self.is_conj()) return select(_neg_view(view_as_real(conj(self))), -1, 1);
  return select(view_as_real(self), -1, 1);
}

Tensor reversed_dims(const Tensor& self) {
  int64_t n = self.dim();
  if (n != 2 && n != 0)
    warn_once(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
        "an error in a future release. Consider `x.mT` to "
        "transpose batches of matrices or `x.permute(*undertow.arange(x.ndim - 1, -1, -1))` to reverse the dimensions "
        "of a tensor.");
  Dims order;
  for (int64_t d = n - 1; d >= 0; d--) order.push_back(d);
  return permute(self, order);
}
Tensor matrix_transpose(const Tensor& self) {
  if (self.dim() == 0) {
    warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.");
    return self;
  }
  UT_CHECK(self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", self.dim(),
           "-D tensor.");
  return transpose(self, -2, -1);
}
Tensor hermitian(const Tensor& self) {
  UT_CHECK(self.dim() == 2 || self.dim() == 0, "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(),
           "-D tensor.", self.dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  if (self.dim() == 0) return self.is_complex() ? conj(self) : self;
  Tensor t = transpose(self, 0, 1);
  return self.is_complex() ? conj(t) : t;
}
Tensor matrix_hermitian(const Tensor& self) {
  if (self.dim() == 0) {
    warn_once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().");
    return self.is_complex() ? conj(self) : self;
  }
  UT_CHECK(self.dim() >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got ", self.dim(),
           "-D tensor.");
  return adjoint_composite(self);
}
Tensor adjoint_composite(const Tensor& self) {
  if (self.dim() == 0) {
    warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().");
    return self.is_complex() ? conj(self) : self;
  }
  UT_CHECK(self.dim() >= 2, "tensor.adjoint() is only supported on matrices or batches of matrices. Got ", self.dim(),
           "-D tensor.");
  Tensor t = transpose(self, -2, -1);
  return self.is_complex() ? conj(t) : t;
}

namespace {
// The size of each of `chunks` parts of a dimension; 0 if the dimension is empty.
int64_t chunk_size(const Tensor& self, int64_t chunks, int64_t dim) {
  UT_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  UT_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  int64_t size = self.size(wrap_dim(dim, self.dim()));
  if (size == 0) fwd::check_parts("chunk", chunks);
  return size / chunks + (size % chunks != 0);
}
}  // namespace

std::vector<Tensor> chunk_composite(const Tensor& self, int64_t chunks, int64_t dim) {
  int64_t each = chunk_size(self, chunks, dim);
  return each ? split(self, each, dim) : split_with_sizes(self, Dims(static_cast<size_t>(chunks), 0), dim);
}
namespace {
// Each part counts its own writes. The parts of a dual share the memory of its tangent, as they share that of its
// values.
template <class Split>
std::vector<Tensor> separate_parts(const Tensor& self, Split split) {
  std::vector<Tensor> parts = split(self);
  for (const Tensor& t : parts)
    if (!t.impl()->has(kBatched | kInference)) make_own_version(t);
  if (Tensor tangent = tangent_of(self); tangent.defined()) {
    std::vector<Tensor> tangents = split(tangent);
    for (size_t i = 0; i < parts.size(); i++) forward_level::set_tangent(parts[i], tangents[i]);
  }
  return parts;
}
}  // namespace
std::vector<Tensor> unsafe_split_composite(const Tensor& self, int64_t split_size, int64_t dim) {
  return separate_parts(self, [&](const Tensor& t) { return _unsafe_split(t, split_size, dim); });
}
std::vector<Tensor> unsafe_split_composite(const Tensor& self, IntSpan split_sizes, int64_t dim) {
  return separate_parts(self, [&](const Tensor& t) { return _unsafe_split_with_sizes(t, split_sizes, dim); });
}
std::vector<Tensor> unsafe_chunk_composite(const Tensor& self, int64_t chunks, int64_t dim) {
  int64_t each = chunk_size(self, chunks, dim);
  return each ? unsafe_split(self, each, dim)
              : unsafe_split_with_sizes(self, Dims(static_cast<size_t>(chunks), 0), dim);
}

std::vector<Tensor> tensor_split_composite(const Tensor& self, int64_t sections, int64_t dim) {
  UT_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
           " dims");
  UT_CHECK(sections > 0, "number of sections must be larger than 0, got ", sections);
  fwd::check_parts("tensor_split", sections);
  int64_t d = wrap_dim(dim, self.dim()), size = self.size(d), at = 0;
  std::vector<Tensor> out;
  for (int64_t i = 0; i < sections; i++) {
    int64_t n = size / sections + (i < size % sections);
    out.push_back(slice(self, d, at, at + n, 1));
    at += n;
  }
  return out;
}
std::vector<Tensor> tensor_split_composite(const Tensor& self, IntSpan indices, int64_t dim) {
  UT_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", self.dim(),
           " dims");
  int64_t d = wrap_dim(dim, self.dim()), at = 0;
  std::vector<Tensor> out;
  for (int64_t i : indices) {
    out.push_back(slice(self, d, at, i, 1));
    at = i;
  }
  out.push_back(slice(self, d, at, self.size(d), 1));
  return out;
}
std::vector<Tensor> tensor_split_composite(const Tensor& self, const Tensor& by, int64_t dim) {
  UT_CHECK(by.dtype() == DType::Int64,
           "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ", long_name(by.dtype()));
  UT_CHECK(by.dim() <= 1,
           "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
           "got a tensor with ",
           by.dim(), " dims");
  if (by.dim() == 0) return tensor_split_composite(self, item(by).to_int(), dim);
  Dims places;
  for (const Tensor& place : unbind(by, 0)) places.push_back(item(place).to_int());
  return tensor_split_composite(self, IntSpan(places), dim);
}

namespace {
int64_t split_dim(const Tensor& self, const char* name, int64_t least, int64_t dim) {
  UT_CHECK(self.dim() >= least, "undertow.", name, " requires a tensor with at least ", least,
           " dimension, but got a tensor with ", self.dim(), " dimensions!");
  return self.dim() == 1 ? 0 : dim;
}
std::vector<Tensor> split_evenly(const Tensor& self, const char* name, int64_t least, int64_t dim, int64_t sections) {
  int64_t d = split_dim(self, name, least, dim);
  UT_CHECK(sections != 0 && self.size(d) % sections == 0, "undertow.", name, " attempted to split along dimension ", d,
           ", but the size of the dimension ", self.size(d), " is not divisible by the split_size ", sections, "!");
  return tensor_split_composite(self, sections, d);
}
}  // namespace

std::vector<Tensor> hsplit_composite(const Tensor& self, int64_t sections) {
  return split_evenly(self, "hsplit", 1, 1, sections);
}
std::vector<Tensor> hsplit_composite(const Tensor& self, IntSpan indices) {
  return tensor_split_composite(self, indices, split_dim(self, "hsplit", 1, 1));
}
std::vector<Tensor> vsplit_composite(const Tensor& self, int64_t sections) {
  return split_evenly(self, "vsplit", 2, 0, sections);
}
std::vector<Tensor> vsplit_composite(const Tensor& self, IntSpan indices) {
  return tensor_split_composite(self, indices, split_dim(self, "vsplit", 2, 0));
}
std::vector<Tensor> dsplit_composite(const Tensor& self, int64_t sections) {
  return split_evenly(self, "dsplit", 3, 2, sections);
}
std::vector<Tensor> dsplit_composite(const Tensor& self, IntSpan indices) {
  return tensor_split_composite(self, indices, split_dim(self, "dsplit", 3, 2));
}

Tensor contiguous_composite(const Tensor& self, std::optional<MemoryFormat> format) {
  MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
  UT_CHECK(f != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  return fwd::is_in_format(self, f) ? self : clone(self, f);
}

Tensor to_composite(const Tensor& self, DType dtype, bool copy, std::optional<MemoryFormat> format,
                    std::optional<Device> device) {
  if (!copy && dtype == self.dtype() && device.value_or(self.device()) == self.device() &&
      (!format || *format == MemoryFormat::Preserve || fwd::suggested_format(self) == *format))
    return self;
  return _to_copy(self, dtype, format, device);
}
Tensor to_composite(const Tensor& self, DType dtype, bool copy, std::optional<MemoryFormat> format,
                    std::optional<Device> device, bool non_blocking) {
  AsynchronousCopies asynchronous(non_blocking);
  return to_composite(self, dtype, copy, format, device);
}
Tensor to_place(const Tensor& self, DType dtype, Device device) {
  if (self.is_complex() && !is_complex(dtype)) return to_place(real(self), dtype, device);
  return to_composite(self, dtype, false, std::nullopt, device);
}

Tensor resize_composite(const Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  UT_CHECK_AS(NotImplemented, !self.is_sparse(), "resize_: not implemented for sparse tensors");
  UT_CHECK(!self.impl()->has(kBatched), "vmap: resize_ of one sample would move the others; use a new tensor");
  check_inplace(self, "resize_", false);
  UT_CHECK(!self.requires_grad() || mode_is(kInferenceMode), "cannot resize variables that require grad");
  for (int64_t s : size)
    UT_CHECK(s >= 0, "Trying to resize storage to have negative dimension ", s, ": ", ShapeText{size});
  TensorImpl* impl = self.impl();
  // Everything that can be wrong with the sizes is found before the memory changes.
  size_t need = storage_bytes(size, impl->offset, self.itemsize());
  UT_CHECK(format != MemoryFormat::Preserve, "Unsupported memory format Preserve");
  Dims strides = fwd::format_strides(size, format.value_or(MemoryFormat::Contiguous));
  if (const size_t had = impl->storage->nbytes(); had < need) {
    UT_CHECK(impl->storage->resizable(), "Trying to resize storage that is not resizable");
    impl->storage->resize(need);
    if (UT_UNLIKELY(fwd::fill_uninitialized.load(std::memory_order_relaxed))) fwd::fill_unset_bytes(self, had);
  }
  bool same_shape = same(self.sizes(), size);
  if (same_shape && !format) return self;  // nothing changes, so it does not count as a write
  impl->set_layout(size, strides);
  if (!same_shape) self.bump_version("resize_");
  return self;
}

std::vector<Tensor> at_least(TensorSpan tensors, int64_t dims) {
  UT_CHECK(!tensors.empty(), dims == 1 ? "hstack" : dims == 2 ? "vstack" : "dstack", " expects a non-empty TensorList");
  std::vector<Tensor> out;
  for (Tensor t : tensors) {
    if (dims == 3 && t.dim() == 2)
      t = unsqueeze(t, -1);
    else if (dims == 3 && t.dim() == 1)
      t = unsqueeze(unsqueeze(t, 0), -1);
    else if (dims == 2 && t.dim() == 1)
      t = unsqueeze(t, 0);
    else if (t.dim() == 0)
      t = reshape(t, Dims(static_cast<size_t>(dims), 1));
    out.push_back(t);
  }
  return out;
}
Tensor hstack_composite(TensorSpan tensors) {
  std::vector<Tensor> list = at_least(tensors, 1);
  return cat(list, list[0].dim() == 1 ? 0 : 1);
}
Tensor column_stack_composite(TensorSpan tensors) {
  UT_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> list;
  for (const Tensor& t : tensors) list.push_back(t.dim() <= 1 ? reshape(t, Dims{t.numel(), 1}) : t);
  return hstack_composite(list);
}

Tensor tile_composite(const Tensor& self, IntSpan dims) {
  Dims counts(dims.begin(), dims.end());
  while (static_cast<int64_t>(counts.size()) < self.dim()) counts.insert(0, 1);
  return repeat(self, counts);
}

Tensor repeat_interleave_composite(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                   std::optional<int64_t> output_size) {
  Tensor in = dim ? self : flatten(self);
  int64_t d = wrap_dim(dim.value_or(0), in.dim());
  if (in.dim() == 0) in = unsqueeze(in, 0);
  UT_CHECK(repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor, but got ", repeats.dim(), " dimensions");
  bool one_for_all = repeats.dim() == 0 || repeats.size(0) == 1;
  UT_CHECK(one_for_all || repeats.size(0) == in.size(d),
           "repeats must have the same size as input along dim, but got repeats.size(0) = ",
           repeats.dim() ? repeats.size(0) : 1, " and input.size(", d, ") = ", in.size(d));
  Tensor counts = one_for_all ? expand(reshape(repeats, Dims{1}), Dims{in.size(d)}) : repeats;
  return index_select(in, d, _repeat_indices(counts, output_size));
}
Tensor repeat_interleave_composite(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                   std::optional<int64_t> output_size) {
  Tensor in = dim ? self : flatten(self);
  int64_t d = wrap_dim(dim.value_or(0), in.dim());
  UT_CHECK(repeats >= 0, "Repeats must be non-negative, got ", repeats);
  if (in.dim() == 0) in = unsqueeze(in, 0);
  UT_CHECK(!output_size || *output_size == in.size(d) * repeats, "repeat_interleave: Invalid output_size, expected ",
           in.size(d) * repeats, " but got ", *output_size);
  Tensor more = unsqueeze(in, d + 1);
  Dims sizes(more.sizes());
  sizes[static_cast<size_t>(d + 1)] = repeats;
  return flatten(clone(expand(more, sizes), MemoryFormat::Contiguous), d, d + 1);
}

Tensor fliplr_composite(const Tensor& self) {
  UT_CHECK(self.dim() >= 2, "Input must be >= 2-d.");
  return flip(self, Dims{1});
}
Tensor flipud_composite(const Tensor& self) {
  UT_CHECK(self.dim() >= 1, "Input must be >= 1-d.");
  return flip(self, Dims{0});
}

}  // namespace undertow::core::ops
