// signals.cpp: see signals.h.
#include "core/base/signals.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace undertow::core {

void (*run_signal_handlers)(Polls) = nullptr;

namespace {
// An interpreter handles signals on the main thread of the process.
bool is_main_thread() {
#if defined(__linux__)
  return syscall(SYS_gettid) == getpid();
#else
  return pthread_main_np() != 0;
#endif
}

// Nanoseconds, in steps of some milliseconds.
int64_t coarse_time() {
  timespec t;
#if defined(CLOCK_MONOTONIC_COARSE)
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Work that polls for the first time after this long has just begun, or its chunks are very long.
constexpr int64_t kPause = 10 * kSignalInterval;

struct Polling {
  bool known = false, main = false;
  bool paused = false;  // the last poll came after a pause
  int64_t last = 0;     // the time of the last poll
};
constinit thread_local Polling polling;
}  // namespace

bool polls_signals() {
  if (!run_signal_handlers) return false;
  if (!polling.known) {
    polling.known = true;
    polling.main = is_main_thread();
  }
  return polling.main;
}

void begin_signal_interval() {
  if (polls_signals()) polling.last = coarse_time();
}

void poll_signals(Polls where) {
  if (!polls_signals()) return;
  int64_t now = coarse_time();
  if (now - polling.last < kSignalInterval) return;
  // The interpreter looked for signals itself shortly before new work begins.
  bool began = now - polling.last > kPause && !polling.paused;
  polling.paused = began;
  polling.last = now;
  if (!began) run_signal_handlers(where);
}

}  // namespace undertow::core
