// strided_copy_kernels.h: copies planes of elements between two layouts, and converts runs between types, once per
// instruction set. Works on bits of one, two, four, eight or sixteen bytes; knows no tensor.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// `rows` runs of `n` elements; steps and row strides are in bytes and may be negative.
struct MovePlane {
  char* to;
  const char* from;
  int64_t n, to_step, from_step;
  int64_t rows, to_row, from_row;
};

enum class ConvertType : uint8_t { Bool, UInt8, Int8, Int16, Int32, Int64, Float32, Float64 };

struct MoveKernels {
  using Plane = void (*)(const MovePlane& plane);
  using Convert = void (*)(char* to, const char* from, int64_t n);
  // Not memcpy: the C library copies long runs with one string instruction, which is several times slower if source and
  // destination have different alignments.
  void (*bytes)(char* to, const char* from, int64_t count);
  Plane (*plane)(int64_t width);
  // Null for a pair without its own loop: the small integers convert from and to Int32 only.
  Convert (*convert)(ConvertType to, ConvertType from);
};

UNDERTOW_FOR_EACH_ISA(const MoveKernels& move_kernels();)

inline const MoveKernels& move_kernels() {
  static const MoveKernels& chosen = UNDERTOW_CHOOSE_ISA(move_kernels());
  return chosen;
}

}  // namespace undertow::core::cpu
