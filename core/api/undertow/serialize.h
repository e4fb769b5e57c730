// serialize.h: save and load: the files of Python's save and load, PyTorch's .pt and safetensors. Needs no Python;
// loading runs no code from a file, and every size in it is checked.
//
//   save(t, "t.pt");                                  Tensor t = load("t.pt").toTensor();
//   save_file({{"weight", w}}, "model.safetensors");  auto tensors = load_file("model.safetensors");
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <undertow/types/ivalue.h>

namespace undertow {

// A tensor, a number, a string, None, or lists, tuples and dicts of them. A path that ends in .safetensors must get a
// dict of tensors. The file is replaced only when all of it has been written.
void save(const IValue& value, const std::string& path);
// Detects the format. A file that needs more than these kinds of values raises; the error names what it needs.
IValue load(const std::string& path);
// libtorch's forms.
void load(Tensor& t, const std::string& path);
void load(variable_list& tensors, const std::string& path);

// The same, to and from memory, in the .pt format.
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

// A dict of tensors by name, in the given order, as a value: what a state_dict() is.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
IValue state_dict_value(const NamedTensors& tensors);
NamedTensors named_tensors(const IValue& dict);

// safetensors files, with their metadata.
void save_file(const NamedTensors& tensors, const std::string& path,
               const std::map<std::string, std::string>& metadata = {});
NamedTensors load_file(const std::string& path, std::map<std::string, std::string>* metadata = nullptr);

}  // namespace undertow
