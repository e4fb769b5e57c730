// file.cpp: see file.h.
// build: small
#include "core/api/formats/file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace undertow::formats {

Source::Source(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
  UT_FORMAT_CHECK(file_, "load: cannot open ", path, ": ", std::strerror(errno));
  UT_FORMAT_CHECK(fseeko(file_.get(), 0, SEEK_END) == 0, "load: cannot read ", path, ": ", std::strerror(errno));
  off_t end = ftello(file_.get());
  UT_FORMAT_CHECK(end >= 0, "load: cannot read ", path, ": ", std::strerror(errno));
  size_ = static_cast<uint64_t>(end);
}
void Source::check(uint64_t at, uint64_t count, const std::string& what) const {
  UT_FORMAT_CHECK(at <= size_ && count <= size_ - at, "load: the file is truncated or corrupt: ", what, " should be ",
                  count, " bytes at byte ", at, ", but the file has ", size_);
}
void Source::read(void* to, uint64_t at, uint64_t count, const std::string& what) {
  check(at, count, what);
  if (count == 0) return;
  if (data_) {
    std::memcpy(to, data_ + at, count);
    return;
  }
  bool ok =
      fseeko(file_.get(), static_cast<off_t>(at), SEEK_SET) == 0 && std::fread(to, 1, count, file_.get()) == count;
  UT_FORMAT_CHECK(ok, "load: the file ended inside ", what);
}
std::string Source::text(uint64_t at, uint64_t count, const std::string& what) {
  check(at, count, what);
  std::string out(count, '\0');
  read(out.data(), at, count, what);
  return out;
}
core::Ref<core::Storage> Source::storage(uint64_t at, uint64_t count, const std::string& what) {
  check(at, count, what);
  auto out = core::Storage::allocate(count);
  read(out->data(), at, count, what);
  return out;
}

Target::Target(const std::string& path) : path_(path), temporary_(core::str(path, ".", getpid(), ".tmp")) {
  file_ = std::fopen(temporary_.c_str(), "wb");
  UT_FORMAT_CHECK(file_, "save: cannot write ", path, ": ", std::strerror(errno));
}
Target::~Target() {
  if (!file_) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}
void Target::write(const void* data, size_t count) {
  position_ += count;
  if (bytes_) {
    bytes_->insert(bytes_->end(), static_cast<const char*>(data), static_cast<const char*>(data) + count);
    return;
  }
  UT_FORMAT_CHECK(count == 0 || std::fwrite(data, 1, count, file_) == count, "save: cannot write ", path_, ": ",
                  std::strerror(errno));
}
void Target::finish() {
  if (!file_) return;
  bool ok = std::fclose(std::exchange(file_, nullptr)) == 0 && std::rename(temporary_.c_str(), path_.c_str()) == 0;
  if (!ok) {
    int error = errno;
    std::remove(temporary_.c_str());
    fail("save: cannot write ", path_, ": ", std::strerror(error));
  }
}

uint32_t crc32(const void* data, size_t size, uint32_t before) {
  // Four tables: one step for four bytes.
  static const auto tables = [] {
    std::array<std::array<uint32_t, 256>, 4> t{};
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      t[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
      for (size_t k = 1; k < 4; k++) t[k][i] = t[0][t[k - 1][i] & 255] ^ (t[k - 1][i] >> 8);
    return t;
  }();
  auto* p = static_cast<const unsigned char*>(data);
  uint32_t c = ~before;
  for (; size >= 4; size -= 4, p += 4) {
    c ^= static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
    c = tables[3][c & 255] ^ tables[2][c >> 8 & 255] ^ tables[1][c >> 16 & 255] ^ tables[0][c >> 24];
  }
  for (; size; size--, p++) c = tables[0][(c ^ *p) & 255] ^ (c >> 8);
  return ~c;
}

}  // namespace undertow::formats
