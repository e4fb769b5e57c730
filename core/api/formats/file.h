// file.h: files as sources and targets of bytes, with every position checked. Knows no format.
//
// Lengths and positions in a file cannot be trusted. Each is compared with the size of the file before memory is
// allocated for it.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/storage/storage.h"

namespace undertow::formats {

// Arguments by value, so that messages of different lengths share one function.
template <class... A>
[[noreturn]] void fail(A... parts) {
  core::throw_error(core::ErrorKind::Runtime, core::str(parts...));
}
#define UT_FORMAT_CHECK(condition, ...)                                    \
  do {                                                                     \
    if (UT_UNLIKELY(!(condition))) ::undertow::formats::fail(__VA_ARGS__); \
  } while (0)

// What is read: a file, or bytes in memory, which must outlive the source.
class Source {
 public:
  explicit Source(const std::string& path);
  Source(const char* data, size_t size) : size_(size), data_(data) {}
  uint64_t size() const { return size_; }
  // Copies a range; raises if it is not inside the file. `what` names it in the error.
  void read(void* to, uint64_t at, uint64_t count, const std::string& what);
  std::string text(uint64_t at, uint64_t count, const std::string& what);
  core::Ref<core::Storage> storage(uint64_t at, uint64_t count, const std::string& what);

 private:
  void check(uint64_t at, uint64_t count, const std::string& what) const;
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  uint64_t size_ = 0;
  const char* data_ = nullptr;
  std::unique_ptr<std::FILE, Close> file_;
};

// What is written: a file, or bytes in memory. A file is written beside its place and moved there by finish(), so that
// a failure leaves the old one.
class Target {
 public:
  explicit Target(const std::string& path);
  explicit Target(std::vector<char>& bytes) : bytes_(&bytes) {}
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  void write(const void* data, size_t count);
  void write(const std::string& text) { write(text.data(), text.size()); }
  void finish();
  uint64_t position() const { return position_; }

 private:
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  std::vector<char>* bytes_ = nullptr;
  uint64_t position_ = 0;
};

// Little-endian numbers in text.
template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); i++) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}
template <class T>
T number_at(const std::string& text, size_t at) {  // the caller has checked the length
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); i++)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
  return static_cast<T>(value);
}
uint32_t crc32(const void* data, size_t size, uint32_t before = 0);

}  // namespace undertow::formats
