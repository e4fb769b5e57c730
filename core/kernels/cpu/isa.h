// isa.h: selects the best instruction set this CPU supports.
// Knows the processor only; does not know which kernels exist.
#pragma once

namespace undertow::core::cpu {

enum class Isa { Baseline, Avx2, Avx512 };

// The best instruction set of this processor (Baseline if it is not x86-64), detected once.
// UNDERTOW_ISA=baseline|avx2|avx512 in the environment can lower it, never raise it. That is for tests and for
// comparing results between machines.
Isa isa();

const char* isa_name(Isa isa);

// Declares the same functions for every instruction set that kernels are compiled for. *.isa.cpp files define them,
// each in the namespace of the instruction set it is compiled for.
#define UNDERTOW_FOR_EACH_ISA(...) \
  namespace isa_baseline {         \
  __VA_ARGS__                      \
  }                                \
  namespace isa_avx2 {             \
  __VA_ARGS__                      \
  }                                \
  namespace isa_avx512 {           \
  __VA_ARGS__                      \
  }

// UNDERTOW_CHOOSE_ISA(call) calls isa_baseline::call, isa_avx2::call or isa_avx512::call. It is a macro because a
// function cannot prefix a name with a namespace; except on x86-64, the other two do not exist.
#if defined(__x86_64__) && !defined(UNDERTOW_BASELINE_ONLY)
#define UNDERTOW_CHOOSE_ISA(call)                                                        \
  (::undertow::core::cpu::isa() == ::undertow::core::cpu::Isa::Avx512 ? isa_avx512::call \
   : ::undertow::core::cpu::isa() == ::undertow::core::cpu::Isa::Avx2 ? isa_avx2::call   \
                                                                      : isa_baseline::call)
// UNDERTOW_FILL_PER_ISA(fill, table) calls fill of every instruction set up to the selected one, the best last.
#define UNDERTOW_FILL_PER_ISA(fill, table)                                                           \
  do {                                                                                               \
    isa_baseline::fill(table);                                                                       \
    if (::undertow::core::cpu::isa() >= ::undertow::core::cpu::Isa::Avx2) isa_avx2::fill(table);     \
    if (::undertow::core::cpu::isa() >= ::undertow::core::cpu::Isa::Avx512) isa_avx512::fill(table); \
  } while (0)
#else
#define UNDERTOW_CHOOSE_ISA(call) (isa_baseline::call)
#define UNDERTOW_FILL_PER_ISA(fill, table) isa_baseline::fill(table)
#endif

}  // namespace undertow::core::cpu
