// create.cpp: forward functions of ops/create.toml that fill with one value or leave memory uninitialized. Sequences
// are in ranges.cpp.
#include "core/forward/create/create.h"

#include "core/forward/copy/copy.h"
#include "core/forward/create/uninitialized.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_create.h"

namespace undertow::core::fwd {

namespace {

Tensor allocate(IntSpan size, DType dtype, std::optional<MemoryFormat> format, Device device) {
  if (!format || *format == MemoryFormat::Contiguous) return core::empty(size, dtype, device);
  UT_CHECK(*format != MemoryFormat::Preserve, "unsupported memory format option Preserve");
  return core::empty_strided(size, format_strides(size, *format), dtype, device);
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

Tensor allocate_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format, Device device) {
  if (format && *format != MemoryFormat::Preserve) return allocate(self.sizes(), dtype, format, device);
  return empty_in_format(self, dtype, MemoryFormat::Preserve, device);
}

Tensor empty(IntSpan size, std::optional<DType> dtype, std::optional<MemoryFormat> format,
             std::optional<Device> device) {
  return unset(allocate(size, dtype.value_or(default_dtype()), format, device.value_or(kCpu)));
}
Tensor empty_strided(IntSpan size, IntSpan stride, std::optional<DType> dtype, std::optional<Device> device) {
  check_strides(size, stride);
  return unset(core::empty_strided(size, stride, dtype.value_or(default_dtype()), device.value_or(kCpu)));
}
Tensor zeros(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  for (int64_t s : size) UT_CHECK(s >= 0, "zeros: Dimension size must be non-negative. Got ", ShapeText{size});
  return zeros(size, dtype.value_or(default_dtype()), device.value_or(kCpu));
}
Tensor ones(IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return full(size, Scalar(1), dtype.value_or(default_dtype()), device.value_or(kCpu));
}
Tensor full(IntSpan size, const Scalar& value, std::optional<DType> dtype, std::optional<Device> device) {
  return full(size, value, dtype.value_or(scalar_dtype(value)), device.value_or(kCpu));
}
Tensor scalar_tensor(const Scalar& s, std::optional<DType> dtype, std::optional<Device> device) {
  return full({}, s, dtype.value_or(default_dtype()), device.value_or(kCpu));
}

Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format,
                  std::optional<Device> device) {
  return unset(allocate_like(self, dtype.value_or(self.dtype()), format, device.value_or(self.device())));
}
Tensor full_like(const Tensor& self, const Scalar& value, std::optional<DType> dtype,
                 std::optional<MemoryFormat> format, std::optional<Device> device) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format, device.value_or(self.device())), value);
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format,
                  std::optional<Device> device) {
  return full_like(self, Scalar(0), dtype, format, device);
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format,
                 std::optional<Device> device) {
  return full_like(self, Scalar(1), dtype, format, device);
}

Tensor new_empty(const Tensor& self, IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return unset(core::empty(size, dtype.value_or(self.dtype()), device.value_or(self.device())));
}
Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<DType> dtype,
                         std::optional<Device> device) {
  check_strides(size, stride);
  return unset(core::empty_strided(size, stride, dtype.value_or(self.dtype()), device.value_or(self.device())));
}
Tensor new_zeros(const Tensor& self, IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return zeros(size, dtype.value_or(self.dtype()), device.value_or(self.device()));
}
Tensor new_ones(const Tensor& self, IntSpan size, std::optional<DType> dtype, std::optional<Device> device) {
  return new_full(self, size, Scalar(1), dtype, device);
}
Tensor new_full(const Tensor& self, IntSpan size, const Scalar& value, std::optional<DType> dtype,
                std::optional<Device> device) {
  return full(size, value, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor eye(int64_t n, std::optional<DType> dtype, std::optional<Device> device) { return eye(n, n, dtype, device); }
Tensor eye(int64_t n, int64_t m, std::optional<DType> dtype, std::optional<Device> device) {
  UT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  UT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  if (dtype && is_storage(*dtype) && !is_float8(*dtype)) throw_not_implemented("eye", *dtype);
  Tensor out = zeros(Dims{n, m}, dtype.value_or(default_dtype()), device.value_or(kCpu));
  int64_t k = std::min(n, m);
  fill_into(alias(out, Dims{k}, Dims{m + 1}, 0, out.dtype()), Scalar(1));
  return out;
}

}  // namespace undertow::core::fwd
