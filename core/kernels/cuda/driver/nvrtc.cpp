// nvrtc.cpp: see nvrtc.h.
#include "core/kernels/cuda/driver/nvrtc.h"

#include <array>

#include "core/base/error.h"
#include "core/kernels/cuda/compile/sources.h"
#include "core/kernels/cuda/driver/shared_library.h"

namespace undertow::core::cuda {

namespace {

using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram*;

struct Nvrtc {
  nvrtcResult (*version)(int* major, int* minor);
  const char* (*get_error_string)(nvrtcResult result);
  nvrtcResult (*create_program)(nvrtcProgram* program, const char* text, const char* name, int headers,
                                const char* const* header_texts, const char* const* header_names);
  nvrtcResult (*destroy_program)(nvrtcProgram* program);
  nvrtcResult (*compile_program)(nvrtcProgram program, int options, const char* const* option);
  nvrtcResult (*add_name_expression)(nvrtcProgram program, const char* expression);
  nvrtcResult (*get_lowered_name)(nvrtcProgram program, const char* expression, const char** name);
  nvrtcResult (*get_cubin_size)(nvrtcProgram program, size_t* size);
  nvrtcResult (*get_cubin)(nvrtcProgram program, char* cubin);
  nvrtcResult (*get_program_log_size)(nvrtcProgram program, size_t* size);
  nvrtcResult (*get_program_log)(nvrtcProgram program, char* log);

  Nvrtc() {
    static SharedLibrary library("UNDERTOW_NVRTC", "libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so");
    UT_CHECK(library, "CUDA kernels cannot be compiled: NVRTC was not found (", library.error(),
             "). Install it with: pip install undertow[cuda]");
    library.load(version, "nvrtcVersion");
    library.load(get_error_string, "nvrtcGetErrorString");
    library.load(create_program, "nvrtcCreateProgram");
    library.load(destroy_program, "nvrtcDestroyProgram");
    library.load(compile_program, "nvrtcCompileProgram");
    library.load(add_name_expression, "nvrtcAddNameExpression");
    library.load(get_lowered_name, "nvrtcGetLoweredName");
    library.load(get_cubin_size, "nvrtcGetCUBINSize");
    library.load(get_cubin, "nvrtcGetCUBIN");
    library.load(get_program_log_size, "nvrtcGetProgramLogSize");
    library.load(get_program_log, "nvrtcGetProgramLog");
  }
  void check(nvrtcResult result, const char* operation) const {
    UT_CHECK(result == 0, "CUDA kernels cannot be compiled: ", operation, ": ", get_error_string(result));
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

class Program {
 public:
  explicit Program(const std::string& text) {
    std::span<const DeviceSource> sources = device_sources();
    std::vector<const char*> texts, names;
    for (const DeviceSource& s : sources) {
      texts.push_back(s.text);
      names.push_back(s.name);
    }
    nvrtc().check(nvrtc().create_program(&program_, text.c_str(), "kernel.cu", static_cast<int>(texts.size()),
                                         texts.data(), names.data()),
                  "nvrtcCreateProgram");
  }
  ~Program() { nvrtc().destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtcProgram get() const { return program_; }
  std::string log() const {
    size_t size = 0;
    nvrtc().get_program_log_size(program_, &size);
    std::string text(size, '\0');
    nvrtc().get_program_log(program_, text.data());
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

CompiledProgram compile_program(const std::string& text, std::span<const std::string> functions, int capability) {
  const Nvrtc& n = nvrtc();
  Program program(text);
  for (const std::string& f : functions) n.check(n.add_name_expression(program.get(), f.c_str()), f.c_str());
  std::string architecture = str("--gpu-architecture=sm_", capability);
  // Contraction into multiply-adds is what the CPU's kernels do too. Divisions and square roots are exactly rounded.
  std::array options = {architecture.c_str(), "--std=c++17", "-default-device", "--fmad=true"};
  nvrtcResult result = n.compile_program(program.get(), static_cast<int>(options.size()), options.data());
  UT_CHECK(result == 0, "a CUDA kernel does not compile (", functions.empty() ? text : functions[0], "):\n",
           program.log());
  CompiledProgram out;
  size_t size = 0;
  n.check(n.get_cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
  out.image.resize(size);
  n.check(n.get_cubin(program.get(), out.image.data()), "nvrtcGetCUBIN");
  for (const std::string& f : functions) {
    const char* name = nullptr;
    n.check(n.get_lowered_name(program.get(), f.c_str(), &name), f.c_str());
    out.names.push_back(name);
  }
  return out;
}

std::pair<int, int> compiler_version() {
  std::pair<int, int> v;
  nvrtc().check(nvrtc().version(&v.first, &v.second), "nvrtcVersion");
  return v;
}

}  // namespace undertow::core::cuda
