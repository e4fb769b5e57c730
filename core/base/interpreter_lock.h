// interpreter_lock.h: lets long work give up a host interpreter's lock without knowing what it is.
// The binding layer installs the functions; without one everything here does nothing.
#pragma once

namespace undertow {

struct InterpreterLock {
  bool (*held)();      // does this thread hold it?
  void* (*release)();  // gives it up; the token goes back to acquire
  void (*acquire)(void* token);
};
extern const InterpreterLock* interpreter_lock;

class WithoutInterpreter {
 public:
  WithoutInterpreter() {
    if (interpreter_lock && interpreter_lock->held()) token_ = interpreter_lock->release();
  }
  ~WithoutInterpreter() {
    if (token_) interpreter_lock->acquire(token_);
  }
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

 private:
  void* token_ = nullptr;
};

}  // namespace undertow
