// layout.cpp: see layout.h.
#include "core/tensor/layout.h"

#include <numeric>

#include "core/tensor/storage/storage_size.h"

namespace undertow::core {

void append_text(std::string& out, ShapeText s) {
  out += '[';
  for (size_t i = 0; i < s.sizes.size(); i++) out += str(i ? ", " : "", s.sizes[i]);
  out += ']';
}

namespace {
[[noreturn]] void raise_storage_overflow(IntSpan sizes, IntSpan strides) {
  UT_FAIL("Storage size calculation overflowed with sizes=", ShapeText{sizes}, " and strides=", ShapeText{strides});
}
}  // namespace

int64_t checked_numel(IntSpan sizes) {
  uint64_t n = 1;
  bool overflow = false;
  for (int64_t s : sizes) overflow |= __builtin_mul_overflow(n, static_cast<uint64_t>(s), &n);
  UT_CHECK(!overflow && n <= static_cast<uint64_t>(INT64_MAX),
           "numel: integer multiplication overflow: ", ShapeText{sizes});
  return static_cast<int64_t>(n);
}

bool is_contiguous_layout(IntSpan sizes, IntSpan strides) {
  int64_t expected = 1;
  bool dense = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    dense &= strides[i] == expected;
    expected *= sizes[i];
  }
  return dense;
}

namespace {
// The dimensions with more than one element, by ascending stride.
Dims by_stride(IntSpan sizes, IntSpan strides) {
  Dims order;
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] != 1) order.push_back(static_cast<int64_t>(i));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  return order;
}
}  // namespace

bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides) {
  if (product(sizes) == 0) return true;
  int64_t expected = 1;
  for (int64_t d : by_stride(sizes, strides)) {
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

bool has_internal_overlap(IntSpan sizes, IntSpan strides) {
  if (product(sizes) <= 1) return false;
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] > 1 && strides[i] == 0) return true;
  return false;
}

Dims contiguous_strides(IntSpan sizes) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i == 0) break;
    UT_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(sizes[i], 1), &stride),
             "Stride calculation overflowed for sizes ", ShapeText{sizes});
  }
  return strides;
}

int64_t storage_extent(IntSpan sizes, IntSpan strides) {
  int64_t last = 0, step;
  for (int64_t s : sizes)
    if (s == 0) return 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); i++)
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last);
  if (overflow || __builtin_add_overflow(last, int64_t{1}, &last)) raise_storage_overflow(sizes, strides);
  return last;
}

size_t storage_bytes(IntSpan sizes, IntSpan strides, int64_t offset, int64_t itemsize) {
  int64_t extent = storage_extent(sizes, strides), bytes;
  if (extent == 0) return 0;
  if (extent < 0 || __builtin_add_overflow(extent, offset, &extent) || __builtin_mul_overflow(extent, itemsize, &bytes))
    raise_storage_overflow(sizes, strides);
  return static_cast<size_t>(bytes);
}

size_t storage_bytes(IntSpan sizes, int64_t offset, int64_t itemsize) {
  int64_t n = checked_numel(sizes), bytes;
  if (n == 0) return 0;
  UT_CHECK(!__builtin_add_overflow(n, offset, &n) && !__builtin_mul_overflow(n, itemsize, &bytes),
           "Storage size calculation overflowed with sizes=", ShapeText{sizes});
  return static_cast<size_t>(bytes);
}

Dims broadcast_sizes(IntSpan a, IntSpan b) {
  size_t n = std::max(a.size(), b.size());
  Dims out(n);
  for (size_t i = 0; i < n; i++) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    UT_CHECK(x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (", y,
             ") at non-singleton dimension ", n - 1 - i, "; shapes are ", ShapeText{a}, " and ", ShapeText{b});
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

bool is_expandable_to(IntSpan from, IntSpan to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); i++) {
    int64_t x = from[from.size() - 1 - i], y = to[to.size() - 1 - i];
    if (x != y && x != 1) return false;
  }
  return true;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  int64_t n = ndim ? ndim : 1;
  UT_CHECK_INDEX(dim >= -n && dim < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                 "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

uint64_t dim_mask(IntSpan dims, int64_t ndim, bool empty_means_all) {
  if (dims.empty() && empty_means_all) return ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  uint64_t mask = 0;
  for (int64_t d : dims) {
    int64_t w = wrap_dim(d, ndim);
    UT_CHECK(!(mask >> w & 1), "dim ", w, " appears multiple times in the list of dims");
    mask |= uint64_t{1} << w;
  }
  return mask;
}

Dims infer_size(IntSpan shape, int64_t numel) {
  Dims out(shape.begin(), shape.end());
  int64_t known = 1;
  bool overflow = false;
  int inferred = -1;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] == -1) {
      UT_CHECK(inferred < 0, "only one dimension can be inferred, got shape ", ShapeText{shape});
      inferred = static_cast<int>(i);
    } else {
      UT_CHECK(shape[i] >= 0, "invalid shape dimension ", shape[i], " at index ", i, " of shape ", ShapeText{shape});
      overflow |= __builtin_mul_overflow(known, shape[i], &known);
    }
  }
  // Of an empty tensor, the sizes beside a 0 may be as large as they like.
  if (overflow && std::find(shape.begin(), shape.end(), 0) != shape.end())
    known = 0;
  else
    UT_CHECK(!overflow, "shape '", ShapeText{shape}, "' is invalid for input of size ", numel);
  if (inferred >= 0) {
    UT_CHECK(known != 0 || numel == 0, "shape '", ShapeText{shape}, "' is invalid for input of size ", numel);
    UT_CHECK(known != 0, "cannot reshape tensor of ", numel, " elements into shape ", ShapeText{shape},
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    UT_CHECK(numel % known == 0, "shape '", ShapeText{shape}, "' is invalid for input of size ", numel);
    out[inferred] = numel / known;
  } else {
    UT_CHECK(known == numel, "shape '", ShapeText{shape}, "' is invalid for input of size ", numel);
  }
  return out;
}

bool view_strides(IntSpan sizes, IntSpan strides, IntSpan shape, Dims& out) {
  out = Dims(shape.size());
  if (product(sizes) == 0) {
    if (same(sizes, shape))
      out = Dims(strides.begin(), strides.end());
    else
      out = contiguous_strides(shape);
    return true;
  }
  // Goes from the last dimension to the first: collects runs of old dimensions that are contiguous with each other, and
  // splits each run exactly into new dimensions.
  int64_t view_d = static_cast<int64_t>(shape.size()) - 1;
  int64_t chunk_base = sizes.empty() ? 1 : strides.back(), run = 1, used = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; d--) {
    run *= sizes[d];
    bool ends = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != run * chunk_base);
    if (!ends) continue;
    while (view_d >= 0 && (used < run || shape[view_d] == 1)) {
      out[view_d] = used * chunk_base;
      used *= shape[view_d];
      view_d--;
    }
    if (used != run) return false;
    if (d > 0) {
      chunk_base = strides[d - 1];
      run = used = 1;
    }
  }
  if (sizes.empty())
    for (; view_d >= 0; view_d--) out[view_d] = 1;
  return view_d < 0;
}

}  // namespace undertow::core
