// interpreter_lock.h: lets long work release a host interpreter's lock (Python's GIL) without knowing the interpreter.
// The binding layer installs the functions. Without them, everything here does nothing.
#pragma once

namespace undertow::core {

struct InterpreterLock {
  bool (*held)();      // does this thread hold the lock?
  void* (*release)();  // returns a token for acquire
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

}  // namespace undertow::core
