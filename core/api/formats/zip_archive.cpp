// zip_archive.cpp: see zip_archive.h. undertow/serialization/_torch_zip.py reads and writes the same format.
// build: small
#include "core/api/formats/zip_archive.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"

namespace undertow::formats {

namespace {

const char *const kLocal = "PK\x03\x04", *const kCentral = "PK\x01\x02", *const kEnd = "PK\x05\x06",
                  *const kEnd64 = "PK\x06\x06", *const kLocator64 = "PK\x06\x07";
constexpr uint64_t kFits32 = 0xFFFFFFFF;
constexpr uint64_t kAlignment = 64;

#define UT_ZIP_CHECK(condition, ...) \
  UT_FORMAT_CHECK(condition, "PytorchStreamReader failed reading zip archive: ", __VA_ARGS__)

struct Entry {
  std::string name;
  uint64_t header, size;
  uint32_t checksum;
};

// The sizes and the position, replaced by those of the zip64 field where 32 bits are not enough.
void widen(const std::string& extra, uint64_t& size, uint64_t& packed, uint64_t& header) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    auto kind = number_at<uint16_t>(extra, at), length = number_at<uint16_t>(extra, at + 2);
    size_t next = at + 4, end = std::min(extra.size(), at + 4 + length);
    at += 4 + static_cast<size_t>(length);
    if (kind != 1) continue;
    for (uint64_t* value : {&size, &packed, &header}) {
      if (*value != kFits32) continue;
      UT_ZIP_CHECK(next + 8 <= end, "corrupt zip64 field");
      *value = number_at<uint64_t>(extra, next);
      next += 8;
    }
    return;
  }
}

std::vector<Entry> read_directory(const std::string& data) {
  std::vector<Entry> out;
  for (size_t at = 0; at < data.size();) {
    UT_ZIP_CHECK(data.size() - at >= 46 && data.compare(at, 4, kCentral, 4) == 0, "corrupt central directory");
    auto flags = number_at<uint16_t>(data, at + 8), method = number_at<uint16_t>(data, at + 10);
    auto checksum = number_at<uint32_t>(data, at + 16);
    uint64_t packed = number_at<uint32_t>(data, at + 20), size = number_at<uint32_t>(data, at + 24);
    size_t name_size = number_at<uint16_t>(data, at + 28), extra_size = number_at<uint16_t>(data, at + 30),
           comment_size = number_at<uint16_t>(data, at + 32);
    uint64_t header = number_at<uint32_t>(data, at + 42);
    size_t name_at = at + 46;
    at = name_at + name_size + extra_size + comment_size;
    UT_ZIP_CHECK(at <= data.size(), "corrupt central directory");
    Entry e{data.substr(name_at, name_size), 0, 0, checksum};
    widen(data.substr(name_at + name_size, extra_size), size, packed, header);
    UT_ZIP_CHECK(method == 0 && size == packed && !(flags & 1), "the record '", e.name,
                 "' is compressed or encrypted, which PyTorch's files are not");
    e.header = header;
    e.size = size;
    out.push_back(std::move(e));
  }
  return out;
}

}  // namespace

ZipReader::ZipReader(Source& source) : source_(source) {
  uint64_t tail_at = source.size() > 65557 ? source.size() - 65557 : 0;
  std::string tail = source.text(tail_at, source.size() - tail_at, "the end of the zip archive");
  size_t at = tail.rfind(kEnd, std::string::npos, 4);
  UT_ZIP_CHECK(at != std::string::npos && tail.size() - at >= 22,
               "failed finding central directory: the file is truncated or corrupt");
  UT_ZIP_CHECK(number_at<uint32_t>(tail, at + 4) == 0, "it is part of a multi-volume archive, or corrupt");
  uint64_t size = number_at<uint32_t>(tail, at + 12), start = number_at<uint32_t>(tail, at + 16);
  if (at >= 20 && tail.compare(at - 20, 4, kLocator64, 4) == 0) {
    std::string end64 = source.text(number_at<uint64_t>(tail, at - 12), 56, "the zip64 end record");
    UT_ZIP_CHECK(end64.compare(0, 4, kEnd64, 4) == 0, "the zip64 end record is missing");
    size = number_at<uint64_t>(end64, 40);
    start = number_at<uint64_t>(end64, 48);
  }
  std::vector<Entry> entries = read_directory(source.text(start, size, "the central directory"));
  UT_ZIP_CHECK(!entries.empty(), "it is empty");
  size_t slash = entries[0].name.find('/');
  if (slash != std::string::npos) prefix_ = entries[0].name.substr(0, slash + 1);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.header < b.header; });
  uint64_t previous_end = 0;
  for (const Entry& e : entries) {
    std::string local = source.text(e.header, 30, "the header of a record");
    UT_ZIP_CHECK(local.compare(0, 4, kLocal, 4) == 0, "the header of '", e.name, "' is missing");
    uint64_t begin = e.header + 30 + number_at<uint16_t>(local, 26) + number_at<uint16_t>(local, 28);
    UT_ZIP_CHECK(e.header >= previous_end && begin <= start && e.size <= start - begin, "the record '", e.name,
                 "' overlaps another one, or extends beyond the file");
    previous_end = begin + e.size;
    bool fresh = records_.try_emplace(e.name, Record{begin, e.size, e.checksum}).second;
    UT_ZIP_CHECK(fresh, "there are two records '", e.name, "'");
  }
}

const ZipReader::Record& ZipReader::find(const std::string& name) const {
  auto it = records_.find(prefix_ + name);
  UT_FORMAT_CHECK(it != records_.end(), "PytorchStreamReader failed locating file ", name, ": file not found");
  return it->second;
}
std::string ZipReader::text(const std::string& name) {
  const Record& r = find(name);
  std::string out = source_.text(r.at, r.size, name);
  UT_FORMAT_CHECK(crc32(out.data(), out.size()) == r.checksum, "PytorchStreamReader failed reading file ", name,
                  ": its checksum is wrong: corrupt file");
  return out;
}
core::Ref<core::Storage> ZipReader::storage(const std::string& name, uint64_t nbytes) {
  const Record& r = find(name);
  UT_FORMAT_CHECK(r.size == nbytes, "load: the record '", name, "' has ", r.size, " bytes, but the pickle says ",
                  nbytes);
  auto out = source_.storage(r.at, r.size, name);
  UT_FORMAT_CHECK(crc32(out->data(), nbytes) == r.checksum, "PytorchStreamReader failed reading file ", name,
                  ": its checksum is wrong: corrupt file");
  return out;
}

void ZipWriter::record(const std::string& name, const void* data, uint64_t size) {
  std::string path = prefix_ + "/" + name, extra;
  uint32_t checksum = crc32(data, size);
  uint64_t header = target_.position();
  bool wide = size >= kFits32;
  if (wide) {
    put<uint16_t>(extra, 1);
    put<uint16_t>(extra, 16);
    put(extra, size);
    put(extra, size);
  }
  uint64_t padding = (kAlignment - (header + 30 + path.size() + extra.size() + 4) % kAlignment) % kAlignment;
  extra += "FB";
  put(extra, static_cast<uint16_t>(padding));
  extra.append(padding, 'Z');
  std::string common;
  for (uint16_t n : {wide ? 45 : 20, 0x800, 0, 0, 0x21}) put(common, n);
  put(common, checksum);
  put(common, static_cast<uint32_t>(wide ? kFits32 : size));
  put(common, static_cast<uint32_t>(wide ? kFits32 : size));
  put(common, static_cast<uint16_t>(path.size()));
  std::string local = kLocal + common;
  put(local, static_cast<uint16_t>(extra.size()));
  target_.write(local + path + extra);
  target_.write(data, size);

  bool far = header >= kFits32;
  std::string numbers;
  if (wide) put(numbers, size), put(numbers, size);
  if (far) put(numbers, header);
  std::string wide_extra;
  if (!numbers.empty()) {
    put<uint16_t>(wide_extra, 1);
    put(wide_extra, static_cast<uint16_t>(numbers.size()));
    wide_extra += numbers;
  }
  directory_ += kCentral;
  put<uint16_t>(directory_, 45);
  directory_ += common;
  put(directory_, static_cast<uint16_t>(wide_extra.size()));
  for (int i = 0; i < 3; i++) put<uint16_t>(directory_, 0);
  put<uint32_t>(directory_, 0);
  put(directory_, static_cast<uint32_t>(far ? kFits32 : header));
  directory_ += path + wide_extra;
  count_++;
}

void ZipWriter::finish() {
  uint64_t start = target_.position(), size = directory_.size();
  target_.write(directory_);
  std::string end;
  if (start >= kFits32 || count_ >= 0xFFFF || size >= kFits32) {
    uint64_t end64 = target_.position();
    end += kEnd64;
    put<uint64_t>(end, 44);
    put<uint16_t>(end, 45);
    put<uint16_t>(end, 45);
    put<uint64_t>(end, 0);  // two disk numbers
    for (uint64_t n : {count_, count_, size, start}) put(end, n);
    end += kLocator64;
    put<uint32_t>(end, 0);
    put(end, end64);
    put<uint32_t>(end, 1);
  }
  auto few = static_cast<uint16_t>(std::min<uint64_t>(count_, 0xFFFF));
  end += kEnd;
  put<uint32_t>(end, 0);  // two disk numbers
  put(end, few);
  put(end, few);
  put(end, static_cast<uint32_t>(std::min(size, kFits32)));
  put(end, static_cast<uint32_t>(std::min(start, kFits32)));
  put<uint16_t>(end, 0);
  target_.write(end);
}

}  // namespace undertow::formats
