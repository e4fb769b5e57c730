// serialize.cpp: see serialize.h. The formats are in core/api/formats.
// build: small
#include <undertow/serialize.h>

#include "core/api/formats/pickle.h"
#include "core/api/formats/safetensors.h"
#include "core/api/formats/zip_archive.h"

namespace undertow {

namespace {

bool is_safetensors(const std::string& path) { return std::string_view(path).ends_with(".safetensors"); }

void write_pt(formats::Target& target, const std::string& name, const IValue& value) {
  formats::Pickled pickled = formats::write_pickle(value);
  formats::ZipWriter zip(target, name);
  zip.record("data.pkl", pickled.data);
  zip.record(".format_version", "1");
  zip.record(".storage_alignment", "64");
  zip.record("byteorder", "little");
  uint32_t total = formats::crc32(pickled.data.data(), pickled.data.size());
  for (size_t i = 0; i < pickled.storages.size(); i++) {
    const core::Storage& s = *pickled.storages[i];
    total = formats::crc32(s.data(), s.nbytes(), total);
    zip.record("data/" + std::to_string(i), s.data(), s.nbytes());
  }
  zip.record("version", "3\n");
  std::string id = std::to_string(total);
  zip.record(".data/serialization_id", std::string(40 - id.size(), '0') + id);
  zip.finish();
}

IValue read_any(formats::Source& source) {
  std::string start = source.text(0, std::min<uint64_t>(16, source.size()), "the file");
  UT_CHECK(!start.empty(), "load: the file is empty");
  if (start.size() >= 9 && start[8] == '{') return state_dict_value(formats::read_safetensors(source, nullptr));
  UT_CHECK(start.compare(0, 4, "PK\x03\x04", 4) == 0,
           "Invalid magic number; corrupt file? It is neither a file of torch.save nor of safetensors");
  formats::ZipReader zip(source);
  UT_CHECK(!zip.has("constants.pkl"),
           "load: the file is a TorchScript archive, which is a program; load reads files of torch.save");
  UT_CHECK(!zip.has("byteorder") || zip.text("byteorder") == "little",
           "load: the file was written on a big-endian machine, which load does not read");
  return formats::read_pickle(zip.text("data.pkl"), [&](const std::string& key, uint64_t nbytes) {
    return zip.storage("data/" + key, nbytes);
  });
}

// The name of the archive's folder: the file's, without folder and suffix.
std::string stem(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "archive" : name;
}

}  // namespace

void save(const IValue& value, const std::string& path) {
  if (is_safetensors(path)) return save_file(named_tensors(value), path, {{"format", "pt"}});
  formats::Target target(path);
  write_pt(target, stem(path), value);
  target.finish();
}
IValue load(const std::string& path) {
  formats::Source source(path);
  return read_any(source);
}
void load(Tensor& t, const std::string& path) { t = load(path).toTensor(); }
void load(variable_list& tensors, const std::string& path) { tensors = load(path).toTensorVector(); }

std::vector<char> pickle_save(const IValue& value) {
  std::vector<char> out;
  formats::Target target(out);
  write_pt(target, "archive", value);
  return out;
}
IValue pickle_load(const std::vector<char>& data) {
  formats::Source source(data.data(), data.size());
  return read_any(source);
}

IValue state_dict_value(const NamedTensors& tensors) {
  IValue::Dict items;
  for (const auto& [name, t] : tensors) items.emplace_back(name, t);
  return IValue::dict(std::move(items));
}
NamedTensors named_tensors(const IValue& dict) {
  NamedTensors out;
  for (const auto& [key, value] : dict.toGenericDict()) out.emplace_back(key.toStringRef(), value.toTensor());
  return out;
}

void save_file(const NamedTensors& tensors, const std::string& path,
               const std::map<std::string, std::string>& metadata) {
  formats::Target target(path);
  formats::write_safetensors(target, tensors, metadata);
  target.finish();
}
NamedTensors load_file(const std::string& path, std::map<std::string, std::string>* metadata) {
  formats::Source source(path);
  return formats::read_safetensors(source, metadata);
}

}  // namespace undertow
