// shared_library.h: opens NVIDIA's libraries when they are first used, from the system or from NVIDIA's Python wheels.
#pragma once
#include <string>

namespace undertow::core::cuda {

class SharedLibrary {
 public:
  // Tries the path in the environment variable `variable` if it is set, and nothing else then; otherwise each of
  // `names` (a list separated by spaces, newest first) in the folders of NVIDIA's wheels, then as the system finds it.
  SharedLibrary(const char* variable, const char* names);
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }  // why it could not be opened
  const std::string& path() const { return path_; }
  void* find(const char* symbol) const;  // null if it has no such function
  // Sets `function` to the symbol; raises if the library lacks it.
  template <class F>
  void load(F& function, const char* symbol) const {
    function = reinterpret_cast<F>(require(symbol));
  }

 private:
  void* require(const char* symbol) const;
  void* handle_ = nullptr;
  std::string error_, path_;
};

// Folders that may hold libraries of NVIDIA's wheels: nvidia/*/lib beside the packages that Python imports. Set by the
// bindings, because only Python knows where its packages are; a C++ program may set it too.
void set_wheel_folders(std::string folders);  // separated by ':'

}  // namespace undertow::core::cuda
