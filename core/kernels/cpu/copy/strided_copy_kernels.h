// strided_copy_kernels.h: planes of elements moved between two layouts, and runs converted between types, once per
// instruction set. Works on bits of one, two, four, eight or sixteen bytes; knows no tensor.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

// `rows` runs of `n` elements; steps and rows in bytes, negative ones read or write backwards.
struct MovePlane {
  char* to;
  const char* from;
  int64_t n, to_step, from_step;
  int64_t rows, to_row, from_row;
};

enum class ConvertType : uint8_t { Bool, UInt8, Int32, Int64, Float32, Float64 };

struct MoveKernels {
  using Plane = void (*)(const MovePlane& plane);
  using Convert = void (*)(char* to, const char* from, int64_t n);
  // Not memcpy: the C library copies long runs by one string instruction, which is several times slower where source
  // and destination are not aligned alike.
  void (*bytes)(char* to, const char* from, int64_t count);
  Plane (*plane)(int64_t width);
  // Null for a pair that has no loop of its own.
  Convert (*convert)(ConvertType to, ConvertType from);
};

UNDERTOW_FOR_EACH_ISA(const MoveKernels& move_kernels();)

}  // namespace undertow::cpu
