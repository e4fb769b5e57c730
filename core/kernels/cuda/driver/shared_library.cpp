// shared_library.cpp: see shared_library.h.
#include "core/kernels/cuda/driver/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/base/error.h"

namespace undertow::core::cuda {

namespace {

std::mutex folders_mutex;  // guards wheel_folders
std::string wheel_folders;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start < text.size()) {
    size_t end = text.find(separator, start);
    if (end == std::string::npos) end = text.size();
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace

void set_wheel_folders(std::string folders) {
  std::lock_guard lock(folders_mutex);
  wheel_folders = std::move(folders);
}

SharedLibrary::SharedLibrary(const char* variable, const char* names) {
  std::vector<std::string> candidates;
  if (const char* path = std::getenv(variable); path && *path) {
    candidates.push_back(path);
  } else {
    std::vector<std::string> folders;
    {
      std::lock_guard lock(folders_mutex);
      folders = split(wheel_folders, ':');
    }
    for (const std::string& name : split(names, ' ')) {
      for (const std::string& folder : folders) candidates.push_back(folder + "/" + name);
      candidates.push_back(name);
    }
  }
  for (const std::string& path : candidates) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      path_ = path;
      return;
    }
    const char* why = dlerror();
    // The first message about a file that exists is the one that helps.
    if (error_.empty() || error_.find("No such file") != std::string::npos) error_ = why ? why : path;
  }
}

void* SharedLibrary::find(const char* symbol) const { return handle_ ? dlsym(handle_, symbol) : nullptr; }

void* SharedLibrary::require(const char* symbol) const {
  void* found = find(symbol);
  UT_CHECK(found, path_, ": this library has no function ", symbol, "; a newer version is needed");
  return found;
}

}  // namespace undertow::core::cuda
