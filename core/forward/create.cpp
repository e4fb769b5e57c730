// create.cpp: forward functions of ops/create.toml that fill with one value or nothing. Sequences are in create_ranges.cpp.
#include "core/forward/create.h"

#include <cmath>
#include <limits>

#include "core/forward/copy.h"
#include "core/tensor/layout.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_create.h"

namespace undertow::fwd {

Dims dense_strides_like(IntSpan sizes, IntSpan strides) {
  if (is_non_overlapping_and_dense(sizes, strides)) return Dims(strides);
  size_t n = sizes.size();
  Dims order(n), out(n);
  for (size_t i = 0; i < n; i++) order[i] = static_cast<int64_t>(n - 1 - i);
  // A stable insertion sort by stride in which a stride of zero compares with nothing, so that an expanded dimension
  // stays where it stands; the same rule as ElementwiseIter's.
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
      if (c == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  int64_t stride = 1;
  for (int64_t d : order) {
    out[static_cast<size_t>(d)] = stride;
    stride *= std::max<int64_t>(sizes[static_cast<size_t>(d)], 1);
  }
  return out;
}

namespace {

Dims channels_last_strides(IntSpan sizes, MemoryFormat format) {
  size_t want = format == MemoryFormat::ChannelsLast ? 4 : 5;
  UT_CHECK(sizes.size() == want, "required rank ", want, " tensor to use channels_last", want == 5 ? "_3d" : "", " format, got shape ", ShapeText{sizes});
  Dims out(want);
  int64_t stride = 1;
  auto take = [&](size_t d) {
    out[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  };
  take(1);
  for (size_t d = want - 1; d >= 2; d--) take(d);
  take(0);
  return out;
}

Tensor allocate(IntSpan size, DType dtype, std::optional<MemoryFormat> format) {
  if (!format || *format == MemoryFormat::Contiguous) return undertow::empty(size, dtype);
  UT_CHECK(*format != MemoryFormat::Preserve, "unsupported memory format option Preserve");
  return undertow::empty_strided(size, channels_last_strides(size, *format), dtype);
}

Tensor filled(Tensor t, const Scalar& value) {
  check_fits(value, t.dtype());
  fill_into(t, value);
  return t;
}

void check_strides(IntSpan size, IntSpan stride) {
  UT_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(), ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride) UT_CHECK(s >= 0, "Storage size calculation overflowed with sizes=", ShapeText{size}, " and strides=", ShapeText{stride});
}

template <class T>
bool holds(const Scalar& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (kIsComplex<T>) {
    std::complex<double> z = value.to_complex();
    return holds<typename T::value_type>(Scalar(z.real())) && holds<typename T::value_type>(Scalar(z.imag()));
  } else {
    if (value.is_complex()) return value.to_complex().imag() == 0 && holds<T>(Scalar(value.to_complex().real()));
    if constexpr (std::is_integral_v<T>) {
      if (value.is_integral()) {
        int64_t v = value.to_int();
        // A negative number may wrap round in an unsigned type.
        if (std::is_unsigned_v<T> && v < 0) return -v <= static_cast<int64_t>(std::numeric_limits<T>::max());
        return static_cast<int64_t>(static_cast<T>(v)) == v;
      }
      double d = value.to_double();
      return d >= static_cast<double>(std::numeric_limits<T>::lowest()) && d <= static_cast<double>(std::numeric_limits<T>::max());
    } else {
      double d = value.to_double();
      if (!std::isfinite(d) || std::is_same_v<T, double>) return true;
      double most = std::is_same_v<T, Half> ? 65504.0 : std::is_same_v<T, BFloat16> ? 0x1.fep127 : static_cast<double>(std::numeric_limits<float>::max());
      return std::fabs(d) <= most;
    }
  }
}

}  // namespace

const char* cpp_name(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "bool";
    case DType::UInt8: return "uint8_t";
    case DType::Int8: return "int8_t";
    case DType::Int16: return "int16_t";
    case DType::Int32: return "int";
    case DType::Int64: return "int64_t";
    case DType::Float16: return "at::Half";
    case DType::BFloat16: return "at::BFloat16";
    case DType::Float32: return "float";
    case DType::Float64: return "double";
    case DType::Complex64: return "c10::complex<float>";
    case DType::Complex128: return "c10::complex<double>";
  }
  return "?";
}

const char* meta_name(DType dtype) {
  switch (dtype) {
    case DType::UInt8: return "unsigned char";
    case DType::Int8: return "signed char";
    case DType::Int16: return "short int";
    case DType::Int64: return "long int";
    case DType::Float16: return "c10::Half";
    case DType::BFloat16: return "c10::BFloat16";
    default: return cpp_name(dtype);
  }
}

void check_fits(const Scalar& value, DType dtype) {
  bool ok = dispatch(dtype, [&](auto tag) { return holds<typename decltype(tag)::type>(value); });
  UT_CHECK(ok, "value cannot be converted to type ", cpp_name(dtype), " without overflow: ", value);
}

Tensor allocate_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) return allocate(self.sizes(), dtype, format);
  if (self.is_contiguous()) return undertow::empty(self.sizes(), dtype);
  return undertow::empty_strided(self.sizes(), dense_strides_like(self.sizes(), self.strides()), dtype);
}

Tensor empty(IntSpan size, std::optional<DType> dtype, std::optional<MemoryFormat> format) { return allocate(size, dtype.value_or(default_dtype()), format); }
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
Tensor scalar_tensor(const Scalar& s, std::optional<DType> dtype) { return filled(undertow::empty({}, dtype.value_or(default_dtype())), s); }

Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return allocate_like(self, dtype.value_or(self.dtype()), format);
}
Tensor zeros_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), Scalar(0));
}
Tensor ones_like(const Tensor& self, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), Scalar(1));
}
Tensor full_like(const Tensor& self, const Scalar& value, std::optional<DType> dtype, std::optional<MemoryFormat> format) {
  return filled(allocate_like(self, dtype.value_or(self.dtype()), format), value);
}

Tensor new_empty(const Tensor& self, IntSpan size, std::optional<DType> dtype) { return undertow::empty(size, dtype.value_or(self.dtype())); }
Tensor new_empty_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<DType> dtype) {
  return empty_strided(size, stride, std::optional<DType>(dtype.value_or(self.dtype())));
}
Tensor new_zeros(const Tensor& self, IntSpan size, std::optional<DType> dtype) { return zeros(size, dtype.value_or(self.dtype())); }
Tensor new_ones(const Tensor& self, IntSpan size, std::optional<DType> dtype) { return full(size, Scalar(1), dtype.value_or(self.dtype())); }
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
