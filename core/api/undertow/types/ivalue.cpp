// ivalue.cpp: see ivalue.h.
// build: small
#include <undertow/types/ivalue.h>

namespace undertow {

const char* IValue::kind() const {
  static const char* const kinds[] = {"None",     "a Tensor", "a float", "an int", "a bool", "a complex number",
                                      "a string", "a list",   "a tuple", "a dict"};
  return kinds[value_.index()];
}
void IValue::fail(const char* wanted) const { UT_FAIL_AS(Type, "expected ", wanted, ", but the value is ", kind()); }

Scalar IValue::toScalar() const {
  if (isInt()) return toInt();
  if (isBool()) return toBool();
  if (isComplexDouble()) return toComplexDouble();
  return get<double>("a number");
}

const IValue* IValue::find(std::string_view key) const {
  for (const auto& [k, v] : toGenericDict())
    if (k.isString() && k.toStringRef() == key) return &v;
  return nullptr;
}
const IValue& IValue::at(std::string_view key) const {
  const IValue* found = find(key);
  UT_CHECK_AS(Key, found, "the dict has no key '", key, "'");
  return *found;
}

}  // namespace undertow
