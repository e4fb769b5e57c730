// streams.h: torch::save and torch::load with streams of the standard library; the bytes are those of a .pt file.
#pragma once
#include <undertow/archive.h>

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

}  // namespace detail

template <class T>
void save(const T& value, std::ostream& stream) {
  std::vector<char> bytes;
  if constexpr (std::is_convertible_v<const T&, IValue>) {
    bytes = pickle_save(value);
  } else {
    serialize::OutputArchive archive;
    detail::saved_object(const_cast<T&>(value)).save(archive);
    bytes = pickle_save(archive.value());
  }
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
template <class T>
void load(T& value, std::istream& stream) {
  IValue found = pickle_load(std::vector<char>(std::istreambuf_iterator<char>(stream), {}));
  if constexpr (std::is_same_v<T, Tensor>) {
    value = found.toTensor();
  } else if constexpr (std::is_same_v<T, variable_list>) {
    value = found.toTensorVector();
  } else {
    serialize::InputArchive archive(found);
    detail::saved_object(value).load(archive);
  }
}

}  // namespace undertow
