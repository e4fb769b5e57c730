// cufft.cpp: see cufft.h.
#include "core/kernels/cuda/driver/cufft.h"

#include "core/base/error.h"
#include "core/kernels/cuda/driver/shared_library.h"

namespace undertow::core::cuda {

namespace {

struct OpenedCufft {
  Cufft functions{};
  bool found = false;

  OpenedCufft() {
    static SharedLibrary library("UNDERTOW_CUFFT", "libcufft.so.12 libcufft.so.11");
    if (!library) return;
    Cufft& f = functions;
    library.load(f.create, "cufftCreate");
    library.load(f.destroy, "cufftDestroy");
    library.load(f.set_auto_allocation, "cufftSetAutoAllocation");
    library.load(f.set_work_area, "cufftSetWorkArea");
    library.load(f.set_stream, "cufftSetStream");
    library.load(f.make_plan_many, "cufftMakePlanMany64");
    library.load(f.exec_c2c, "cufftExecC2C");
    library.load(f.exec_z2z, "cufftExecZ2Z");
    library.load(f.exec_r2c, "cufftExecR2C");
    library.load(f.exec_d2z, "cufftExecD2Z");
    library.load(f.exec_c2r, "cufftExecC2R");
    library.load(f.exec_z2d, "cufftExecZ2D");
    found = true;
  }
};

}  // namespace

void Cufft::check(cufftResult result, const char* operation) {
  if (UT_LIKELY(result == 0)) return;
  UT_FAIL_AS(Accelerator, "cuFFT error: ", operation, " returned ", result);
}

const Cufft* cufft() {
  static const OpenedCufft opened;
  return opened.found ? &opened.functions : nullptr;
}

}  // namespace undertow::core::cuda
