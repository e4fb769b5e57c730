// modules.h: compiled kernels that were loaded, and their functions.
#pragma once
#include "device_interface.h"
#include "state.h"

namespace emulator {

// A shared library that the emulated NVRTC made.
struct Module {
  const int device;
  void* const library;
  const emulated::Module* variables = nullptr;
  bool threads_wait = false;  // some kernel uses barriers or warp functions
  bool unloaded = false;

  Module(int on_device, void* opened) : device(on_device), library(opened) {}
  Module(const Module&) = delete;
  ~Module();
};

struct Function {
  std::shared_ptr<Module> module;
  const emulated::Symbol* symbol;
  int max_dynamic_shared = 48 * 1024;
};

Handles<Function>& functions();

constexpr int kMaxSharedOptIn = 227 * 1024;

}  // namespace emulator
