// cusolver.h: NVIDIA's library of factorizations, opened at run time. Names and values are those of cusolverDn.h.
#pragma once
#include <mutex>

#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda/driver/library_types.h"

namespace undertow::core::cuda {

using cusolverStatus_t = int;
using cusolverDnHandle_t = struct cusolverDnContext*;
using cusolverDnParams_t = struct cusolverDnParams*;

inline constexpr int kSolverLower = 0;                          // cublasFillMode_t
inline constexpr int kSolverNoVectors = 0, kSolverVectors = 1;  // cusolverEigMode_t

// Functions for any dtype come in pairs: the first one says how much memory the second one needs.
struct Cusolver {
  cusolverStatus_t (*create)(cusolverDnHandle_t* handle);
  cusolverStatus_t (*set_stream)(cusolverDnHandle_t handle, CUstream stream);
  cusolverStatus_t (*create_params)(cusolverDnParams_t* params);

  cusolverStatus_t (*getrf_size)(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n, LibraryType,
                                 const void* a, int64_t lda, LibraryType compute, size_t* device, size_t* host);
  cusolverStatus_t (*getrf)(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n, LibraryType, void* a,
                            int64_t lda, int64_t* pivots, LibraryType compute, void* device, size_t device_bytes,
                            void* host, size_t host_bytes, int* info);
  cusolverStatus_t (*getrs)(cusolverDnHandle_t, cusolverDnParams_t, int transposed, int64_t n, int64_t columns,
                            LibraryType, const void* a, int64_t lda, const int64_t* pivots, LibraryType, void* b,
                            int64_t ldb, int* info);
  cusolverStatus_t (*potrf_size)(cusolverDnHandle_t, cusolverDnParams_t, int fill, int64_t n, LibraryType,
                                 const void* a, int64_t lda, LibraryType compute, size_t* device, size_t* host);
  cusolverStatus_t (*potrf)(cusolverDnHandle_t, cusolverDnParams_t, int fill, int64_t n, LibraryType, void* a,
                            int64_t lda, LibraryType compute, void* device, size_t device_bytes, void* host,
                            size_t host_bytes, int* info);
  cusolverStatus_t (*geqrf_size)(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n, LibraryType,
                                 const void* a, int64_t lda, LibraryType, const void* tau, LibraryType compute,
                                 size_t* device, size_t* host);
  cusolverStatus_t (*geqrf)(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n, LibraryType, void* a,
                            int64_t lda, LibraryType, void* tau, LibraryType compute, void* device, size_t device_bytes,
                            void* host, size_t host_bytes, int* info);
  cusolverStatus_t (*syevd_size)(cusolverDnHandle_t, cusolverDnParams_t, int vectors, int fill, int64_t n, LibraryType,
                                 const void* a, int64_t lda, LibraryType, const void* values, LibraryType compute,
                                 size_t* device, size_t* host);
  cusolverStatus_t (*syevd)(cusolverDnHandle_t, cusolverDnParams_t, int vectors, int fill, int64_t n, LibraryType,
                            void* a, int64_t lda, LibraryType, void* values, LibraryType compute, void* device,
                            size_t device_bytes, void* host, size_t host_bytes, int* info);
  cusolverStatus_t (*gesvd_size)(cusolverDnHandle_t, cusolverDnParams_t, signed char job_u, signed char job_v,
                                 int64_t m, int64_t n, LibraryType, const void* a, int64_t lda, LibraryType,
                                 const void* s, LibraryType, const void* u, int64_t ldu, LibraryType, const void* vt,
                                 int64_t ldvt, LibraryType compute, size_t* device, size_t* host);
  cusolverStatus_t (*gesvd)(cusolverDnHandle_t, cusolverDnParams_t, signed char job_u, signed char job_v, int64_t m,
                            int64_t n, LibraryType, void* a, int64_t lda, LibraryType, void* s, LibraryType, void* u,
                            int64_t ldu, LibraryType, void* vt, int64_t ldvt, LibraryType compute, void* device,
                            size_t device_bytes, void* host, size_t host_bytes, int* info);

  // One per dtype, in the order float, double, complex float, complex double; sizes in elements.
  cusolverStatus_t (*form_q_size[4])(cusolverDnHandle_t, int m, int n, int k, const void* a, int lda, const void* tau,
                                     int* elements);
  cusolverStatus_t (*form_q[4])(cusolverDnHandle_t, int m, int n, int k, void* a, int lda, const void* tau, void* work,
                                int elements, int* info);

  static void check(cusolverStatus_t status, const char* operation);
};

// Opened on first use; null if it is not installed.
const Cusolver* cusolver();

// A device's handle, for one thread at a time.
class CusolverSession {
 public:
  CusolverSession(int device, CUstream stream);
  cusolverDnHandle_t handle() const { return handle_; }
  cusolverDnParams_t params() const { return params_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cusolverDnHandle_t handle_;
  cusolverDnParams_t params_;
};

}  // namespace undertow::core::cuda
