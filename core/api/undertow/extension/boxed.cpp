// boxed.cpp: see boxed.h.
// build: small
#include <undertow/extension/boxed.h>

namespace undertow::detail {

void wrong_kind(const char* wanted, const IValue& v) { UT_FAIL_AS(Type, "expected ", wanted, " but got ", v.kind()); }

Scalar number_in(const IValue& v, const char* wanted) {
  if (v.isTensor() && v.toTensor().defined() && v.toTensor().numel() == 1) return core::ops::item(v.toTensor());
  if (!v.isScalar()) wrong_kind(wanted, v);
  return v.toScalar();
}
int64_t integer_in(const IValue& v, const char* wanted) {
  const Scalar s = number_in(v, wanted);
  if (!s.is_integral()) wrong_kind(wanted, v);
  return s.to_int();
}
double float_in(const IValue& v) {
  const Scalar s = number_in(v, "a float");
  if (s.is_complex()) wrong_kind("a float", v);
  return s.to_double();
}
Device device_in(const IValue& v) {
  if (!v.isString()) wrong_kind("a Device", v);
  return Device(v.toStringRef());
}
ScalarType dtype_in(const IValue& v) {
  if (!v.isInt()) wrong_kind("a ScalarType", v);
  UT_CHECK_VALUE(v.toInt() >= 0 && v.toInt() < core::kNumDTypes, "no ScalarType has the number ", v.toInt());
  return static_cast<core::DType>(v.toInt());
}
const std::vector<IValue>& elements_of(const IValue& v) {
  if (v.isTuple()) return v.toTupleRef();
  if (!v.isList()) wrong_kind("a list", v);
  return v.toListRef();
}

}  // namespace undertow::detail
