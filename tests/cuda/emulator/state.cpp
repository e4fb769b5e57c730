// state.cpp: the lock, the settings, the devices and the fate of a failed call.
#include "state.h"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "host_faults.h"
#include "streams.h"

namespace emulator {
namespace {

// Guards everything in the library but the NVRTC programs. Recursive, because a host function that calls the driver
// must get an error and not a deadlock.
std::recursive_mutex& lock() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}
// Not under the lock: a forked child must not wait for a lock that a thread of its parent held.
std::atomic<bool> initialized{false};
std::atomic<bool> forked{false};
int waiting = 0;  // operations that wait for another process; under the lock

thread_local Device* current = nullptr;

uint64_t number(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? std::strtoull(value, nullptr, 0) : otherwise;
}

std::string formatted(const char* format, va_list arguments) {
  char buffer[1024];
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  return buffer;
}

}  // namespace

thread_local bool in_host_function = false;

std::string text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string result = formatted(format, arguments);
  va_end(arguments);
  return result;
}

void fail(CUresult code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Failure failure{code, formatted(format, arguments)};
  va_end(arguments);
  throw failure;
}

void say(const std::string& message) {
  std::fprintf(stderr, "cuda emulator: %s\n", message.c_str());
  std::fflush(stderr);
}

const Settings& settings() {
  static const Settings values = {
      .devices = static_cast<int>(number("UNDERTOW_EMULATOR_DEVICES", 1)),
      .memory = number("UNDERTOW_EMULATOR_MEMORY", uint64_t{2} << 30),
      .seed = number("UNDERTOW_EMULATOR_SEED", 0),
      .report_leaks = number("UNDERTOW_EMULATOR_LEAKS", 0) != 0,
      .trace = number("UNDERTOW_EMULATOR_TRACE", 0) != 0,
      .protect = number("UNDERTOW_EMULATOR_PROTECT", 1) != 0,
  };
  return values;
}

std::vector<Device>& devices() {
  static auto& all = *new std::vector<Device>;
  return all;
}

void initialize() {
  if (initialized) return;
  for (int i = 0; i < settings().devices; ++i) {
    devices().push_back(Device{.ordinal = i});
    devices().back().legacy = make_legacy_stream(i);
  }
  if (settings().protect) explain_host_faults();
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  initialized = true;
}

Device& device_at(CUdevice ordinal) {
  if (ordinal < 0 || ordinal >= static_cast<int>(devices().size()))
    fail(CUDA_ERROR_INVALID_DEVICE, "no device %d", ordinal);
  return devices()[static_cast<size_t>(ordinal)];
}

Device& device_of_context(CUcontext context) {
  for (Device& device : devices()) {
    if (device.context() == context) return device;
  }
  fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", static_cast<void*>(context));
}

Device* current_device_or_null() { return current; }
void set_current_device(Device* device) { current = device; }

Device& current_device() {
  if (!current) fail(CUDA_ERROR_INVALID_CONTEXT, "this thread has no current context");
  if (!current->retained) fail(CUDA_ERROR_INVALID_CONTEXT, "the context of device %d was released", current->ordinal);
  return *current;
}

void* new_handle() {
  static uintptr_t next = 0xE000000;
  next += 16;
  return reinterpret_cast<void*>(next);
}

WithoutLock::WithoutLock() {
  ++waiting;
  lock().unlock();
}
WithoutLock::~WithoutLock() {
  lock().lock();
  --waiting;
}
bool an_operation_waits() { return waiting > 0; }
void let_it_finish() {
  while (waiting > 0) {
    lock().unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock().lock();
  }
}

CUresult guarded(const char* name, Needs needs, const std::function<CUresult()>& body) {
  if (forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs != Needs::kNothing && !initialized) return CUDA_ERROR_NOT_INITIALIZED;
  std::lock_guard<std::recursive_mutex> guard(lock());
  try {
    if (in_host_function) fail(CUDA_ERROR_NOT_PERMITTED, "a host function of a stream may not call the driver");
    if (needs == Needs::kContext) {
      if (CUresult broken = current_device().broken) return broken;
    }
    CUresult result = body();
    // The body may have run kernels that failed.
    if (result == CUDA_SUCCESS && needs == Needs::kContext) result = current_device().broken;
    if (settings().trace) say(text("%s returned %d", name, result));
    return result;
  } catch (const Failure& failure) {
    if (!failure.message.empty()) say(std::string(name) + ": " + failure.message);
    return failure.code;
  }
}

}  // namespace emulator
