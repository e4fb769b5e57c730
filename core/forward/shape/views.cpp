// views.cpp: forward functions of ops/shape.toml whose results are views of the same storage.
#include "core/forward/copy/copy.h"
#include "core/forward/shape/narrow.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage/storage_size.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

// A modifiable copy of self's sizes and strides, and the view they describe.
struct Geometry {
  explicit Geometry(const Tensor& self) : sizes(self.sizes()), strides(self.strides()), offset(self.storage_offset()) {}
  Tensor on(const Tensor& self) const { return core::alias(self, sizes, strides, offset, self.dtype()); }
  void erase(int64_t d) {
    sizes.erase(static_cast<size_t>(d));
    strides.erase(static_cast<size_t>(d));
  }
  Dims sizes, strides;
  int64_t offset;
};

Tensor squeezed(const Tensor& self, uint64_t mask) {
  Dims sizes, strides;
  for (int64_t d = 0; d < self.dim(); d++) {
    if ((mask >> d & 1) && self.size(d) == 1) continue;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  return core::alias(self, sizes, strides, self.storage_offset(), self.dtype());
}

// Row-major views of a contiguous tensor, the usual case, need no stride arithmetic.
bool view_of_contiguous(const Tensor& self, IntSpan size, Tensor& out) {
  if (!self.is_contiguous() || size.size() > kInlineDims) return false;
  int64_t n = 1;
  for (int64_t s : size) {
    if (s <= 0) return false;  // empty, to be inferred, or invalid: the general path
    if (__builtin_mul_overflow(n, s, &n)) return false;
  }
  if (n != self.numel()) return false;
  out = alias_storage(self);
  out.impl()->set_sizes(size);
  return true;
}

}  // namespace

Tensor view(const Tensor& self, IntSpan size) {
  if (Tensor out; UT_LIKELY(view_of_contiguous(self, size, out))) return out;
  Dims sizes = infer_size(size, self.numel()), strides;
  UT_CHECK(view_strides(self.sizes(), self.strides(), sizes, strides),
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
           "contiguous subspaces). Use "
           ".reshape(...) instead. The input has shape ",
           ShapeText{self.sizes()}, " and strides ", ShapeText{self.strides()}, "; the requested view has shape ",
           ShapeText{sizes});
  return core::alias(self, sizes, strides, self.storage_offset(), self.dtype());
}
Tensor _unsafe_view(const Tensor& self, IntSpan size) { return view(self, size); }
Tensor _alias(const Tensor& self) { return core::alias(self); }

Tensor _view_dtype(const Tensor& self, DType dtype) {
  int64_t from = self.itemsize(), to = itemsize(dtype);
  UT_CHECK(!self.is_conj(),
           "undertow.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.");
  UT_CHECK(
      !self.is_neg(),
      "undertow.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.");
  Geometry g(self);
  if (from != to) {
    UT_CHECK(self.dim() > 0, "self.dim() cannot be 0 to view ", self.dtype(), " as ", dtype,
             " (different element sizes)");
    UT_CHECK(self.stride(-1) == 1, "self.stride(-1) must be 1 to view ", self.dtype(), " as ", dtype,
             " (different element sizes), but got ", self.stride(-1));
    int64_t ratio = from > to ? from / to : to / from;
    if (from < to) {
      UT_CHECK(self.size(-1) % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ", self.dtype(),
               " as ", dtype, " (different element sizes), but got ", self.size(-1));
      UT_CHECK(g.offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ", self.dtype(),
               " as ", dtype, " (different element sizes), but got ", g.offset);
      for (size_t d = 0; d + 1 < g.strides.size(); d++)
        UT_CHECK(g.strides[d] % ratio == 0 || g.sizes[d] == 1, "self.stride(", d, ") must be divisible by ", ratio,
                 " to view ", self.dtype(), " as ", dtype, " (different element sizes), but got ", g.strides[d]);
    }
    auto scale = [&](int64_t v) { return from > to ? v * ratio : v / ratio; };
    g.sizes.back() = scale(g.sizes.back());
    for (size_t d = 0; d + 1 < g.strides.size(); d++) g.strides[d] = scale(g.strides[d]);
    g.offset = scale(g.offset);
  }
  return core::alias(self, g.sizes, g.strides, g.offset, dtype);
}

Tensor as_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
  UT_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape: ", ShapeText{size}, " and ",
           ShapeText{stride});
  for (int64_t s : stride)
    UT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", ShapeText{stride});
  for (int64_t s : size) UT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", ShapeText{size});
  int64_t offset = storage_offset.value_or(self.storage_offset());
  UT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  size_t need = storage_bytes(size, stride, offset, self.itemsize());
  UT_CHECK(need <= self.storage().nbytes(), "setStorage: sizes ", ShapeText{size}, ", strides ", ShapeText{stride},
           ", storage offset ", offset, ", and itemsize ", self.itemsize(), " requiring a storage size of ", need,
           " are out of bounds for storage of size ", self.storage().nbytes());
  return core::alias(self, size, stride, offset, self.dtype());
}

Tensor expand(const Tensor& self, IntSpan size, bool) {
  int64_t n = static_cast<int64_t>(size.size()), have = self.dim();
  UT_CHECK(n >= have, "expand(undertow.", long_name(self.dtype()), "Tensor{", ShapeText{self.sizes()},
           "}, size=", ShapeText{size}, "): the number of sizes provided (", n,
           ") must be greater or equal to the number of dimensions in the tensor (", have, ")");
  Dims sizes(size.begin(), size.end()), strides(static_cast<size_t>(n));
  for (int64_t d = n - 1; d >= 0; d--) {
    int64_t from = d - (n - have);
    int64_t now = from >= 0 ? self.size(from) : 1;
    // The stride that a new leading dimension of size one would have.
    int64_t stride = from >= 0   ? self.stride(from)
                     : d + 1 < n ? sizes[static_cast<size_t>(d + 1)] * strides[static_cast<size_t>(d + 1)]
                                 : 1;
    if (sizes[static_cast<size_t>(d)] == -1) {
      UT_CHECK(from >= 0, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ",
               d);
      sizes[static_cast<size_t>(d)] = now;
    }
    int64_t want = sizes[static_cast<size_t>(d)];
    UT_CHECK(want >= 0, "Trying to create tensor with negative dimension ", want, ": ", ShapeText{size});
    UT_CHECK(now == want || now == 1, "The expanded size of the tensor (", want, ") must match the existing size (",
             now, ") at non-singleton dimension ", d, ".  Target sizes: ", ShapeText{size},
             ".  Tensor sizes: ", ShapeText{self.sizes()});
    strides[static_cast<size_t>(d)] = now == want ? stride : 0;
  }
  return core::alias(self, sizes, strides, self.storage_offset(), self.dtype());
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
  Geometry g(self);
  if (a != b) {
    std::swap(g.sizes[static_cast<size_t>(a)], g.sizes[static_cast<size_t>(b)]);
    std::swap(g.strides[static_cast<size_t>(a)], g.strides[static_cast<size_t>(b)]);
  }
  return g.on(self);
}

Tensor t(const Tensor& self) {
  UT_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
  return self.dim() < 2 ? core::alias(self) : transpose(self, 0, 1);
}

Tensor permute(const Tensor& self, IntSpan dims) {
  UT_CHECK(static_cast<int64_t>(dims.size()) == self.dim(),
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
           "ordering of "
           "dimensions i.e. input.dim() = ",
           self.dim(), " is not equal to len(dims) = ", dims.size());
  uint64_t seen = 0;
  Dims sizes, strides;
  for (int64_t dim : dims) {
    int64_t d = wrap_dim(dim, self.dim());
    UT_CHECK(!(seen >> d & 1), "permute(): duplicate dims are not allowed.");
    seen |= uint64_t{1} << d;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  return core::alias(self, sizes, strides, self.storage_offset(), self.dtype());
}

Tensor squeeze(const Tensor& self) { return squeezed(self, ~uint64_t{0}); }
Tensor squeeze(const Tensor& self, int64_t dim) { return squeezed(self, uint64_t{1} << wrap_dim(dim, self.dim())); }
Tensor squeeze(const Tensor& self, IntSpan dim) { return squeezed(self, dim_mask(dim, self.dim(), false)); }

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  int64_t d = wrap_dim(dim, self.dim() + 1);
  int64_t stride = d < self.dim() ? self.size(d) * self.stride(d) : 1;
  if (self.dim() == 1) {  // a vector operand of a product: no lists
    int64_t n = self.size(0), step = self.stride(0);
    int64_t sizes[2] = {d ? n : 1, d ? 1 : n}, strides[2] = {d ? step : stride, d ? stride : step};
    return alias(self, sizes, strides, self.storage_offset(), self.dtype());
  }
  Geometry g(self);
  g.sizes.insert(static_cast<size_t>(d), 1);
  g.strides.insert(static_cast<size_t>(d), stride);
  return g.on(self);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  UT_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  int64_t n = self.dim(), d = wrap_dim(dim, n), size = self.size(d);
  UT_CHECK_INDEX(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ",
                 ShapeText{self.sizes()}, " at dimension ", d);
  int64_t offset = self.storage_offset() + (index < 0 ? index + size : index) * self.stride(d);
  if (UT_LIKELY(d == 0))
    return core::alias(self, self.sizes().subspan(1), self.strides().subspan(1), offset, self.dtype());
  Geometry g(self);
  g.offset = offset;
  g.erase(d);
  return g.on(self);
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  UT_CHECK(self.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
  UT_CHECK(step > 0, "slice step must be positive, got ", step);
  auto clip = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  int64_t from = clip(start.value_or(0)), to = std::max(from, clip(end.value_or(size)));
  Geometry g(self);
  g.offset += from * self.stride(d);
  g.sizes[static_cast<size_t>(d)] = (to - from) / step + ((to - from) % step != 0);
  // A step beyond the end has at most one element, whose stride nobody uses.
  int64_t& stride = g.strides[static_cast<size_t>(d)];
  if (__builtin_mul_overflow(stride, step, &stride)) stride = self.stride(d);
  return g.on(self);
}

void check_parts(const char* name, int64_t parts) {
  constexpr int64_t kMost = int64_t{1} << 26;
  UT_CHECK(parts <= kMost, name, ": not enough memory: ", parts, " parts are more than ", kMost);
}

int64_t narrow_start(IntSpan sizes, int64_t dim, int64_t start, int64_t length) {
  UT_CHECK(!sizes.empty(), "narrow() cannot be applied to a 0-dim tensor.");
  UT_CHECK(length >= 0, "narrow(): length must be non-negative.");
  int64_t size = sizes[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())))];
  UT_CHECK_INDEX(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ", size,
                 "], but got ", start, ")");
  int64_t from = start < 0 ? start + size : start;
  UT_CHECK(length <= size - from, "start (", from, ") + length (", length, ") exceeds dimension size (", size, ").");
  return from;
}
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  int64_t from = narrow_start(self.sizes(), dim, start, length);
  return contiguous_copy(slice(self, dim, from, from + length, 1));
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
  UT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t rows = self.size(a), cols = self.size(b);
  int64_t n = std::max<int64_t>(offset >= 0 ? std::min(rows, cols - offset) : std::min(rows + offset, cols), 0);
  Geometry g(self);
  if (n) g.offset += offset >= 0 ? offset * self.stride(b) : -offset * self.stride(a);
  int64_t stride = self.stride(a) + self.stride(b);
  g.erase(std::max(a, b));
  g.erase(std::min(a, b));
  g.sizes.push_back(n);
  g.strides.push_back(stride);
  return g.on(self);
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  int64_t d = wrap_dim(dimension, self.dim());
  int64_t have = self.dim() ? self.size(d) : 1;
  UT_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  UT_CHECK(size <= have, "maximum size for tensor at dimension ", d, " is ", have, " but size is ", size);
  UT_CHECK(step > 0, "step is ", step, " but must be > 0");
  Geometry g(self);
  int64_t stride = self.dim() ? self.stride(d) : 1;
  if (self.dim()) {
    g.sizes[static_cast<size_t>(d)] = (have - size) / step + 1;
    g.strides[static_cast<size_t>(d)] = stride * step;
  }
  g.sizes.push_back(size);
  g.strides.push_back(stride);
  return g.on(self);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  UT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  int64_t d = wrap_dim(dim, self.dim());
  Geometry g(self);
  g.erase(d);
  check_parts("unbind", self.size(d));
  std::vector<Tensor> out;
  out.reserve(static_cast<size_t>(self.size(d)));
  for (int64_t i = 0; i < self.size(d); i++, g.offset += self.stride(d)) out.push_back(g.on(self));
  return out;
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  UT_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  UT_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  int64_t d = wrap_dim(dim, self.dim()), size = self.size(d);
  UT_CHECK(split_size > 0 || size == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ",
           size);
  split_size = std::min(std::max<int64_t>(split_size, 1), std::max<int64_t>(size, 1));
  check_parts("split", size / split_size);
  std::vector<Tensor> out;
  // A dimension of size zero still gives one empty part.
  for (int64_t at = 0; at == 0 || at < size; at += std::min(split_size, size - at + (size == 0)))
    out.push_back(slice(self, d, at, at + std::min(split_size, size - at), 1));
  return out;
}

std::vector<Tensor> _unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) {
  return split(self, split_size, dim);
}
std::vector<Tensor> _unsafe_split_with_sizes(const Tensor& self, IntSpan split_sizes, int64_t dim) {
  return split_with_sizes(self, split_sizes, dim);
}
std::vector<Tensor> split_with_sizes(const Tensor& self, IntSpan split_sizes, int64_t dim) {
  UT_CHECK(self.dim() > 0, "split_with_sizes expects at least a 1-dimensional tensor");
  int64_t d = wrap_dim(dim, self.dim()), at = 0, total = 0;
  for (int64_t s : split_sizes) {
    UT_CHECK(s >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
             ShapeText{split_sizes});
    // A sum that is too large equals no size.
    if (__builtin_add_overflow(total, s, &total)) total = -1;
    if (total < 0) break;
  }
  UT_CHECK(total == self.size(d), "split_with_sizes expects split_sizes to sum exactly to ", self.size(d),
           " (input tensor's size at dimension ", dim, "), but got split_sizes=", ShapeText{split_sizes});
  std::vector<Tensor> out;
  for (int64_t s : split_sizes) {
    out.push_back(slice(self, d, at, at + s, 1));
    at += s;
  }
  return out;
}

Tensor view_as_real(const Tensor& self) {
  UT_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors; this one is ", self.dtype());
  UT_CHECK(!self.is_conj(),
           "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
           "view it as real, use self.resolve_conj(); "
           "however, be warned that the resulting tensor will NOT alias the original.");
  Dims sizes(self.sizes()), strides;
  for (int64_t s : self.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return core::alias(self, sizes, strides, 2 * self.storage_offset(), to_real(self.dtype()));
}

Tensor view_as_complex(const Tensor& self) {
  UT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64 || self.dtype() == DType::Float16,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
           long_name(self.dtype()));
  UT_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  UT_CHECK(self.size(-1) == 2, "Tensor must have a last dimension of size 2, got shape ", ShapeText{self.sizes()});
  UT_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  UT_CHECK(self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  Dims sizes(self.sizes()), strides;
  sizes.pop_back();
  for (int64_t d = 0; d + 1 < self.dim(); d++) {
    UT_CHECK(self.stride(d) % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    strides.push_back(self.stride(d) / 2);
  }
  return core::alias(self, sizes, strides, self.storage_offset() / 2, to_complex(self.dtype()));
}

Tensor conj(const Tensor& self) {
  if (!self.is_complex()) return self;
  Tensor out = core::alias(self);
  out.impl()->set(kConj, !self.is_conj());
  return out;
}
Tensor _neg_view(const Tensor& self) {
  UT_CHECK(self.dtype() != DType::Bool, "_neg_view: bool tensors are not supported");
  Tensor out = core::alias(self);
  out.impl()->set(kNeg, !self.is_neg());
  return out;
}

}  // namespace undertow::core::fwd
