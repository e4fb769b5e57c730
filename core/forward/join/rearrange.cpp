// rearrange.cpp: forward functions of ops/join.toml on one tensor: repeats, flips, rolls, triangles.
#include <algorithm>
#include <cstring>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_join.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

Tensor repeat(const Tensor& self, IntSpan repeats) {
  int64_t n = static_cast<int64_t>(repeats.size()), lead = n - self.dim();
  UT_CHECK(lead >= 0, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  // Seen as pairs (count, size), the result is a plain broadcast of self.
  Dims sizes, pairs, strides;
  for (int64_t d = 0; d < n; d++) {
    int64_t count = repeats[static_cast<size_t>(d)], size = d < lead ? 1 : self.size(d - lead);
    UT_CHECK(count >= 0, "Trying to create tensor with negative dimension ", count * size, ": ", ShapeText{repeats});
    sizes.push_back(count * size);
    pairs.push_back(count);
    pairs.push_back(size);
    strides.push_back(0);
    strides.push_back(d < lead ? 0 : self.stride(d - lead));
  }
  Tensor out = undertow::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  copy_into(view(out, pairs), undertow::alias(self, pairs, strides, self.storage_offset(), self.dtype()));
  return out;
}

Tensor _repeat_indices(const Tensor& repeats, std::optional<int64_t> output_size) {
  UT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  UT_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32, "repeats has to be Long or Int tensor");
  Tensor counts = contiguous(to_dtype(repeats, DType::Int64));
  const int64_t* c = counts.data_as<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); i++) {
    UT_CHECK(c[i] >= 0, "repeats can not be negative");
    total += c[i];
  }
  UT_CHECK(!output_size || *output_size == total, "allocated size does not match required size");
  Tensor out = undertow::empty(Dims{total}, DType::Int64);
  int64_t* to = out.data_as<int64_t>();
  for (int64_t i = 0; i < counts.numel(); i++) to = std::fill_n(to, c[i], i);
  return out;
}

Tensor flip(const Tensor& self, IntSpan dims) {
  uint64_t mask = dim_mask(dims, self.dim(), false);
  Tensor out = empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  if (self.numel() == 0) return out;
  // The same walk over both, but from self's far corner, backwards, along the flipped dimensions.
  int64_t w = self.itemsize();
  Dims to(out.strides()), from(self.strides());
  const char* start = self.data();
  for (size_t d = 0; d < to.size(); d++) {
    to[d] *= w;
    from[d] *= w;
    if (!(mask >> d & 1)) continue;
    start += (self.sizes()[d] - 1) * from[d];
    from[d] = -from[d];
  }
  cpu::move_elements(out.data(), start, Dims(self.sizes()), to, from, w);
  return out;
}

Tensor roll(const Tensor& self, IntSpan shifts, IntSpan dims) {
  UT_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty()) {
    UT_CHECK(shifts.size() == 1, "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:0");
    if (self.numel() == 0) return clone_preserve(self);
    const int64_t first = 0;
    return view(roll(view(contiguous(self), Dims{self.numel()}), shifts, IntSpan(&first, 1)), self.sizes());
  }
  UT_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims:", dims.size());
  UT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dims[0], " but tensor has no dimensions");
  size_t nd = self.sizes().size();
  Dims shift(nd, 0);
  for (size_t i = 0; i < dims.size(); i++) {
    size_t d = static_cast<size_t>(wrap_dim(dims[i], self.dim()));
    int64_t n = std::max<int64_t>(self.sizes()[d], 1), s = shifts[i] % n;
    shift[d] = (shift[d] + (s < 0 ? s + n : s)) % n;
  }
  if (self.numel() == 0) return clone_preserve(self);
  // Along every rolled dimension there are two parts, which change places.
  Tensor out = undertow::empty(self.sizes(), self.dtype());
  int64_t w = self.itemsize();
  Dims to(out.strides()), from(self.strides()), rolled;
  for (size_t d = 0; d < nd; d++) {
    to[d] *= w;
    from[d] *= w;
    if (shift[d]) rolled.push_back(static_cast<int64_t>(d));
  }
  for (uint64_t part = 0; part < uint64_t{1} << rolled.size(); part++) {
    Dims sizes(self.sizes());
    char* target = out.data();
    const char* source = self.data();
    for (size_t k = 0; k < rolled.size(); k++) {
      size_t d = static_cast<size_t>(rolled[k]);
      int64_t head = sizes[d] - shift[d];
      if (part >> k & 1) {
        source += head * from[d];
        sizes[d] = shift[d];
      } else {
        target += shift[d] * to[d];
        sizes[d] = head;
      }
    }
    cpu::move_elements(target, source, sizes, to, from, w);
  }
  return out;
}

Tensor rot90(const Tensor& self, int64_t k, IntSpan dims) {
  UT_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  UT_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  UT_CHECK(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != self.dim(),
           "expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  int64_t n = self.dim();
  UT_CHECK(dims[0] < n && dims[0] >= -n, "Rotation dim0 out of range, dim0 = ", dims[0]);
  UT_CHECK(dims[1] < n && dims[1] >= -n, "Rotation dim1 out of range, dim1 = ", dims[1]);
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip(self, Dims{dims[1]}), dims[0], dims[1]);
    case 2:
      return flip(self, dims);
    case 3:
      return transpose(flip(self, Dims{dims[0]}), dims[0], dims[1]);
    default:
      return contiguous_copy(self);
  }
}

namespace {
// Keeps column j of row i where j - i is at most (lower) or at least (upper) the diagonal's number.
Tensor triangle(const Tensor& self, int64_t diagonal, bool lower, const char* name) {
  UT_CHECK(self.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
  Tensor out = contiguous_copy(self);
  int64_t rows = self.size(-2), cols = self.size(-1);
  if (out.numel() == 0) return out;
  int64_t width = cols * out.itemsize();
  parallel_for(0, out.numel() / cols, std::max<int64_t>(1, kParallelGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      char* row = out.data() + r * width;
      // The first column past the kept part (lower), or the first kept one (upper).
      int64_t edge = std::clamp<int64_t>(r % rows + diagonal + (lower ? 1 : 0), 0, cols) * out.itemsize();
      if (lower)
        std::memset(row + edge, 0, static_cast<size_t>(width - edge));
      else
        std::memset(row, 0, static_cast<size_t>(edge));
    }
  });
  return out;
}

Tensor triangle_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, bool lower) {
  UT_CHECK(row >= 0, "row must be non-negative, got", row);
  UT_CHECK(col >= 0, "col must be non-negative, got", col);
  auto from = [&](int64_t i) { return lower ? int64_t{0} : std::clamp<int64_t>(i + offset, 0, col); };
  auto to = [&](int64_t i) { return lower ? std::clamp<int64_t>(i + offset + 1, 0, col) : col; };
  int64_t n = 0;
  for (int64_t i = 0; i < row; i++) n += to(i) - from(i);
  Tensor out = undertow::empty(Dims{2, n}, DType::Int64);
  int64_t *rows = out.data_as<int64_t>(), *cols = rows + n;
  for (int64_t i = 0; i < row; i++)
    for (int64_t j = from(i), end = to(i); j < end; j++) {
      *rows++ = i;
      *cols++ = j;
    }
  return to_dtype(out, dtype.value_or(DType::Int64));
}
}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true, "tril"); }
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false, "triu"); }
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, std::optional<Layout>,
                    std::optional<Device>, std::optional<bool>) {
  return triangle_indices(row, col, offset, dtype, true);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, std::optional<Layout>,
                    std::optional<Device>, std::optional<bool>) {
  return triangle_indices(row, col, offset, dtype, false);
}

}  // namespace undertow::fwd
