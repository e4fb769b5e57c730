// isa.cpp: queries the processor and the environment, once.
// Does not know which kernels exist.
#include "core/kernels/cpu/isa.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/base/build_info.h"

namespace undertow::core::cpu {
namespace {

Isa best_of_this_machine() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // x86-64-v3 and v4 include more than is tested here, but no processor has these features without the rest.
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
            __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::Avx512;
  if (v3) return Isa::Avx2;
#endif
  return Isa::Baseline;
}

Isa choose() {
  Isa best = best_of_this_machine();
  const char* wanted = std::getenv("UNDERTOW_ISA");
  if (!wanted) return best;
  for (Isa lower : {Isa::Baseline, Isa::Avx2}) {
    if (std::strcmp(wanted, isa_name(lower)) == 0 && lower < best) return lower;
  }
  return best;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::Baseline:
      return "baseline";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace undertow::core::cpu

const char* undertow::core::instruction_set() { return cpu::isa_name(cpu::isa()); }
