// divisor_layout.h: division of 32-bit numbers by a number known at the launch, as a multiplication and a shift.
// Included by the host and by device code, so it uses no other header; the includer has defined int64_t.
#pragma once

namespace undertow {

struct Divisor {
  uint32_t value, factor, shift;
};

// For dividends and divisors below 2^31: n / d is the upper half of n * factor, plus n, shifted.
#ifndef __CUDACC__
inline Divisor divisor_of(int64_t d) {
  uint32_t shift = 0;
  while ((int64_t{1} << shift) < d) shift++;
  uint64_t factor =
      ((uint64_t{1} << 32) * ((uint64_t{1} << shift) - static_cast<uint64_t>(d))) / static_cast<uint64_t>(d) + 1;
  return {static_cast<uint32_t>(d), static_cast<uint32_t>(factor), shift};
}
#endif

}  // namespace undertow
