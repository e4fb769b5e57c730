// containers_inline.h: the definitions of containers.h, in a header, so that they cost nothing where they are not used.
#pragma once
#include <undertow/nn/containers.h>

namespace undertow::nn {

inline std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  OrderedDict<std::string, std::shared_ptr<Module>> names = named_children();
  for (size_t k = 0; k < modules_.size(); k++) copy->push_back(names[k].key(), modules_[k].clone(device));
  copy->train(is_training());
  return copy;
}
inline void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

inline std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->add(module->clone(device));
  copy->train(is_training());
  return copy;
}
inline void ModuleListImpl::add(std::shared_ptr<Module> module) {
  register_module(std::to_string(modules_.size()), module);
  modules_.push_back(std::move(module));
}
inline void ModuleListImpl::insert_at(size_t index, std::shared_ptr<Module> module) {
  if (index > modules_.size()) detail::raise_index(static_cast<int64_t>(index), modules_.size());
  std::vector<std::shared_ptr<Module>> all = std::move(modules_);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  modules_.clear();
  for (size_t k = 0; k + 1 < all.size(); k++) unregister_module(std::to_string(k));
  for (auto& m : all) add(std::move(m));
}

inline std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : named_children()) copy->put(item.key(), item.value()->clone(device));
  copy->train(is_training());
  return copy;
}
inline void ModuleDictImpl::clear() {
  for (const std::string& key : keys()) unregister_module(key);
}
inline std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  std::shared_ptr<Module> found = (*this)[key];
  unregister_module(key);
  return found;
}
inline void ModuleDictImpl::put(const std::string& key, std::shared_ptr<Module> module) {
  if (contains(key))
    replace_module(key, std::move(module));
  else
    register_module(key, std::move(module));
}

namespace container_detail {
inline Tensor copied(const Tensor& t, const std::optional<Device>& device) {
  return (device ? t.detach().to(*device, t.dtype()) : t.detach()).clone();
}
}  // namespace container_detail

inline std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ParameterListImpl>();
  for (const auto& item : parameters_)
    copy->register_parameter(item.key(), container_detail::copied(item.value(), device), item.value().requires_grad());
  copy->train(is_training());
  return copy;
}
inline void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(parameters_.size()), parameter, parameter.requires_grad());
}

inline ParameterListImpl& ParameterListImpl::operator+=(const ParameterListImpl& other) {
  const std::vector<Tensor> added = other.parameters_.values();  // a copy: `other` may be this list
  for (const Tensor& parameter : added) append(parameter);
  return *this;
}

inline std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ParameterDictImpl>();
  for (const auto& item : parameters_)
    copy->register_parameter(item.key(), container_detail::copied(item.value(), device), item.value().requires_grad());
  copy->train(is_training());
  return copy;
}
inline Tensor& ParameterDictImpl::insert(const std::string& key, const Tensor& parameter) {
  return register_parameter(key, parameter, parameter.requires_grad());
}
inline void ParameterDictImpl::update(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) parameters_[item.key()] = item.value();
}
inline Tensor ParameterDictImpl::pop(const std::string& key) {
  Tensor found = parameters_[key];
  parameters_.erase(key);
  return found;
}

}  // namespace undertow::nn
