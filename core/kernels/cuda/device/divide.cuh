// divide.cuh: a quotient and its remainder: a 32-bit division is several times cheaper than a 64-bit one.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

struct Divided {
  int64_t whole, rest;
};
// For i >= 0 and by > 0.
UT_DEVICE Divided divided(int64_t i, int64_t by) {
  if ((i | by) >> 32) {
    const int64_t whole = i / by;
    return {whole, i - whole * by};
  }
  const uint32_t whole = static_cast<uint32_t>(i) / static_cast<uint32_t>(by);
  return {whole, static_cast<uint32_t>(i) - whole * static_cast<uint32_t>(by)};
}

}  // namespace undertow
