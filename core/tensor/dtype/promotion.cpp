// promotion.cpp: see promotion.h.
#include "core/tensor/dtype/promotion.h"

#include <atomic>
#include <string_view>

namespace undertow::core {

namespace {
std::atomic<DType> default_float{DType::Float32};  // atomic: set rarely, read by every thread

[[noreturn, gnu::cold]] void throw_no_promotion(DType a, DType b) {
  UT_FAIL("Promotion for ", is_float8(a) || is_float8(b) ? "Float8 Types" : "uint16, uint32, uint64 types",
          " is not supported, attempted to promote ", long_name(a), " and ", long_name(b));
}

// Two dtypes of which one is a storage dtype. Unsigned integers and 8-bit floats meet no other dtype, except that an
// unsigned integer takes that of a float.
DType promote_storage(DType a, DType b) {
  if (is_float8(a) || is_float8(b)) throw_no_promotion(a, b);
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
    DType other = is_wide_unsigned(a) ? b : a;
    if (!is_floating(other)) throw_no_promotion(a, b);
    return other;
  }
  DType other = a == DType::Complex32 ? b : a;
  return is_integral(other) ? DType::Complex32 : to_complex(other);
}

int kind_of(DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; }
}  // namespace

void append_text(std::string& out, DType t) { out += name(t); }
void throw_not_implemented(const char* op, DType t) {
  if (op && is_complex(t)) {  // torch's own words for these
    std::string_view name = op;
    UT_CHECK_AS(NotImplemented, name != "floor" && name != "ceil" && name != "trunc", name,
                " is not supported for complex inputs: \"", name, "\" not implemented for '", long_name(t), "'");
    UT_CHECK_AS(NotImplemented, name != "sign",
                "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
    UT_CHECK_AS(NotImplemented, name != "signbit", "signbit is not implemented for complex tensors.");
  }
  if (op) UT_FAIL_AS(NotImplemented, "\"", op, "\" not implemented for '", long_name(t), "'");
  UT_FAIL_AS(NotImplemented, "not implemented for '", long_name(t), "'");
}
void append_text(std::string& out, const Scalar& s) {
  if (s.is_bool())
    out += s.to<bool>() ? "True" : "False";
  else if (s.kind() == Scalar::Kind::UInt)
    append_text(out, s.to<uint64_t>());
  else if (s.is_integral())
    append_text(out, s.to_int());
  else if (s.is_floating())
    append_text(out, s.to_double());
  else
    append_text(out, s.to_complex());
}

DType default_dtype() { return default_float.load(std::memory_order_relaxed); }
DType default_complex_dtype() { return to_complex(default_dtype()); }
void set_default_dtype(DType dtype) {
  UT_CHECK_TYPE(is_floating(dtype) && !is_storage(dtype),
                "only floating-point types are supported as the default type, got ", dtype);
  default_float.store(dtype, std::memory_order_relaxed);
}

DType scalar_dtype(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return DType::Bool;
    case Scalar::Kind::Int:
    case Scalar::Kind::UInt:
      return DType::Int64;
    case Scalar::Kind::Float:
      return default_dtype();
    default:
      return default_complex_dtype();
  }
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (UT_UNLIKELY(is_storage(a) || is_storage(b))) return promote_storage(a, b);
  if (a > b) std::swap(a, b);  // b is the later one, usually the wider
  if (is_complex(b)) {
    if (b == DType::Complex64 && a == DType::Float64) return DType::Complex128;
    return b;
  }
  if (is_floating(b)) {
    if (a == DType::Float16 && b == DType::BFloat16) return DType::Float32;
    return b;
  }
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int16;
  return b;
}

DType Promoter::result() const {
  // A number has the default dtype of its kind, even if it was wrapped in a tensor of full width.
  int number = number_;
  if (number != kNone && is_floating(static_cast<DType>(number))) number = static_cast<int>(default_dtype());
  if (number != kNone && is_complex(static_cast<DType>(number))) number = static_cast<int>(default_complex_dtype());
  if (dim_ == kNone && zero_ == kNone) {
    UT_ASSERT(number != kNone);
    return static_cast<DType>(number);
  }
  auto outranks = [](int low, int high) {
    return low != kNone && (high == kNone || kind_of(static_cast<DType>(low)) > kind_of(static_cast<DType>(high)));
  };
  // If the lower category is complex and the higher one floating, the result has the precision of the higher one: a
  // zero-dimensional float32 tensor with a complex number gives complex64, whatever the number's own width.
  auto lift = [](int high, int low) {
    DType l = static_cast<DType>(low);
    if (high == kNone) return low;
    DType h = static_cast<DType>(high);
    if (UT_UNLIKELY(h == DType::Bool && is_storage(l))) return static_cast<int>(promote_types(h, l));
    if (is_complex(l) && is_floating(h)) return static_cast<int>(to_complex(h));
    return low;
  };
  int zero = zero_;
  if (outranks(number, zero)) zero = zero == kNone && dim_ != kNone ? number : lift(zero, number);
  int dim = dim_;
  if (outranks(zero, dim)) dim = lift(dim, zero);
  return static_cast<DType>(dim);
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  if (from != DType::Bool && to == DType::Bool) return false;
  return true;
}

}  // namespace undertow::core
