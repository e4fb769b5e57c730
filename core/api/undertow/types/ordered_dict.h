// ordered_dict.h: a dictionary that iterates in the order of insertion, as Python's dict does. Parameters, buffers and
// submodules are stored in it.
#pragma once
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <undertow/nn/errors.h>

namespace undertow {

template <typename Key, typename Value>
class OrderedDictItem {
 public:
  OrderedDictItem(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
  const Key& key() const noexcept { return pair_.first; }
  Value& value() noexcept { return pair_.second; }
  const Value& value() const noexcept { return pair_.second; }
  Value& operator*() { return value(); }
  const Value& operator*() const { return value(); }
  Value* operator->() { return &value(); }
  const Value* operator->() const { return &value(); }
  const std::pair<Key, Value>& pair() const noexcept { return pair_; }
  template <std::size_t I>
  auto& get() & {
    if constexpr (I == 0)
      return key();
    else
      return value();
  }
  template <std::size_t I>
  const auto& get() const& {
    if constexpr (I == 0)
      return key();
    else
      return value();
  }

 private:
  std::pair<Key, Value> pair_;
};

template <typename Key, typename Value>
class OrderedDict {
 public:
  using Item = OrderedDictItem<Key, Value>;
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  explicit OrderedDict(std::string key_description = "Key") : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  std::size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }
  bool empty() const noexcept { return items_.empty(); }
  const std::string& key_description() const noexcept { return key_description_; }
  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  Item& front() { return const_cast<Item&>(std::as_const(*this).front()); }
  const Item& front() const {
    if (is_empty()) nn::detail::raise_no_elements("Called front()", "OrderedDict");
    return items_.front();
  }
  Item& back() { return const_cast<Item&>(std::as_const(*this).back()); }
  const Item& back() const {
    if (is_empty()) nn::detail::raise_no_elements("Called back()", "OrderedDict");
    return items_.back();
  }
  const std::vector<Item>& items() const noexcept { return items_; }

  Value* find(const Key& key) noexcept {
    auto at = index_.find(key);
    return at == index_.end() ? nullptr : &items_[at->second].value();
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict*>(this)->find(key); }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }
  Value& operator[](const Key& key) {
    Value* found = find(key);
    if (!found) nn::detail::raise_no_key(key_description_, detail_name(key));
    return *found;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
  Item& operator[](std::size_t index) {
    if (index >= items_.size()) nn::detail::raise_index(static_cast<int64_t>(index), items_.size());
    return items_[index];
  }
  const Item& operator[](std::size_t index) const { return const_cast<OrderedDict&>(*this)[index]; }

  template <typename V = Value>
  Value& insert(Key key, V&& value) {
    if (contains(key)) nn::detail::raise_key_defined(key_description_, detail_name(key));
    index_.emplace(key, items_.size());
    items_.emplace_back(std::move(key), Value(std::forward<V>(value)));
    return items_.back().value();
  }
  void update(const OrderedDict& other) {
    for (const Item& item : other) insert(item.key(), item.value());
  }
  void erase(const Key& key) {
    auto at = index_.find(key);
    if (at == index_.end()) nn::detail::raise_no_key(key_description_, detail_name(key));
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at->second));
    index_.clear();
    for (std::size_t k = 0; k < items_.size(); k++) index_.emplace(items_[k].key(), k);
  }
  void clear() {
    index_.clear();
    items_.clear();
  }
  void reserve(std::size_t size) {
    index_.reserve(size);
    items_.reserve(size);
  }

  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const Item& item : items_) out.push_back(item.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Item& item : items_) out.push_back(item.value());
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    for (const Item& item : items_) out.push_back(item.pair());
    return out;
  }

 private:
  static std::string detail_name(const Key& key) {
    if constexpr (std::is_convertible_v<Key, std::string>)
      return key;
    else
      return std::to_string(key);
  }
  std::unordered_map<Key, std::size_t> index_;
  std::vector<Item> items_;
  std::string key_description_ = "Key";
};

}  // namespace undertow

// Structured bindings of an item: `for (auto& [key, value] : dict)`.
template <typename K, typename V>
struct std::tuple_size<undertow::OrderedDictItem<K, V>> : std::integral_constant<std::size_t, 2> {};
template <typename K, typename V>
struct std::tuple_element<0, undertow::OrderedDictItem<K, V>> {
  using type = const K;
};
template <typename K, typename V>
struct std::tuple_element<1, undertow::OrderedDictItem<K, V>> {
  using type = V;
};
