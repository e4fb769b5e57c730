// boxed.h: between C++ types and IValue, for the arguments and results of operators; and the typed containers List and
// Dict that operators take. Knows nothing about operators or Python.
#pragma once
#include <undertow/tensor.h>
#include <undertow/types/ivalue.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace undertow {

// A list that copies share, as in libtorch.
template <class T>
class List {
 public:
  using value_type = T;
  List() : items_(std::make_shared<std::vector<T>>()) {}
  List(std::initializer_list<T> items) : items_(std::make_shared<std::vector<T>>(items)) {}
  explicit List(ArrayRef<T> items) : items_(std::make_shared<std::vector<T>>(items.begin(), items.end())) {}
  explicit List(std::vector<T> items) : items_(std::make_shared<std::vector<T>>(std::move(items))) {}

  size_t size() const { return items_->size(); }
  bool empty() const { return items_->empty(); }
  T get(size_t i) const { return items_->at(i); }
  void set(size_t i, T value) const { items_->at(i) = std::move(value); }
  typename std::vector<T>::reference operator[](size_t i) const { return (*items_)[i]; }
  auto begin() const { return items_->begin(); }
  auto end() const { return items_->end(); }
  void push_back(T value) const { items_->push_back(std::move(value)); }
  template <class... A>
  void emplace_back(A&&... a) const {
    items_->emplace_back(std::forward<A>(a)...);
  }
  void reserve(size_t n) const { items_->reserve(n); }
  void resize(size_t n) const { items_->resize(n); }
  void clear() const { items_->clear(); }
  std::vector<T> vec() const { return *items_; }
  List copy() const { return List(*items_); }

 private:
  std::shared_ptr<std::vector<T>> items_;
};

// A dictionary in the order of insertion, that copies share. Finding a key compares it with the others: these are
// small.
template <class K, class V>
class Dict {
 public:
  struct Entry : std::pair<K, V> {
    using std::pair<K, V>::pair;
    const K& key() const { return this->first; }
    const V& value() const { return this->second; }
    void setValue(V value) { this->second = std::move(value); }
  };
  Dict() : entries_(std::make_shared<std::vector<Entry>>()) {}

  size_t size() const { return entries_->size(); }
  bool empty() const { return entries_->empty(); }
  auto begin() const { return entries_->begin(); }
  auto end() const { return entries_->end(); }
  auto find(const K& key) const {
    auto it = begin();
    while (it != end() && !(it->first == key)) ++it;
    return it;
  }
  bool contains(const K& key) const { return find(key) != end(); }
  V& at(const K& key) const {
    auto it = find(key);
    UT_CHECK_AS(Key, it != end(), "Dict: the key does not exist");
    return it->second;
  }
  std::pair<decltype(std::declval<std::vector<Entry>>().begin()), bool> insert(K key, V value) const {
    if (auto it = find(key); it != end()) return {it, false};
    entries_->push_back(Entry(std::move(key), std::move(value)));
    return {end() - 1, true};
  }
  void insert_or_assign(K key, V value) const {
    if (auto [it, fresh] = insert(key, value); !fresh) it->second = std::move(value);
  }
  size_t erase(const K& key) const {
    auto it = find(key);
    if (it == end()) return 0;
    entries_->erase(it);
    return 1;
  }
  void clear() const { entries_->clear(); }
  void reserve(size_t n) const { entries_->reserve(n); }

 private:
  std::shared_ptr<std::vector<Entry>> entries_;
};

// How a type is converted: schema() is its name in a schema, to() makes an IValue of it, and from() reads one. A number
// is converted where nothing is lost, and a tensor with one element is a number.
template <class T>
struct IValueOf;
template <class T>
IValue boxed(const T& value) {
  return IValueOf<T>::to(value);
}
template <class T>
T unboxed(const IValue& value) {
  return IValueOf<T>::from(value);
}

namespace detail {
[[noreturn]] void wrong_kind(const char* wanted, const IValue& v);
Scalar number_in(const IValue& v, const char* wanted);
int64_t integer_in(const IValue& v, const char* wanted);
double float_in(const IValue& v);
Device device_in(const IValue& v);
ScalarType dtype_in(const IValue& v);
const std::vector<IValue>& elements_of(const IValue& v);  // of a list or a tuple
}  // namespace detail

#define UT_IVALUE_OF(T, SCHEMA, TO, FROM)           \
  template <>                                       \
  struct IValueOf<T> {                              \
    static std::string schema() { return SCHEMA; }  \
    static IValue to(const T& x) { return TO; }     \
    static T from(const IValue& v) { return FROM; } \
  }
UT_IVALUE_OF(Tensor, "Tensor", x,
             v.isNone()     ? Tensor()
             : v.isTensor() ? v.toTensor()
                            : (detail::wrong_kind("a Tensor", v), Tensor()));
UT_IVALUE_OF(core::Tensor, "Tensor", Tensor(x), IValueOf<Tensor>::from(v));
UT_IVALUE_OF(double, "float", x, detail::float_in(v));
UT_IVALUE_OF(float, "float", x, static_cast<float>(detail::float_in(v)));
UT_IVALUE_OF(int64_t, "int", x, detail::integer_in(v, "an int"));
UT_IVALUE_OF(long long, "int", x, detail::integer_in(v, "an int"));
UT_IVALUE_OF(int, "int", x, static_cast<int>(detail::integer_in(v, "an int")));
UT_IVALUE_OF(bool, "bool", x, detail::integer_in(v, "a bool") != 0);
UT_IVALUE_OF(std::string, "str", x, v.toStringRef());
UT_IVALUE_OF(std::string_view, "str", x, v.toStringView());
UT_IVALUE_OF(std::complex<double>, "complex", x, detail::number_in(v, "a complex number").toComplexDouble());
UT_IVALUE_OF(Scalar, "Scalar", x, detail::number_in(v, "a number"));
UT_IVALUE_OF(ScalarType, "ScalarType", static_cast<int64_t>(core::DType(x)), detail::dtype_in(v));
UT_IVALUE_OF(Device, "Device", x.str(), detail::device_in(v));
UT_IVALUE_OF(Layout, "Layout", static_cast<int64_t>(x), static_cast<Layout>(v.toInt()));
UT_IVALUE_OF(MemoryFormat, "MemoryFormat", static_cast<int64_t>(x), static_cast<MemoryFormat>(v.toInt()));
UT_IVALUE_OF(IValue, "Any", x, v);
#undef UT_IVALUE_OF

template <class T>
struct IValueOf<optional<T>> {
  static std::string schema() { return IValueOf<T>::schema() + "?"; }
  static IValue to(const optional<T>& x) { return x ? boxed(*x) : IValue(); }
  static optional<T> from(const IValue& v) {
    if (v.isNone()) return nullopt;
    return unboxed<T>(v);
  }
};
template <class T>
struct IValueOf<std::vector<T>> {
  static std::string schema() { return IValueOf<T>::schema() + "[]"; }
  static IValue to(const std::vector<T>& x) {
    std::vector<IValue> items;
    items.reserve(x.size());
    for (const auto& element : x) items.push_back(boxed<T>(element));
    return IValue(std::move(items));
  }
  static std::vector<T> from(const IValue& v) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>)  // one number stands for a list of one
      if (v.isScalar()) return {unboxed<T>(v)};
    std::vector<T> out;
    for (const IValue& element : detail::elements_of(v)) out.push_back(unboxed<T>(element));
    return out;
  }
};
template <class T>
struct IValueOf<ArrayRef<T>> {  // cannot be read back: it owns nothing
  static std::string schema() { return IValueOf<T>::schema() + "[]"; }
  static IValue to(ArrayRef<T> x) { return boxed(x.vec()); }
};
template <>
struct IValueOf<OptionalIntArrayRef> {
  static std::string schema() { return "int[]?"; }
  static IValue to(const OptionalIntArrayRef& x) { return x ? boxed(*x) : IValue(); }
};
template <class T, size_t N>
struct IValueOf<std::array<T, N>> {
  static std::string schema() { return IValueOf<T>::schema() + "[" + std::to_string(N) + "]"; }
  static IValue to(const std::array<T, N>& x) { return boxed(std::vector<T>(x.begin(), x.end())); }
  static std::array<T, N> from(const IValue& v) {
    const std::vector<T> list = unboxed<std::vector<T>>(v);
    UT_CHECK_TYPE(list.size() == N, "expected a list of ", N, " elements but got ", list.size());
    std::array<T, N> out;
    std::copy(list.begin(), list.end(), out.begin());
    return out;
  }
};
template <class T>
struct IValueOf<List<T>> {
  static std::string schema() { return IValueOf<T>::schema() + "[]"; }
  static IValue to(const List<T>& x) { return boxed(x.vec()); }
  static List<T> from(const IValue& v) { return List<T>(unboxed<std::vector<T>>(v)); }
};
template <class K, class V>
struct IValueOf<Dict<K, V>> {
  static std::string schema() { return "Dict(" + IValueOf<K>::schema() + ", " + IValueOf<V>::schema() + ")"; }
  static IValue to(const Dict<K, V>& x) {
    std::vector<std::pair<IValue, IValue>> entries;
    for (const auto& e : x) entries.emplace_back(boxed(e.first), boxed(e.second));
    return IValue::dict(std::move(entries));
  }
  static Dict<K, V> from(const IValue& v) {
    Dict<K, V> out;
    for (const auto& [key, value] : v.toGenericDict()) out.insert(unboxed<K>(key), unboxed<V>(value));
    return out;
  }
};
template <class... T>
struct IValueOf<std::tuple<T...>> {
  static std::string schema() {
    std::string out;
    ((out += (out.empty() ? "" : ", ") + IValueOf<T>::schema()), ...);
    return "(" + out + ")";
  }
  static IValue to(const std::tuple<T...>& x) {
    return std::apply([](const T&... part) { return IValue::tuple({boxed(part)...}); }, x);
  }
  static std::tuple<T...> from(const IValue& v) {
    const std::vector<IValue>& parts = detail::elements_of(v);
    UT_CHECK_TYPE(parts.size() == sizeof...(T), "expected a tuple of ", sizeof...(T), " values but got ", parts.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>(unboxed<T>(parts[I])...);
    }(std::index_sequence_for<T...>{});
  }
};

inline List<int64_t> IValue::toIntList() const { return undertow::List<int64_t>(toIntVector()); }
inline List<double> IValue::toDoubleList() const { return undertow::List<double>(toDoubleVector()); }
inline List<Tensor> IValue::toTensorList() const { return undertow::List<Tensor>(toTensorVector()); }

}  // namespace undertow
