// state.h: what all driver calls share: the lock, the devices, each thread's current context, failures and messages.
// Knows no stream or memory in detail; those have files of their own.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "driver_types.h"

namespace emulator {

struct Stream;

// Ends a driver call (or an operation of a stream) with `code`. A message that is not empty goes to stderr.
struct Failure {
  CUresult code;
  std::string message;
};
[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(CUresult code, const char* format, ...);
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);
void say(const std::string& message);

struct Device {
  int ordinal;
  int retained = 0;                // cuDevicePrimaryCtxRetain without its release
  size_t used = 0;                 // bytes allocated
  CUresult broken = CUDA_SUCCESS;  // a kernel failed: every later call returns this, until the context is reset
  std::shared_ptr<Stream> legacy = nullptr;  // the default stream

  CUcontext context() const {
    return reinterpret_cast<CUcontext>(uintptr_t{0xC0DE000} + 16 * static_cast<unsigned>(ordinal));
  }
};

// What the environment asks for; see README.md.
struct Settings {
  int devices;
  size_t memory;
  uint64_t seed;
  bool report_leaks;
  bool trace;
  bool protect;
};
const Settings& settings();

std::vector<Device>& devices();
Device& device_at(CUdevice ordinal);  // fails with INVALID_DEVICE
Device& device_of_context(CUcontext context);
Device& current_device();                 // of the calling thread; fails with INVALID_CONTEXT
void set_current_device(Device* device);  // null: no context
Device* current_device_or_null();

// Objects by handle. Handles are never used twice.
template <class T>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {}

  void* add(std::shared_ptr<T> object);
  const std::shared_ptr<T>& get(const void* handle) const {
    auto it = objects_.find(handle);
    if (it == objects_.end()) fail(CUDA_ERROR_INVALID_HANDLE, "%s %p does not exist or was destroyed", kind_, handle);
    return it->second;
  }
  std::shared_ptr<T> remove(const void* handle) {
    std::shared_ptr<T> object = get(handle);
    objects_.erase(handle);
    return object;
  }
  size_t size() const { return objects_.size(); }

 private:
  const char* kind_;
  std::map<const void*, std::shared_ptr<T>> objects_;
};

void* new_handle();
template <class T>
void* Handles<T>::add(std::shared_ptr<T> object) {
  void* handle = new_handle();
  objects_.emplace(handle, std::move(object));
  return handle;
}

void initialize();

// True while a host function of a stream runs: it may not call the driver.
extern thread_local bool in_host_function;

// Releases the lock for a scope, in an operation that waits for another process. Meanwhile queries of other threads
// answer "not ready" and run nothing.
class WithoutLock {
 public:
  WithoutLock();
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
};
bool an_operation_waits();  // for another process
void let_it_finish();       // the operation of another thread that waits: what follows it may not run before

enum class Needs { kNothing, kInit, kContext };
CUresult guarded(const char* name, Needs needs, const std::function<CUresult()>& body);

// Runs the body of a driver call under the lock, and turns a Failure into its result.
template <class F>
CUresult call(const char* name, Needs needs, F&& body) {
  return guarded(name, needs, [&]() -> CUresult {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return CUDA_SUCCESS;
    } else {
      return body();
    }
  });
}

}  // namespace emulator
