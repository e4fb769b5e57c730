// check.h: the helpers of our C++ tests: CHECK prints what failed and where, report() returns the exit status.
// Knows nothing about what is tested.
#pragma once

#include <atomic>
#include <cstdio>

inline std::atomic<int> failed_checks{0};

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      ++failed_checks;                                                    \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                     \
  } while (0)

inline int report(const char* name) {
  std::printf("%s: %s\n", name, failed_checks == 0 ? "ok" : "FAILED");
  return failed_checks == 0 ? 0 : 1;
}
