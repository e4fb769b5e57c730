// cublaslt.h: NVIDIA's library of matrix products, opened at run time. Names and values are those of cublasLt.h.
#pragma once
#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda/driver/library_types.h"

namespace undertow::core::cuda {

using cublasStatus_t = int;
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque*;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspace_size;
  cublasStatus_t state;
  float waves_count;
  int reserved[4];
};

// cublasComputeType_t
enum class BlasCompute : int { Float32 = 68, Float32FastTf32 = 77, Float64 = 70 };
// cublasLtMatmulDescAttributes_t
enum class BlasDescription : int { TransposeA = 3, TransposeB = 4, Epilogue = 7, BiasPointer = 8 };
// cublasLtMatrixLayoutAttribute_t
enum class BlasLayout : int { BatchCount = 5, StridedBatchOffset = 6 };
// cublasLtMatmulPreferenceAttributes_t
enum class BlasPreference : int {
  MaxWorkspaceBytes = 1,
  ReductionSchemeMask = 3,
  MinAlignmentA = 5,
  MinAlignmentB = 6,
  MinAlignmentC = 7,
  MinAlignmentD = 8,
};
inline constexpr int32_t kBlasTransposed = 1;                                  // cublasOperation_t
inline constexpr uint32_t kBlasEpilogueBias = 4;                               // cublasLtEpilogue_t
inline constexpr uint32_t kBlasReduceInplace = 1, kBlasReduceComputeType = 2;  // cublasLtReductionScheme_t

struct CublasLt {
  const char* (*get_status_string)(cublasStatus_t status);
  cublasStatus_t (*create)(cublasLtHandle_t* handle);
  cublasStatus_t (*matmul_desc_create)(cublasLtMatmulDesc_t* description, BlasCompute compute, LibraryType scale);
  cublasStatus_t (*matmul_desc_destroy)(cublasLtMatmulDesc_t description);
  cublasStatus_t (*matmul_desc_set_attribute)(cublasLtMatmulDesc_t description, BlasDescription attribute,
                                              const void* value, size_t size);
  cublasStatus_t (*matrix_layout_create)(cublasLtMatrixLayout_t* layout, LibraryType type, uint64_t rows,
                                         uint64_t columns, int64_t leading);
  cublasStatus_t (*matrix_layout_destroy)(cublasLtMatrixLayout_t layout);
  cublasStatus_t (*matrix_layout_set_attribute)(cublasLtMatrixLayout_t layout, BlasLayout attribute, const void* value,
                                                size_t size);
  cublasStatus_t (*matmul_preference_create)(cublasLtMatmulPreference_t* preference);
  cublasStatus_t (*matmul_preference_destroy)(cublasLtMatmulPreference_t preference);
  cublasStatus_t (*matmul_preference_set_attribute)(cublasLtMatmulPreference_t preference, BlasPreference attribute,
                                                    const void* value, size_t size);
  cublasStatus_t (*matmul_algo_get_heuristic)(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* count);
  cublasStatus_t (*matmul)(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                           cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                           const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                           cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                           size_t workspace_size, CUstream stream);

  void check(cublasStatus_t status, const char* operation) const;
};

// Opened on first use; null if it is not installed.
const CublasLt* cublaslt();
cublasLtHandle_t cublaslt_handle(int device);

}  // namespace undertow::core::cuda
