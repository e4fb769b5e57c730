// random_words.isa.cpp: see random_words.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/random/random_words.h"

namespace undertow::core::cpu {
namespace {

inline std::uint32_t mixed(std::uint32_t upper, std::uint32_t lower) {
  const std::uint32_t both = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return (both >> 1) ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}

void twist(std::uint32_t* w) {
  constexpr std::uint32_t kShift = 397, kN = kTwisterWords;
  std::uint32_t i = 0;
  for (; i < kN - kShift; i++) w[i] = w[i + kShift] ^ mixed(w[i], w[i + 1]);
  for (; i < kN - 1; i++) w[i] = w[i + kShift - kN] ^ mixed(w[i], w[i + 1]);
  w[i] = w[kShift - 1] ^ mixed(w[i], w[0]);
}

void temper_all(const std::uint32_t* state, std::uint32_t* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; i++) out[i] = temper(state[i]);
}

constexpr RandomWordLoops kLoops = {twist, temper_all};

}  // namespace

namespace UNDERTOW_ISA_NS {
const RandomWordLoops& random_words() { return kLoops; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
