// memory_format.cpp: the order of dimensions in memory: torch's memory formats, and copies that preserve the order.
// build: small
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

namespace {
// Dimensions sorted innermost first by ascending stride; ties are resolved as in a row-major tensor. A stable insertion
// sort in which a stride of zero compares equal to any other, so that an expanded dimension keeps its position: the
// same order ElementwiseIter gives a new output.
Dims memory_order(IntSpan sizes, IntSpan strides) {
  size_t n = sizes.size();
  Dims order(n);
  for (size_t i = 0; i < n; i++) order[i] = static_cast<int64_t>(n - 1 - i);
  auto compare = [&](int64_t a, int64_t b) {
    int64_t sa = strides[static_cast<size_t>(a)], sb = strides[static_cast<size_t>(b)];
    if (sa == 0 || sb == 0) return 0;
    if (sa != sb) return sa < sb ? -1 : 1;
    return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)] ? 1 : 0;
  };
  for (size_t i = 1; i < n; i++) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      }
    }
  }
  return order;
}

Dims strides_in_order(IntSpan sizes, IntSpan innermost_first) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (int64_t d : innermost_first) {
    strides[static_cast<size_t>(d)] = stride;
    // The last product is no stride. It may be too large if a size is 0.
    if (d == innermost_first.back()) break;
    UT_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(sizes[static_cast<size_t>(d)], 1), &stride),
             "Stride calculation overflowed for sizes ", ShapeText{sizes});
  }
  return strides;
}
}  // namespace

Dims format_strides(IntSpan sizes, MemoryFormat format) {
  if (format == MemoryFormat::ChannelsLast) {
    UT_CHECK(sizes.size() == 4, "required rank 4 tensor to use channels_last format, got shape ", ShapeText{sizes});
    return strides_in_order(sizes, Dims{1, 3, 2, 0});
  }
  if (format == MemoryFormat::ChannelsLast3d) {
    UT_CHECK(sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format, got shape ", ShapeText{sizes});
    return strides_in_order(sizes, Dims{1, 4, 3, 2, 0});
  }
  return contiguous_strides(sizes);
}

Dims dense_strides_like(IntSpan sizes, IntSpan strides) {
  return is_non_overlapping_and_dense(sizes, strides) ? Dims(strides)
                                                      : strides_in_order(sizes, memory_order(sizes, strides));
}

Tensor empty_in_format(const Tensor& src, DType dtype, MemoryFormat format, Device device) {
  if (format != MemoryFormat::Preserve) {
    if (format == MemoryFormat::Contiguous) return core::empty(src.sizes(), dtype, device);
    return core::empty_strided(src.sizes(), format_strides(src.sizes(), format), dtype, device);
  }
  if (src.is_contiguous() && src.numel()) {
    // Strides of dimensions of size one are kept too, as in torch.
    return same(src.strides(), contiguous_strides(src.sizes()))
               ? core::empty(src.sizes(), dtype, device)
               : core::empty_strided(src.sizes(), src.strides(), dtype, device);
  }
  return core::empty_strided(src.sizes(), dense_strides_like(src.sizes(), src.strides()), dtype, device);
}

bool is_in_format(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return t.is_contiguous();
  int64_t want = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (t.dim() != want) return false;
  int64_t expected = 1;
  auto check_dim = [&](int64_t d) {
    bool ok = t.size(d) == 1 || t.stride(d) == expected;
    expected *= t.size(d);
    return ok;
  };
  if (!check_dim(1)) return false;
  for (int64_t d = want - 1; d >= 2; d--)
    if (!check_dim(d)) return false;
  return check_dim(0);
}

MemoryFormat suggested_format(IntSpan sizes, IntSpan strides) {
  size_t n = sizes.size();
  if ((n != 4 && n != 5) || sizes[1] == 0 || strides[1] == 0) return MemoryFormat::Contiguous;
  // Channels innermost, then the space from its last dimension, then the batch; a tensor that is also row-major counts
  // as row-major.
  int64_t least = 0;
  for (size_t i = 0; i < n; i++) {
    size_t d = i == 0 ? 1 : i + 1 == n ? 0 : n - i;
    if (sizes[d] == 0 || strides[d] < least) return MemoryFormat::Contiguous;
    if (d == 0 && least == strides[1]) return MemoryFormat::Contiguous;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return n == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

}  // namespace undertow::core::fwd
