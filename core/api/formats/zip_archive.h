// zip_archive.h: the container of PyTorch's files: an uncompressed zip archive. Knows nothing about what is in it.
#pragma once
#include <map>
#include <string>

#include "core/api/formats/file.h"

namespace undertow::formats {

// Reads records by name. All records are checked to be uncompressed, disjoint and inside the file.
class ZipReader {
 public:
  explicit ZipReader(Source& source);
  bool has(const std::string& name) const { return records_.count(prefix_ + name) > 0; }
  std::string text(const std::string& name);
  // Raises unless the record has `nbytes` bytes.
  core::Ref<core::Storage> storage(const std::string& name, uint64_t nbytes);

 private:
  struct Record {
    uint64_t at, size;  // of the bytes
    uint32_t checksum;
  };
  const Record& find(const std::string& name) const;
  Source& source_;
  std::map<std::string, Record> records_;
  std::string prefix_;  // the folder in which all records are
};

// Writes records one after another, their bytes aligned as PyTorch aligns them.
class ZipWriter {
 public:
  ZipWriter(Target& target, std::string prefix) : target_(target), prefix_(std::move(prefix)) {}
  void record(const std::string& name, const void* data, uint64_t size);
  void record(const std::string& name, const std::string& data) { record(name, data.data(), data.size()); }
  void finish();

 private:
  Target& target_;
  std::string prefix_, directory_;
  uint64_t count_ = 0;
};

}  // namespace undertow::formats
