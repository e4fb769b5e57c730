// create.cpp: forward functions of ops/create.toml that fill with one value or nothing. Sequences are in ranges.cpp.
#include "core/forward/create/create.h"

#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_create.h"

namespace undertow::fwd {

namespace {

Tensor allocate(IntSpan size, DType dtype, std::optional<MemoryFormat> format) {
  if (!format || *format == MemoryFormat::Contiguous) return undertow::empty(size, dtype);
  UT_CHECK(*format != MemoryFormat::Preserve, "unsupported memory format option Preserve");
  return undertow::empty_strided(size, format_strides(size, *format), dtype);
}

Tensor filled(Tensor t, const Scalar& value) {
  fill_into(t, value);
  return t;
}

void check_strides(IntSpan size, IntSpan stride) {
  UT_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride)
    UT_CHECK(s >= 0, "Storage size calculation overflowed with sizes=", ShapeText{size},
             " and strides=", ShapeText{stride});
}

}  // namespace

Tensor allocate_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) return allocate(self.sizes(), dtype, format);
  if (self.is_contiguous()) return undertow::empty(self.sizes(), dtype);
  return undertow::empty_strided(self.sizes(), dense_strides_like(self.sizes(), self.strides()), dtype);
}

Tensor empty(IntSpan size, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return allocate(size, dtype.value_or(default_dtype()), format);
}
Tensor empty_strided(IntSpan size, IntSpan stride, std::optional<DType> dtype) {
  check_strides(size, stride);
  return undertow::empty_strided(size, stride, dtype.value_or(default_dtype()));
}
Tensor zeros(IntSpan size, std::optional<DType> dtype) {
  for (int64_t s : size) UT_CHECK(s >= 0, "zeros: Dimension size must be non-negative. Got ", ShapeText{size});
  return zeros(size, dtype.value_or(default_dtype()));
}
Tensor ones(IntSpan size, std::optional<DType> dtype) { return full(size, Scalar(1), dtype.value_or(default_dtype())); }
Tensor full(IntSpan size, const Scalar& value, std::optional<DType> dtype) {
  return filled(undertow::empty(size, dtype.value_or(scalar_dtype(value))), value);
}
Tensor scalar_tensor(const Scalar& s, std::optional<DType> dtype) {
  return filled(undertow::empty({}, dtype.value_or(default_dtype())), s);
}

Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return allocate_like(self, dtype.value_or(self.dtype()), format);
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), Scalar(0));
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), Scalar(1));
}
Tensor full_like(const Tensor& self, const Scalar& value, std::optional<DType> dtype,
                 std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), value);
}

Tensor new_empty(const Tensor& self, IntSpan size, std::optional<DType> dtype) {
  return undertow::empty(size, dtype.value_or(self.dtype()));
}
Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<DType> dtype) {
  return empty_strided(size, stride, std::optional<DType>(dtype.value_or(self.dtype())));
}
Tensor new_zeros(const Tensor& self, IntSpan size, std::optional<DType> dtype) {
  return zeros(size, dtype.value_or(self.dtype()));
}
Tensor new_ones(const Tensor& self, IntSpan size, std::optional<DType> dtype) {
  return full(size, Scalar(1), dtype.value_or(self.dtype()));
}
Tensor new_full(const Tensor& self, IntSpan size, const Scalar& value, std::optional<DType> dtype) {
  return filled(undertow::empty(size, dtype.value_or(self.dtype())), value);
}

Tensor eye(int64_t n, std::optional<DType> dtype) { return eye(n, n, dtype); }
Tensor eye(int64_t n, int64_t m, std::optional<DType> dtype) {
  UT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  UT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  Tensor out = zeros(Dims{n, m}, dtype.value_or(default_dtype()));
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < std::min(n, m); i++) out.data_as<T>()[i * m + i] = T(1);
  });
  return out;
}

}  // namespace undertow::fwd
