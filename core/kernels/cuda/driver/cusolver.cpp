// cusolver.cpp: see cusolver.h.
#include "core/kernels/cuda/driver/cusolver.h"

#include "core/base/error.h"
#include "core/kernels/cuda/driver/shared_library.h"

namespace undertow::core::cuda {

namespace {

struct OpenedCusolver {
  Cusolver functions{};
  bool found = false;

  OpenedCusolver() {
    static SharedLibrary library("UNDERTOW_CUSOLVER", "libcusolver.so.12 libcusolver.so.11");
    if (!library) return;
    Cusolver& f = functions;
    library.load(f.create, "cusolverDnCreate");
    library.load(f.set_stream, "cusolverDnSetStream");
    library.load(f.create_params, "cusolverDnCreateParams");
    library.load(f.getrf_size, "cusolverDnXgetrf_bufferSize");
    library.load(f.getrf, "cusolverDnXgetrf");
    library.load(f.getrs, "cusolverDnXgetrs");
    library.load(f.potrf_size, "cusolverDnXpotrf_bufferSize");
    library.load(f.potrf, "cusolverDnXpotrf");
    library.load(f.geqrf_size, "cusolverDnXgeqrf_bufferSize");
    library.load(f.geqrf, "cusolverDnXgeqrf");
    library.load(f.syevd_size, "cusolverDnXsyevd_bufferSize");
    library.load(f.syevd, "cusolverDnXsyevd");
    library.load(f.gesvd_size, "cusolverDnXgesvd_bufferSize");
    library.load(f.gesvd, "cusolverDnXgesvd");
    library.load(f.form_q_size[0], "cusolverDnSorgqr_bufferSize");
    library.load(f.form_q_size[1], "cusolverDnDorgqr_bufferSize");
    library.load(f.form_q_size[2], "cusolverDnCungqr_bufferSize");
    library.load(f.form_q_size[3], "cusolverDnZungqr_bufferSize");
    library.load(f.form_q[0], "cusolverDnSorgqr");
    library.load(f.form_q[1], "cusolverDnDorgqr");
    library.load(f.form_q[2], "cusolverDnCungqr");
    library.load(f.form_q[3], "cusolverDnZungqr");
    found = true;
  }
};

struct Session {
  std::mutex mutex;  // guards the handle: its stream, and the work issued to it
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
};

}  // namespace

void Cusolver::check(cusolverStatus_t status, const char* operation) {
  if (UT_LIKELY(status == 0)) return;
  UT_FAIL_AS(Accelerator, "cuSOLVER error: ", operation, " returned ", status);
}

const Cusolver* cusolver() {
  static const OpenedCusolver opened;
  return opened.found ? &opened.functions : nullptr;
}

CusolverSession::CusolverSession(int device, CUstream stream) {
  static auto* sessions = new Session[kMaxDevices];  // never destroyed: the driver may be gone at exit
  Session& s = sessions[device];
  lock_ = std::unique_lock(s.mutex);
  if (!s.handle) {
    DeviceGuard guard(device);
    Cusolver::check(cusolver()->create(&s.handle), "cusolverDnCreate");
    Cusolver::check(cusolver()->create_params(&s.params), "cusolverDnCreateParams");
  }
  Cusolver::check(cusolver()->set_stream(s.handle, stream), "cusolverDnSetStream");
  handle_ = s.handle;
  params_ = s.params;
}

}  // namespace undertow::core::cuda
