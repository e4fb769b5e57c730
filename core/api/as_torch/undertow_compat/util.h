// util.h: small parts of c10 that extensions use: irange, optional, accumulate, types for sums, device guards.
#pragma once
#include <undertow_compat/errors.h>

#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/small_vector.h"

namespace undertow {

using std::in_place;
using std::in_place_t;
using std::make_optional;
using std::string_view;
using SymInt = int64_t;
using SymIntArrayRef = IntArrayRef;
using IntList = IntArrayRef;  // the old name
template <class T, unsigned N>
using SmallVector = core::SmallVector<T, N>;
using DimVector = core::Dims;
using TensorImpl = core::TensorImpl;

// A dtype of a tensor and a ScalarType are the same here.
inline ScalarType typeMetaToScalarType(ScalarType t) { return t; }
inline optional<ScalarType> optTypeMetaToScalarType(optional<ScalarType> t) { return t; }
inline ScalarType scalarTypeToTypeMeta(ScalarType t) { return t; }

// The integers from `begin` (0) to `end`, for a range-based loop.
template <class T>
class IntegerRange {
 public:
  struct Iterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    T value;
    T operator*() const { return value; }
    Iterator& operator++() { return ++value, *this; }
    Iterator operator++(int) { return {value++}; }
    bool operator==(const Iterator&) const = default;
  };
  IntegerRange(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  Iterator begin() const { return {begin_}; }
  Iterator end() const { return {end_}; }

 private:
  T begin_, end_;
};
template <class T>
  requires std::is_integral_v<T>
IntegerRange<T> irange(T end) {
  return {T(0), end};
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
IntegerRange<B> irange(A begin, B end) {
  return {static_cast<B>(begin), end};
}

template <class C>
int64_t sum_integers(const C& list) {
  return std::accumulate(list.begin(), list.end(), int64_t(0));
}
template <class C>
int64_t multiply_integers(const C& list) {
  return std::accumulate(list.begin(), list.end(), int64_t(1), std::multiplies<>());
}
template <class A, class B>
auto divup(A a, B b) {
  return (a + b - 1) / b;
}

// The types that sums are computed in: as in torch on the CPU.
template <class T>
using opmath_type = core::OpMath<T>;
inline ScalarType toOpMathType(ScalarType t) {
  return t == kHalf || t == kBFloat16 ? kFloat : t == kComplexHalf ? kComplexFloat : t;
}
template <class T, bool is_cuda>
using acc_type = std::conditional_t<
    core::kIsHalf<T>, float,
    std::conditional_t<std::is_same_v<T, float>, double, std::conditional_t<std::is_integral_v<T>, int64_t, T>>>;

// The elements as text, with `separator` between them.
template <class C>
std::string Join(const std::string& separator, const C& list) {
  std::string out;
  for (const auto& element : list) out += (&element == &*std::begin(list) ? "" : separator) + str(element);
  return out;
}

template <class T>
ArrayRef<T> makeArrayRef(const std::vector<T>& v) {
  return v;
}

// Operators run on the device of their tensors, so there is nothing to switch. A guard for a GPU other than the first
// would promise more than it does.
class DeviceGuard {
 public:
  explicit DeviceGuard(const Device& device) {
    UT_CHECK_AS(NotImplemented, device.index() <= 0, "DeviceGuard: cannot make ", device.str(), " the current device");
  }
};
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(const std::optional<Device>& device) {
    if (device) DeviceGuard guard(*device);
  }
};
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<Device>(t.device()) : std::nullopt;
}

namespace detail {
inline Generator getDefaultCPUGenerator() { return default_generator(); }
template <class T>
Tensor exact_tensor(ArrayRef<T> numbers, const TensorOptions& options) {
  return ::undertow::tensor(numbers, options.has_dtype() ? options : options.dtype(CppTypeToScalarType<T>::value));
}
}  // namespace detail
}  // namespace undertow

// at::tensor keeps the C++ type of the numbers, and gives one number a dimension; torch::tensor does neither.
namespace at {
template <class T>
Tensor tensor(ArrayRef<T> numbers, const TensorOptions& options = {}) {
  return undertow::detail::exact_tensor(numbers, options);
}
template <class T>
Tensor tensor(const std::vector<T>& numbers, const TensorOptions& options = {}) {
  return undertow::detail::exact_tensor(ArrayRef<T>(numbers), options);
}
template <class T>
Tensor tensor(std::initializer_list<T> numbers, const TensorOptions& options = {}) {
  return undertow::detail::exact_tensor(ArrayRef<T>(numbers), options);
}
template <class T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
Tensor tensor(T number, const TensorOptions& options = {}) {
  return undertow::detail::exact_tensor(ArrayRef<T>(number), options);
}
}  // namespace at
namespace caffe2 {
using TypeMeta = undertow::ScalarType;
}
namespace undertow {

namespace guts {
using std::conjunction;
using std::disjunction;
using std::negation;
}  // namespace guts

}  // namespace undertow

// Found by argument-dependent lookup, as torch's is: callers do not name a namespace.
namespace undertow::core {
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  std::string text = name(type);
  for (char& c : text)
    if (!lower_case && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}
}  // namespace undertow::core
namespace undertow {
using core::DeviceTypeName;
}  // namespace undertow
