// image_cache.cpp: see image_cache.h.
//
// Note [Cache Of Compiled Kernels]
// One file per compiled function. Its name is a hash of everything that decides the machine code: program, function,
// sources, compiler, GPU. The file repeats that key and has a checksum, so a damaged, truncated or foreign file is
// ignored and written again. Files are written under another name and renamed, so processes can share a folder without
// locks. When the folder grows beyond its limit, the files that were used least recently are removed.
#include "core/kernels/cuda/compile/image_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cuda/compile/sources.h"
#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/driver/nvrtc.h"
#include "core/kernels/cuda/runtime/capture_mode.h"
#include "core/kernels/cuda/runtime/device.h"

namespace undertow::core::cuda {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFolderLimit = uint64_t{512} << 20;
constexpr char kMagic[8] = {'u', 't', 'c', 'u', 'b', 'i', 'n', '1'};

uint64_t hash(const std::string& text, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ seed;  // FNV-1a
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  return h;
}

std::string hex(uint64_t v) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; i--, v >>= 4) out[static_cast<size_t>(i)] = "0123456789abcdef"[v & 15];
  return out;
}

struct Header {
  char magic[8];
  uint64_t key_bytes, function_bytes, code_bytes, checksum;
};

bool read_image(const fs::path& path, const std::string& key, CachedImage& image) {
  std::ifstream in(path, std::ios::binary);
  Header h;
  if (!in.read(reinterpret_cast<char*>(&h), sizeof(h)) || std::memcmp(h.magic, kMagic, sizeof(kMagic)) != 0)
    return false;
  if (h.key_bytes != key.size() || h.function_bytes > (1u << 20) || h.code_bytes > (1u << 30)) return false;
  std::string stored(h.key_bytes, '\0');
  image.function.resize(h.function_bytes);
  image.code.resize(h.code_bytes);
  for (std::string* part : {&stored, &image.function, &image.code})
    if (!in.read(part->data(), static_cast<std::streamsize>(part->size()))) return false;
  return stored == key && h.checksum == hash(image.function + image.code, 0);
}

void write_image(const fs::path& folder, const fs::path& path, const std::string& key, const CachedImage& image) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  fs::path draft = path;
  draft += str(".", getpid(), ".", reinterpret_cast<uintptr_t>(&image), ".part");
  {
    std::ofstream out(draft, std::ios::binary);
    Header h{{}, key.size(), image.function.size(), image.code.size(), hash(image.function + image.code, 0)};
    std::memcpy(h.magic, kMagic, sizeof(kMagic));
    out.write(reinterpret_cast<const char*>(&h), sizeof(h));
    for (const std::string* part : {&key, &image.function, &image.code})
      out.write(part->data(), static_cast<std::streamsize>(part->size()));
    if (!out) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(draft, path, failed);
  if (failed) fs::remove(draft, failed);  // a full or read-only disk: the kernel is compiled again next time
}

// Removes the least recently used files until the folder is within three quarters of its limit.
void limit_folder(const fs::path& folder) {
  struct File {
    fs::path path;
    fs::file_time_type used;
    uint64_t bytes;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code gone;  // another process may remove files too
    uint64_t bytes = entry.file_size(gone);
    auto used = entry.last_write_time(gone);
    if (gone) continue;
    files.push_back({entry.path(), used, bytes});
    total += bytes;
  }
  if (total <= kFolderLimit) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& f : files) {
    if (total <= kFolderLimit / 4 * 3) return;
    fs::remove(f.path, failed);
    total -= f.bytes;
  }
}

fs::path path_of(const std::string& folder, const std::string& key) {
  return fs::path(folder) / (hex(hash(key, 1)) + hex(hash(key, 2)));
}

CachedImage image_of(const std::string& text, const std::string& expression, int capability) {
  auto [major, minor] = compiler_version();
  std::string key = str(kSourcesDigest, "\n", major, ".", minor, "\nsm_", capability, "\n", expression, "\n", text);
  CachedImage image;
  if (find_image(key, image)) return image;
  CompiledProgram compiled = compile_program(text, std::span(&expression, 1), capability);
  image = {std::move(compiled.names[0]), std::move(compiled.image)};
  keep_image(key, image);
  return image;
}

}  // namespace

bool find_image(const std::string& key, CachedImage& image) {
  std::string folder = image_cache_folder();
  if (folder.empty()) return false;
  fs::path path = path_of(folder, key);
  if (!read_image(path, key, image)) return false;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return true;
}

void keep_image(const std::string& key, const CachedImage& image) {
  std::string folder = image_cache_folder();
  if (folder.empty()) return;
  write_image(folder, path_of(folder, key), key, image);
  static std::once_flag limited;
  std::call_once(limited, [&] { limit_folder(folder); });
}

std::string image_cache_folder() {
  if (const char* chosen = std::getenv("UNDERTOW_CUDA_CACHE")) return chosen;  // empty: no cache
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return str(cache, "/undertow/cuda");
  if (const char* home = std::getenv("HOME"); home && *home) return str(home, "/.cache/undertow/cuda");
  return "";
}

CUfunction load_function(const std::string& text, const std::string& expression, int device) {
  CachedImage image = image_of(text, expression, device_state(device).capability);
  DeviceGuard guard(device);
  RelaxedCapture relaxed;
  CUmodule module = nullptr;
  check(driver().module_load_data(&module, image.code.data()), expression.c_str());
  CUfunction function = nullptr;
  check(driver().module_get_function(&function, module, image.function.c_str()), expression.c_str());
  return function;
}

}  // namespace undertow::core::cuda
