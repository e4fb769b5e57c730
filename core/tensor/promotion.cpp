// promotion.cpp: see promotion.h.
#include "core/tensor/promotion.h"

#include <atomic>

namespace undertow {

namespace {
std::atomic<DType> default_float{DType::Float32};  // atomic: set rarely, read by every thread

int kind_of(DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; }
}  // namespace

void append_text(std::string& out, DType t) { out += name(t); }
void append_text(std::string& out, const Scalar& s) {
  if (s.is_bool())
    out += s.to<bool>() ? "True" : "False";
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
  UT_CHECK_TYPE(is_floating(dtype), "only floating-point types are supported as the default type, got ", dtype);
  default_float.store(dtype, std::memory_order_relaxed);
}

DType scalar_dtype(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return DType::Bool;
    case Scalar::Kind::Int:
      return DType::Int64;
    case Scalar::Kind::Float:
      return default_dtype();
    default:
      return default_complex_dtype();
  }
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
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

}  // namespace undertow
