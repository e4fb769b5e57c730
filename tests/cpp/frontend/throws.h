// throws.h: whether a call raises an error that contains a text.
#pragma once
#include <cstdio>
#include <exception>
#include <string>

template <class F>
bool throws(F f, const char* text) {
  try {
    f();
  } catch (const std::exception& e) {
    bool found = std::string(e.what()).find(text) != std::string::npos;
    if (!found) std::printf("another error: %s\n", e.what());
    return found;
  }
  return false;
}
