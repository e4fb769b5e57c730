// cufft.h: NVIDIA's library of Fourier transforms, opened at run time. Names and values are those of cufft.h.
#pragma once
#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

using cufftResult = int;
using cufftHandle = int;

// cufftType
enum class FftKind : int {
  RealToComplex = 0x2a,
  ComplexToReal = 0x2c,
  Complex = 0x29,
  DoubleToComplex = 0x6a,
  ComplexToDouble = 0x6c,
  DoubleComplex = 0x69,
};
inline constexpr int kFftForward = -1, kFftInverse = 1;

struct Cufft {
  cufftResult (*create)(cufftHandle* plan);
  cufftResult (*destroy)(cufftHandle plan);
  cufftResult (*set_auto_allocation)(cufftHandle plan, int allocate);
  cufftResult (*set_work_area)(cufftHandle plan, void* memory);
  cufftResult (*set_stream)(cufftHandle plan, CUstream stream);
  // Strides between the elements of a line, and distances between lines.
  cufftResult (*make_plan_many)(cufftHandle plan, int rank, long long* n, long long* in_sizes, long long in_stride,
                                long long in_distance, long long* out_sizes, long long out_stride,
                                long long out_distance, FftKind kind, long long batch, size_t* work_size);
  cufftResult (*exec_c2c)(cufftHandle plan, void* in, void* out, int direction);
  cufftResult (*exec_z2z)(cufftHandle plan, void* in, void* out, int direction);
  cufftResult (*exec_r2c)(cufftHandle plan, void* in, void* out);
  cufftResult (*exec_d2z)(cufftHandle plan, void* in, void* out);
  cufftResult (*exec_c2r)(cufftHandle plan, void* in, void* out);
  cufftResult (*exec_z2d)(cufftHandle plan, void* in, void* out);

  static void check(cufftResult result, const char* operation);
};

// Opened on first use; null if it is not installed.
const Cufft* cufft();

}  // namespace undertow::core::cuda
