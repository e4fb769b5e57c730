// loop_params.h: the parameters of the pointwise kernels, and how many elements a thread computes. Included by the host
// and by device code, so it uses no other header; the includer has defined int64_t.
#pragma once

namespace undertow {

inline constexpr int kPointwiseInputs = 3, kPointwiseNumbers = 4;
inline constexpr unsigned kPointwiseThreads = 128;

// The vectors of a thread are 16 bytes of the widest operand; it has at most 4 of them and at most 16 elements.
constexpr int vector_elements(int widest) { return 16 / widest; }
constexpr int vectors_per_thread(int widest) { return widest >= 4 ? 4 : widest; }
constexpr int strided_elements = 4;  // of a thread, if nothing is known about the layout

struct alignas(16) PointwiseValue {
  char bytes[16];
};

// An input is dense memory; or one value for all elements: in `constants`, or in device memory.
enum PointwiseInput : int { kDenseInput, kConstantInput, kScalarInput };

struct PointwiseOperands {
  char* out;
  const char* in[kPointwiseInputs];
  PointwiseValue constants[kPointwiseInputs];
  PointwiseValue numbers[kPointwiseNumbers];  // the operator's parameters
  PointwiseInput kinds[kPointwiseInputs];
  bool aligned;  // all memory begins at a multiple of a vector's size
};

}  // namespace undertow
