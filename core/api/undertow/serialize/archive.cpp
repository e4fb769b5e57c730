// archive.cpp: see archive.h.
// build: small
#include <undertow/archive.h>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>

namespace undertow {
namespace serialize {

void OutputArchive::write(const std::string& key, const IValue& value) {
  for (const auto& [name, old] : items_)
    UT_CHECK(name.toStringRef() != key, "OutputArchive: the key '", key, "' is already written");
  items_.emplace_back(key, value);
}
void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  write(key, IValue(tensor.defined() ? Tensor(tensor.detach()) : tensor));
}
void OutputArchive::write(const std::string& key, OutputArchive& nested) { write(key, nested.value()); }

bool InputArchive::try_read(const std::string& key, IValue& value) const {
  const IValue* found = value_.find(key);
  if (found) value = *found;
  return found;
}
bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) const {
  const IValue* found = value_.find(key);
  if (!found) return false;
  if (tensor.defined()) {
    NoGradGuard no_grad;
    tensor.copy_(found->toTensor());
  } else {
    tensor = found->toTensor();
  }
  return true;
}
// The state dict of a module is flat: the values of its submodule `key` are those whose names begin with "key.".
bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  if (try_read(key, nested.value_)) return true;
  IValue::Dict part;
  for (const auto& [name, value] : value_.toGenericDict())
    if (name.isString() && name.toStringRef().starts_with(key + "."))
      part.emplace_back(name.toStringRef().substr(key.size() + 1), value);
  if (part.empty()) return false;
  nested.value_ = IValue::dict(std::move(part));
  return true;
}
void InputArchive::read(const std::string& key, IValue& value) const {
  UT_CHECK(try_read(key, value), "No such serialized value '", key, "'");
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  UT_CHECK(try_read(key, tensor, is_buffer), "No such serialized tensor '", key, "'");
}
void InputArchive::read(const std::string& key, InputArchive& nested) const {
  UT_CHECK(try_read(key, nested), "No such serialized submodule: '", key, "'");
}
std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : value_.toGenericDict())
    if (name.isString()) out.push_back(name.toStringRef());
  return out;
}

}  // namespace serialize

namespace nn {

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : state_dict()) archive.write(item.key(), item.value());
}
void Module::load(serialize::InputArchive& archive) {
  OrderedDict<std::string, Tensor> state;
  for (auto& [name, tensor] : named_tensors(archive.value())) state.insert(name, tensor);
  load_state_dict(state);
}

}  // namespace nn

namespace optim {

void Optimizer::save(serialize::OutputArchive& archive) const { archive.set_value(state_dict()); }
void Optimizer::load(serialize::InputArchive& archive) { load_state_dict(archive.value()); }

}  // namespace optim

namespace {
template <class T>
void save_value(const T& value, const std::string& path) {
  serialize::OutputArchive archive;
  value.save(archive);
  archive.save_to(path);
}
template <class T>
void load_value(T& value, const std::string& path) {
  serialize::InputArchive archive;
  archive.load_from(path);
  value.load(archive);
}
}  // namespace

void save(const nn::Module& module, const std::string& path) { save_value(module, path); }
void load(nn::Module& module, const std::string& path) { load_value(module, path); }
void save(const optim::Optimizer& optimizer, const std::string& path) { save_value(optimizer, path); }
void load(optim::Optimizer& optimizer, const std::string& path) { load_value(optimizer, path); }

}  // namespace undertow
