// random_words.h: the loops of the Mersenne Twister over its words, compiled once per instruction set. They compute
// with integers, so the stream is the same for each.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

inline constexpr std::uint32_t kTwisterWords = 624;

// The last step: a word of the state to a word of the stream. Always inlined, so that no copy for one instruction set
// serves all.
[[gnu::always_inline]] inline std::uint32_t temper(std::uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

struct RandomWordLoops {
  // The next kTwisterWords words of the state.
  void (*twist)(std::uint32_t* state);
  void (*temper)(const std::uint32_t* state, std::uint32_t* out, std::size_t n);
};

UNDERTOW_FOR_EACH_ISA(const RandomWordLoops& random_words();)

}  // namespace undertow::core::cpu
