// archive.h: save and load of modules and optimizers: save(model, "model.pt") writes what Python's
// save(model.state_dict(), "model.pt") writes. Archives are what a module's save and load receive.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <undertow/nn/module.h>
#include <undertow/optim/optimizer.h>
#include <undertow/serialize.h>
#include <undertow/types/ivalue.h>

namespace undertow {
namespace serialize {

// A dict that is written to a file. Keys are unique.
class OutputArchive {
 public:
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, OutputArchive& nested);
  void save_to(const std::string& path) const { save(value(), path); }
  template <class Stream>
    requires requires(Stream& s, const char* p) { s.write(p, 0); }
  void save_to(Stream& stream) const {
    const std::vector<char> bytes = pickle_save(value());
    stream.write(bytes.data(), static_cast<std::ptrdiff_t>(bytes.size()));
  }
  IValue value() const { return whole_.isNone() ? IValue::dict(items_) : whole_; }
  void set_value(IValue whole) { whole_ = std::move(whole); }  // instead of single keys

 private:
  IValue::Dict items_;
  IValue whole_;
};

class InputArchive {
 public:
  InputArchive() = default;
  explicit InputArchive(IValue value) : value_(std::move(value)) {}
  void load_from(const std::string& path) { value_ = undertow::load(path); }
  template <class Stream>
    requires requires(Stream& s, char* p) { s.read(p, 0).gcount(); }
  void load_from(Stream& stream) {
    std::vector<char> bytes;
    for (char block[4096]; auto count = stream.read(block, sizeof block).gcount();)
      bytes.insert(bytes.end(), block, block + count);
    value_ = pickle_load(bytes);
  }
  // Each raises if there is no such key; try_read returns false. Tensors are copied into `tensor` if it is defined.
  void read(const std::string& key, IValue& value) const;
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, InputArchive& nested) const;
  bool try_read(const std::string& key, IValue& value) const;
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  bool try_read(const std::string& key, InputArchive& nested) const;
  std::vector<std::string> keys() const;
  const IValue& value() const { return value_; }

 private:
  IValue value_;
};

}  // namespace serialize

void save(const nn::Module& module, const std::string& path);
void load(nn::Module& module, const std::string& path);
template <typename M>
  requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const std::string& path) {
  save(static_cast<const nn::Module&>(*module), path);
}
template <typename M>
  requires std::is_base_of_v<nn::Module, M>
void load(std::shared_ptr<M>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}
template <typename M>
void save(const nn::ModuleHolder<M>& module, const std::string& path) {
  save(static_cast<const nn::Module&>(*module), path);
}
template <typename M>
void load(nn::ModuleHolder<M>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}
void save(const optim::Optimizer& optimizer, const std::string& path);
void load(optim::Optimizer& optimizer, const std::string& path);

}  // namespace undertow
