// load_backend.cpp: see load_backend.h.
#include "core/kernels/load_backend.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

namespace undertow::core {

namespace {

std::mutex load_mutex;  // guards the entries of `backends` that are written here

// libundertow_cuda.so beside this library.
std::string library_path(DeviceType type) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&load_backend), &here) || !here.dli_fname) return "";
  std::string path = here.dli_fname;
  path.resize(path.rfind('/') + 1);
  return path + "libundertow_" + name(type) + ".so";
}

// A function of the library without arguments, called; null if there is no library. Opening it again is cheap.
const void* ask(DeviceType type, const char* question) {
  void* library = dlopen(library_path(type).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  auto function = reinterpret_cast<const void* (*)()>(dlsym(library, question));
  return function ? function() : nullptr;
}

}  // namespace

const Backend* load_backend(DeviceType type) {
  const Backend*& entry = backends[static_cast<size_t>(type)];
  std::lock_guard lock(load_mutex);
  if (entry || type != DeviceType::CUDA) return entry;
  return entry = static_cast<const Backend*>(ask(type, "undertow_cuda_backend"));
}

const void* backend_control(DeviceType type) {
  return load_backend(type) && type == DeviceType::CUDA ? ask(type, "undertow_cuda_control") : nullptr;
}

}  // namespace undertow::core
