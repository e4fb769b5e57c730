// streams.h: torch::save and torch::load with streams, functions and memory; the bytes are those of a .pt file.
#pragma once
#include <undertow/archive.h>

#include <functional>
#include <istream>
#include <iterator>
#include <ostream>
#include <type_traits>
#include <vector>

namespace undertow {
namespace detail {

inline nn::Module& saved_object(nn::Module& module) { return module; }
inline optim::Optimizer& saved_object(optim::Optimizer& optimizer) { return optimizer; }
template <class M>
  requires std::is_base_of_v<nn::Module, M>
M& saved_object(const std::shared_ptr<M>& module) {
  return *module;
}
template <class M>
M& saved_object(nn::ModuleHolder<M>& module) {
  return *module;
}
template <class T>
std::vector<char> bytes_of(const T& value) {
  if constexpr (std::is_convertible_v<const T&, IValue>) {
    return pickle_save(value);
  } else {
    serialize::OutputArchive archive;
    saved_object(const_cast<T&>(value)).save(archive);
    return pickle_save(archive.value());
  }
}
template <class T>
void load_bytes(T& value, const std::vector<char>& bytes) {
  IValue found = pickle_load(bytes);
  if constexpr (std::is_same_v<T, Tensor>) {
    value = found.toTensor();
  } else if constexpr (std::is_same_v<T, variable_list>) {
    value = found.toTensorVector();
  } else {
    serialize::InputArchive archive(found);
    saved_object(value).load(archive);
  }
}

}  // namespace detail

template <class T>
void save(const T& value, std::ostream& stream) {
  const std::vector<char> bytes = detail::bytes_of(value);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
// To a function that gets bytes and their number, and returns how many it took.
template <class T>
void save(const T& value, const std::function<size_t(const void*, size_t)>& write) {
  const std::vector<char> bytes = detail::bytes_of(value);
  UT_CHECK(write(bytes.data(), bytes.size()) == bytes.size(), "save: not all bytes were written");
}
template <class T>
void load(T& value, std::istream& stream) {
  detail::load_bytes(value, std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
}
template <class T>
void load(T& value, const char* data, size_t size) {
  detail::load_bytes(value, std::vector<char>(data, data + size));
}
// From a function that fills a buffer with bytes from a position, and one that returns the number of all bytes.
template <class T>
void load(T& value, const std::function<size_t(uint64_t, void*, size_t)>& read, const std::function<size_t()>& size) {
  std::vector<char> bytes(size());
  UT_CHECK(read(0, bytes.data(), bytes.size()) == bytes.size(), "load: not all bytes were read");
  detail::load_bytes(value, bytes);
}

}  // namespace undertow
