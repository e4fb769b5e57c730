// modules.cpp: loads what the emulated NVRTC compiled, and finds kernels and variables in it.
#include "modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "graphs.h"
#include "memory.h"

using namespace emulator;

namespace emulator {

Handles<Function>& functions() {
  static auto& all = *new Handles<Function>("function");
  return all;
}

Module::~Module() { dlclose(library); }

namespace {

struct LoadedModule {
  std::shared_ptr<Module> module;
  std::map<std::string, CUfunction> functions = {};
  std::set<void*> variables = {};  // those that the program got the address of: it may copy to them
};

Handles<LoadedModule>& modules() {
  static auto& all = *new Handles<LoadedModule>("module");
  return all;
}

// The image comes without its size. The linker writes the section headers last.
size_t image_size(const void* image) {
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  const bool elf = image && !std::memcmp(header->e_ident, ELFMAG, SELFMAG);
  if (!elf || header->e_type != ET_DYN || !header->e_shoff) {
    fail(CUDA_ERROR_INVALID_IMAGE, "the image was not compiled by the emulated NVRTC");
  }
  return header->e_shoff + static_cast<size_t>(header->e_shentsize) * header->e_shnum;
}

// The loader knows libraries by their paths, so each image gets a path of its own; the file goes at once.
void* open_image(const void* image, size_t bytes) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/emulated_kernels_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) fail(CUDA_ERROR_OUT_OF_MEMORY, "cannot make the file %s: %s", path.c_str(), std::strerror(errno));
  std::unique_ptr<FILE, int (*)(FILE*)> stream(fdopen(file, "wb"), std::fclose);
  const bool written = std::fwrite(image, 1, bytes, stream.get()) == bytes && std::fflush(stream.get()) == 0;
  void* library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  if (!written) fail(CUDA_ERROR_OUT_OF_MEMORY, "cannot write the file %s: %s", path.c_str(), std::strerror(errno));
  if (!library) fail(CUDA_ERROR_INVALID_IMAGE, "%s", dlerror());
  return library;
}

std::shared_ptr<Module> load(const void* image) {
  const size_t bytes = image_size(image);
  auto module = std::make_shared<Module>(current_device().ordinal, open_image(image, bytes));
  module->variables = static_cast<const emulated::Module*>(dlsym(module->library, "undertow_emulated_module"));
  if (!module->variables || module->variables->version != emulated::kInterfaceVersion) {
    fail(CUDA_ERROR_INVALID_IMAGE, "the image was compiled by another version of the emulator, or by somebody else");
  }
  // See cuda_on_host_warp.h.
  const std::string_view content(static_cast<const char*>(image), bytes);
  module->threads_wait = content.find("undertow_emulated_threads_wait") != content.npos;
  return module;
}

const emulated::Symbol& find_symbol(const Module& module, const char* name) {
  const void* symbol = dlsym(module.library, (std::string("undertow_symbol_") + name).c_str());
  if (!symbol) throw Failure{CUDA_ERROR_NOT_FOUND, text("the module has no kernel or variable \"%s\"", name)};
  return *static_cast<const emulated::Symbol*>(symbol);
}

CUfunction find_function(LoadedModule& loaded, const char* name) {
  auto [it, is_new] = loaded.functions.try_emplace(name);
  if (!is_new) return it->second;
  try {
    const emulated::Symbol& symbol = find_symbol(*loaded.module, name);
    if (!symbol.run) fail(CUDA_ERROR_NOT_FOUND, "\"%s\" is a variable", name);
    it->second = static_cast<CUfunction>(functions().add(std::make_shared<Function>(Function{loaded.module, &symbol})));
  } catch (const Failure&) {
    loaded.functions.erase(it);
    throw;
  }
  return it->second;
}

template <class Handle>
CUresult load_module(const char* name, Handle* out, const void* image) {
  return call(name, Needs::kContext, [&] {
    refuse_in_capture("loading a module");
    *out = reinterpret_cast<Handle>(modules().add(std::make_shared<LoadedModule>(LoadedModule{load(image)})));
  });
}

void unload(const void* handle) {
  auto loaded = modules().remove(handle);
  loaded->module->unloaded = true;
  for (const auto& [name, function] : loaded->functions) functions().remove(function);
  for (void* variable : loaded->variables) release(allocation_at(variable, "unload"));
}

}  // namespace
}  // namespace emulator

EMULATOR_API(CUresult) cuModuleLoadData(CUmodule* module, const void* image) {
  return load_module("cuModuleLoadData", module, image);
}
EMULATOR_API(CUresult) cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) {
  return load_module("cuModuleLoadDataEx", module, image);
}
EMULATOR_API(CUresult) cuModuleUnload(CUmodule module) {
  return call("cuModuleUnload", Needs::kContext, [&] { unload(module); });
}

EMULATOR_API(CUresult) cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call("cuModuleGetFunction", Needs::kContext, [&] { *function = find_function(*modules().get(module), name); });
}

EMULATOR_API(CUresult) cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule handle, const char* name) {
  return call("cuModuleGetGlobal", Needs::kContext, [&] {
    LoadedModule& loaded = *modules().get(handle);
    const Module& module = *loaded.module;
    void* address = dlsym(module.library, name);  // __constant__ at global scope
    size_t size = 0;
    if (address) {
      Dl_info info;
      void* symbol = nullptr;
      dladdr1(address, &info, &symbol, RTLD_DL_SYMENT);
      size = symbol ? static_cast<const ElfW(Sym)*>(symbol)->st_size : 0;
    } else {
      const emulated::Symbol& symbol = find_symbol(module, name);
      address = symbol.variable;
      size = symbol.variable_size;
    }
    if (size && loaded.variables.insert(address).second)
      adopt(MemoryKind::kVariable, current_device(), address, size, 0);
    if (pointer) *pointer = reinterpret_cast<CUdeviceptr>(address);
    if (bytes) *bytes = size;
  });
}

EMULATOR_API(CUresult)
cuLibraryLoadData(CUlibrary* library, const void* image, int*, void**, unsigned, int*, void**, unsigned) {
  return load_module("cuLibraryLoadData", library, image);
}
EMULATOR_API(CUresult) cuLibraryUnload(CUlibrary library) {
  return call("cuLibraryUnload", Needs::kContext, [&] { unload(library); });
}
EMULATOR_API(CUresult) cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return call("cuLibraryGetKernel", Needs::kContext,
              [&] { *kernel = reinterpret_cast<CUkernel>(find_function(*modules().get(library), name)); });
}
EMULATOR_API(CUresult) cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return call("cuKernelGetFunction", Needs::kContext, [&] {
    functions().get(kernel);  // a kernel and its function are the same object here
    *function = reinterpret_cast<CUfunction>(kernel);
  });
}
