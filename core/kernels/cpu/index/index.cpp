// index.cpp: the CPU's IndexKernels: converts tensors to the loops of index_read.h and index_update.h.
#include "core/kernels/index.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/index/index_mask.h"
#include "core/kernels/cpu/index/index_read.h"
#include "core/kernels/cpu/index/index_update.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

using Lists = SmallVector<Positions, 4>;

Positions list_of(const Tensor& positions, const IndexedDim& d) {
  return {positions.data_as<int64_t>(), d.size, d.stride, d.may_wrap};
}
Lists lists_of(TensorSpan positions, std::span<const IndexedDim> dims) {
  Lists lists;
  for (size_t i = 0; i < dims.size(); i++) lists.push_back(list_of(positions[i], dims[i]));
  return lists;
}

// Every position once: repeated dimensions have size 1.
Tensor without_repeats(const Tensor& positions) {
  Dims sizes(positions.sizes());
  for (size_t d = 0; d < sizes.size(); d++)
    if (positions.strides()[d] == 0 && sizes[d] > 1) sizes[d] = 1;
  return contiguous(alias(positions, sizes, positions.strides(), positions.storage_offset(), positions.dtype()));
}

void check(const Tensor& positions, const IndexedDim& d) {
  Tensor in = without_repeats(positions);
  const int64_t* p = in.data_as<int64_t>();
  int64_t at = first_outside(p, in.numel(), d.may_wrap ? -d.size : 0, d.size);
  if (UT_UNLIKELY(at != in.numel())) d.raise_out_of_range(p[at], d.dim, d.size);
}
void check(TensorSpan positions, std::span<const IndexedDim> dims) {
  for (size_t i = 0; i < dims.size(); i++) check(positions[i], dims[i]);
}
bool all_within(const Tensor& positions, int64_t low, int64_t high) {
  Tensor in = without_repeats(positions);
  return first_outside(in.data_as<int64_t>(), in.numel(), low, high) == in.numel();
}

void offsets(const Tensor& out, TensorSpan positions, std::span<const IndexedDim> dims) {
  Lists lists = lists_of(positions, dims);
  if (UT_UNLIKELY(!byte_offsets(out.data_as<int64_t>(), {lists.data(), lists.size()}, out.numel())))
    check(positions, dims);
}

void read_slices(const Tensor& out, const Tensor& in, int64_t first, TensorSpan positions,
                 std::span<const IndexedDim> dims) {
  Lists lists = lists_of(positions, dims);
  size_t from = static_cast<size_t>(first);
  int64_t outer = product(in.sizes().subspan(0, from)), run = product(in.sizes().subspan(from + dims.size()));
  RowRead r{out.data(), in.data(), outer, product(in.sizes().subspan(from)) * in.itemsize(), run, in.itemsize()};
  if (UT_UNLIKELY(!read_rows(r, {lists.data(), lists.size()}, positions[0].numel()))) check(positions, dims);
}

void read(const ElementwiseIter& iter, DType dtype) {
  dispatch_width(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
      char* o = p[0];
      const char *in = p[1], *off = p[2];
      if (s[2] == 0) {  // one index for the whole run: a row
        in += *reinterpret_cast<const int64_t*>(off);
        if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
          std::memcpy(o, in, static_cast<size_t>(n) * sizeof(T));
          return;
        }
        for (int64_t i = 0; i < n; i++, o += s[0], in += s[1])
          *reinterpret_cast<T*>(o) = *reinterpret_cast<const T*>(in);
        return;
      }
      for (int64_t i = 0; i < n; i++, o += s[0], in += s[1], off += s[2])
        *reinterpret_cast<T*>(o) = *reinterpret_cast<const T*>(in + *reinterpret_cast<const int64_t*>(off));
    });
  });
}

// The positions as they are if the innermost dimension with several is contiguous or repeated, else a row-major copy.
Tensor in_runs(const Tensor& positions) {
  for (int64_t d = positions.dim(); d-- > 0;) {
    if (positions.size(d) == 1) continue;
    return positions.stride(d) <= 1 ? positions : contiguous(positions);
  }
  return positions;
}

void gather(const Tensor& out, const Tensor& in, const Tensor& index, const IndexedDim& dim) {
  const Tensor at = in_runs(index);
  ElementRead r;
  r.to = out.data();
  r.from = in.data();
  r.positions = at.data_as<int64_t>();
  r.size = dim.size;
  r.width = in.itemsize();
  r.stride = dim.stride;
  // Contiguous runs of indices are innermost; the loop iterates over the other dimensions.
  for (int64_t d = 0; d < at.dim(); d++) {
    r.sizes.push_back(at.size(d));
    r.strides.push_back(d == dim.dim || in.dim() == 0 ? 0 : in.stride(d) * r.width);
    r.position_strides.push_back(at.stride(d));
  }
  if (UT_UNLIKELY(!read_elements(r))) check(at, dim);
}

// Byte strides of an update's other dimensions, innermost first. Dimensions that are contiguous in both tensors are
// merged.
struct OtherDims {
  Dims sizes, dst, src;
  void add(int64_t size, int64_t ds, int64_t ss) {
    if (size == 1) return;
    if (!sizes.empty() && ds == dst.back() * sizes.back() && ss == src.back() * sizes.back()) {
      sizes.back() *= size;
      return;
    }
    sizes.push_back(size);
    dst.push_back(ds);
    src.push_back(ss);
  }
};

void write(const Tensor& dst, const Tensor& offsets, int64_t first, const Tensor& src, Update update) {
  IndexUpdate u;
  int64_t w = dst.itemsize();
  size_t begin = static_cast<size_t>(first), count = static_cast<size_t>(offsets.dim());
  u.dst = dst.data();
  u.src = src.data();
  u.count = offsets.numel();
  u.dst_offsets = offsets.data_as<int64_t>();
  // The source's own offsets over the index dimensions, in index order: a constant step, or a list.
  IntSpan index_sizes = offsets.sizes();
  Dims steps;
  for (size_t d = 0; d < count; d++) steps.push_back(src.strides()[begin + d] * w);
  bool even = true, inner = true;
  int64_t extent = 0;
  for (size_t d = count; d-- > 0;) {
    if (index_sizes[d] == 1) continue;
    if (inner)
      u.src_step = steps[d];
    else
      even &= steps[d] == extent;
    inner = false;
    extent = steps[d] * index_sizes[d];
  }
  Tensor src_offsets;
  if (!even) {
    src_offsets = empty(index_sizes, DType::Int64, kCpu);
    int64_t* so = src_offsets.data_as<int64_t>();
    Dims at(count, 0);
    for (int64_t k = 0, offset = 0; k < u.count; k++) {
      so[k] = offset;
      for (size_t d = count; d-- > 0;) {
        offset += steps[d];
        if (++at[d] < index_sizes[d]) break;
        offset -= steps[d] * index_sizes[d];
        at[d] = 0;
      }
    }
    u.src_offsets = so;
  }
  OtherDims others;
  for (size_t d = dst.sizes().size(); d-- > 0;)
    if (d < begin || d >= begin + count) others.add(dst.sizes()[d], dst.strides()[d] * w, src.strides()[d] * w);
  u.sizes = std::move(others.sizes);
  u.dst_strides = std::move(others.dst);
  u.src_strides = std::move(others.src);
  run_update(u, dst.dtype(), update);
}

// A scatter with the same positions for all slices.
void write_slices(const ScatterUpdate& s, DType dtype, const Tensor& at, const IndexedDim& dim, Update update) {
  Tensor offsets = empty(Dims{s.count}, DType::Int64, kCpu);
  const Positions list{reinterpret_cast<const int64_t*>(s.index), dim.size, dim.stride, false};
  if (UT_UNLIKELY(!byte_offsets(offsets.data_as<int64_t>(), {&list, 1}, s.count))) check(at, dim);
  IndexUpdate u;
  u.dst = s.dst;
  u.src = s.src;
  u.dst_offsets = offsets.data_as<int64_t>();
  u.src_step = s.src_stride;
  u.count = s.count;
  u.sizes = s.sizes;
  u.dst_strides = s.dst_strides;
  u.src_strides = s.src_strides;
  run_update(u, dtype, update);
}

void scatter(const Tensor& out, const Tensor& index, const Tensor& src, const IndexedDim& dim, Update update) {
  const bool repeated = index.dim() && index.size(-1) > 1 && index.stride(-1) == 0 && index.dim() - 1 != dim.dim;
  const Tensor at = repeated ? index : contiguous(index);
  ScatterUpdate u;
  int64_t w = out.itemsize();
  bool one_value = src.dim() == 0;
  u.size = dim.size;
  u.dst = out.data();
  u.src = src.data();
  u.index = at.data();
  u.count = at.dim() ? at.size(dim.dim) : 1;
  u.dst_stride = dim.stride;
  u.src_stride = one_value ? 0 : src.stride(dim.dim) * w;
  u.index_stride = at.dim() ? at.stride(dim.dim) * 8 : 8;
  for (int64_t d = at.dim(); d-- > 0;) {
    if (d == dim.dim || at.size(d) == 1) continue;
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
  bool slices = repeated && (u.index_stride == 8 || u.count == 1);
  for (int64_t s : u.index_strides) slices &= s == 0;
  if (slices) return write_slices(u, out.dtype(), index, dim, update);
  if (UT_UNLIKELY(!run_update(u, out.dtype(), update))) check(at, dim);
}

void scale(const Tensor& t, const Scalar& scalar) {
  dispatch(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using M = OpMath<T>;
    M by = scalar.to<M>();
    T* p = t.data_as<T>();
    for (int64_t i = 0; i < t.numel(); i++) {
      if constexpr (std::is_same_v<T, bool>)
        p[i] = p[i] && by;
      else
        p[i] = T(static_cast<M>(p[i]) * by);
    }
  });
}

void divide_by_counts(const ElementwiseIter& iter, DType dtype) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
      char *o = p[0], *c = p[1];
      for (int64_t i = 0; i < n; i++, o += s[0], c += s[1]) {
        int64_t by = std::max<int64_t>(1, *reinterpret_cast<const int64_t*>(c));
        T& v = *reinterpret_cast<T*>(o);
        if constexpr (std::is_same_v<T, bool>) {
          v = v && by == 1;
        } else if constexpr (std::is_integral_v<T>) {
          int64_t x = static_cast<int64_t>(v), q = x / by;
          v = static_cast<T>(q - (x % by < 0));
        } else if constexpr (kIsComplex<T>) {
          v /= static_cast<typename T::value_type>(by);
        } else {
          v = T(static_cast<OpMath<T>>(v) / static_cast<OpMath<T>>(by));
        }
      }
    });
  });
}

void flat_to_offsets(const Tensor& offsets, const Tensor& t) {
  int64_t *o = offsets.data_as<int64_t>(), w = t.itemsize();
  for (int64_t k = 0; k < offsets.numel(); k++) {
    int64_t rest = o[k], at = 0;
    for (int64_t d = t.dim(); d-- > 0; rest /= t.size(d)) at += rest % t.size(d) * t.stride(d);
    o[k] = at * w;
  }
}

void unravel(TensorSpan coordinates, const Tensor& at, IntSpan shape) {
  for (int64_t i = 0; i < at.numel(); i++) {
    int64_t rest = at.data_as<int64_t>()[i];
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t n = std::max<int64_t>(shape[d], 1), r = rest % n;
      if (r < 0) r += n;  // negative indices count from the end
      coordinates[d].data_as<int64_t>()[i] = r;
      rest = (rest - r) / n;
    }
  }
}

int64_t largest_class(const Tensor& classes) {
  const int64_t* p = classes.data_as<int64_t>();
  int64_t highest = -1;
  for (int64_t i = 0; i < classes.numel(); i++) {
    UT_CHECK(p[i] >= 0, "Class values must be non-negative. Got ", p[i]);
    highest = std::max(highest, p[i]);
  }
  return highest;
}

void one_hot(const Tensor& out, const Tensor& classes) {
  int64_t count = out.size(-1), highest = largest_class(classes);
  UT_CHECK(count > highest, "Class values must be smaller than num_classes. Got class ", highest, " and num_classes ",
           count);
  zero(out);
  const int64_t* p = classes.data_as<int64_t>();
  for (int64_t i = 0; i < classes.numel(); i++) out.data_as<int64_t>()[i * count + p[i]] = 1;
}

}  // namespace

constinit const IndexKernels index_kernels = {
    .check = check,
    .all_within = all_within,
    .offsets = offsets,
    .read = read,
    .read_rows = read_slices,
    .gather = gather,
    .write = write,
    .scatter = scatter,
    .scale = scale,
    .divide_by_counts = divide_by_counts,
    .flat_to_offsets = flat_to_offsets,
    .unravel = unravel,
    .one_hot = one_hot,
    .largest_class = largest_class,
    .masked_fill = masked_fill,
    .masked_scatter = masked_scatter,
    .put_masked = put_masked,
    .masked_select = masked_select,
    .nonzero = nonzero,
};

}  // namespace undertow::core::cpu
