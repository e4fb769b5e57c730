// ivalue.h: a value of a few kinds: what a context keeps for backward (ctx->saved_data) and what a file contains.
#pragma once
#include <complex>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <undertow/tensor.h>

namespace undertow {

template <class T>
class List;  // boxed.h

// None, a tensor, a number, a string, or a list, tuple or dict of values. Copies of a list or dict share its elements,
// as in Python.
class IValue {
 public:
  using List = std::vector<IValue>;
  using Dict = std::vector<std::pair<IValue, IValue>>;  // in the order of insertion

  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(const Tensor& t) : value_(t) {}
  IValue(const core::Tensor& t) : value_(Tensor(t)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  IValue(T v) : value_(number(v)) {}
  IValue(std::complex<double> v) : value_(v) {}
  IValue(const Scalar& s) {
    if (s.isBoolean())
      value_ = s.toBool();
    else if (s.isFloatingPoint())
      value_ = s.toDouble();
    else if (s.isComplex())
      value_ = s.toComplexDouble();
    else
      value_ = s.toLong();
  }
  IValue(std::string text) : value_(std::move(text)) {}
  IValue(std::string_view text) : value_(std::string(text)) {}
  IValue(const char* text) : value_(std::string(text)) {}
  IValue(List list) : value_(std::make_shared<List>(std::move(list))) {}
  template <class T>
    requires(!std::is_same_v<T, IValue>)
  IValue(const std::vector<T>& list) : IValue(List(list.begin(), list.end())) {}
  template <class T>
  IValue(ArrayRef<T> list) : IValue(List(list.begin(), list.end())) {}
  template <class T>
  IValue(const optional<T>& v) {
    if (v) *this = IValue(*v);
  }
  static IValue tuple(List elements) { return IValue(Shared<Tuple>(new Tuple{std::move(elements)})); }
  static IValue dict(Dict items) { return IValue(Shared<DictBox>(new DictBox{std::move(items)})); }

  bool isNone() const { return is<std::monostate>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isDouble() const { return is<double>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isBool() const { return is<bool>(); }
  bool isComplexDouble() const { return is<std::complex<double>>(); }
  bool isScalar() const { return isDouble() || isInt() || isBool() || isComplexDouble(); }
  bool isString() const { return is<std::string>(); }
  bool isList() const { return is<Shared<List>>(); }
  bool isTuple() const { return is<Shared<Tuple>>(); }
  bool isGenericDict() const { return is<Shared<DictBox>>(); }

  // Each raises if the value is of another kind; the error names both. An int is accepted as a double.
  const Tensor& toTensor() const { return get<Tensor>("a Tensor"); }
  double toDouble() const { return isInt() ? static_cast<double>(toInt()) : get<double>("a float"); }
  int64_t toInt() const { return get<int64_t>("an int"); }
  bool toBool() const { return get<bool>("a bool"); }
  std::complex<double> toComplexDouble() const { return get<std::complex<double>>("a complex number"); }
  Scalar toScalar() const;
  const std::string& toStringRef() const { return get<std::string>("a string"); }
  std::string_view toStringView() const { return toStringRef(); }
  List& toListRef() const { return *get<Shared<List>>("a list"); }
  const List& toTupleRef() const { return get<Shared<Tuple>>("a tuple")->elements; }
  Dict& toGenericDict() const { return get<Shared<DictBox>>("a dict")->items; }
  std::vector<int64_t> toIntVector() const { return vector<int64_t>(&IValue::toInt); }
  undertow::List<int64_t> toIntList() const;  // this and the next two: boxed.h
  undertow::List<double> toDoubleList() const;
  undertow::List<Tensor> toTensorList() const;
  std::vector<double> toDoubleVector() const { return vector<double>(&IValue::toDouble); }
  variable_list toTensorVector() const {
    variable_list out;
    for (const IValue& v : toListRef()) out.push_back(v.toTensor());
    return out;
  }
  template <class T>
  optional<T> toOptional() const {
    return isNone() ? optional<T>() : optional<T>(to<T>());
  }
  template <class T>
  T to() const;

  // The value of a key of a dict: `find` returns null if there is none, `at` raises.
  const IValue* find(std::string_view key) const;
  const IValue& at(std::string_view key) const;
  const char* kind() const;  // "a dict", for messages

 private:
  template <class T>
  using Shared = std::shared_ptr<T>;
  struct Tuple {
    List elements;
  };
  struct DictBox {
    Dict items;
  };
  explicit IValue(Shared<Tuple> t) : value_(std::move(t)) {}
  explicit IValue(Shared<DictBox> d) : value_(std::move(d)) {}
  template <class T>
  static auto number(T v) {
    if constexpr (std::is_same_v<T, bool>)
      return v;
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(v);
    else
      return static_cast<int64_t>(v);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(const char* wanted) const {
    if (const T* v = std::get_if<T>(&value_)) return *v;
    fail(wanted);
  }
  [[noreturn]] void fail(const char* wanted) const;
  template <class T>
  std::vector<T> vector(T (IValue::*convert)() const) const {
    std::vector<T> out;
    for (const IValue& v : toListRef()) out.push_back((v.*convert)());
    return out;
  }

  std::variant<std::monostate, Tensor, double, int64_t, bool, std::complex<double>, std::string, Shared<List>,
               Shared<Tuple>, Shared<DictBox>>
      value_;
};

template <class T>
T IValue::to() const {
  if constexpr (std::is_same_v<T, Tensor>)
    return toTensor();
  else if constexpr (std::is_same_v<T, bool>)
    return toBool();
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(toDouble());
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(toInt());
  else if constexpr (std::is_same_v<T, std::string>)
    return toStringRef();
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return toIntVector();
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return toDoubleVector();
  else if constexpr (std::is_same_v<T, variable_list>)
    return toTensorVector();
  else
    return toScalar();
}

}  // namespace undertow
