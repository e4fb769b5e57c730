// isa.h: which of the instruction sets our kernels are compiled for this machine runs.
// Knows the processor only; does not know which kernels exist.
#pragma once

namespace undertow::cpu {

enum class Isa { Baseline, Avx2, Avx512 };

// The best one this processor has (Baseline wherever it is not x86-64), decided once.
// UNDERTOW_ISA=baseline|avx2|avx512 in the environment can lower it, never raise it: that is for tests and
// for comparing results between machines.
Isa isa();

const char* isa_name(Isa isa);

}  // namespace undertow::cpu
