// cublaslt.cpp: see cublaslt.h.
#include "core/kernels/cuda/driver/cublaslt.h"

#include "core/base/error.h"
#include "core/kernels/cuda/driver/shared_library.h"

namespace undertow::core::cuda {

namespace {

struct OpenedCublasLt {
  CublasLt functions{};
  bool found = false;

  OpenedCublasLt() {
    static SharedLibrary library("UNDERTOW_CUBLASLT", "libcublasLt.so.13 libcublasLt.so.12");
    if (!library) return;
    CublasLt& f = functions;
    library.load(f.get_status_string, "cublasLtGetStatusString");
    library.load(f.create, "cublasLtCreate");
    library.load(f.matmul_desc_create, "cublasLtMatmulDescCreate");
    library.load(f.matmul_desc_destroy, "cublasLtMatmulDescDestroy");
    library.load(f.matmul_desc_set_attribute, "cublasLtMatmulDescSetAttribute");
    library.load(f.matrix_layout_create, "cublasLtMatrixLayoutCreate");
    library.load(f.matrix_layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.load(f.matrix_layout_set_attribute, "cublasLtMatrixLayoutSetAttribute");
    library.load(f.matmul_preference_create, "cublasLtMatmulPreferenceCreate");
    library.load(f.matmul_preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.load(f.matmul_preference_set_attribute, "cublasLtMatmulPreferenceSetAttribute");
    library.load(f.matmul_algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.load(f.matmul, "cublasLtMatmul");
    found = true;
  }
};

}  // namespace

void CublasLt::check(cublasStatus_t status, const char* operation) const {
  if (UT_LIKELY(status == 0)) return;
  UT_FAIL_AS(Accelerator, "CUDA error: ", operation, ": ", get_status_string(status));
}

const CublasLt* cublaslt() {
  static const OpenedCublasLt opened;
  return opened.found ? &opened.functions : nullptr;
}

cublasLtHandle_t cublaslt_handle(int device) {
  static auto* handles = new DeviceHandles<cublasLtHandle_t>;
  return handles->get(device, [] {
    cublasLtHandle_t handle = nullptr;
    cublaslt()->check(cublaslt()->create(&handle), "cublasLtCreate");
    return handle;
  });
}

}  // namespace undertow::core::cuda
