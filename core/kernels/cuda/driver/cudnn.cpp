// cudnn.cpp: see cudnn.h.
#include "core/kernels/cuda/driver/cudnn.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"
#include "core/kernels/cuda/driver/shared_library.h"
#include "core/kernels/cuda/settings.h"

namespace undertow::core::cuda {

namespace {

struct OpenedCudnn {
  Cudnn functions{};
  bool found = false;

  OpenedCudnn() {
    static SharedLibrary library("UNDERTOW_CUDNN", "libcudnn.so.9");
    if (!library) return;
    Cudnn& f = functions;
    library.load(f.get_version, "cudnnGetVersion");
    library.load(f.get_error_string, "cudnnGetErrorString");
    library.load(f.get_last_error_string, "cudnnGetLastErrorString");
    library.load(f.create, "cudnnCreate");
    library.load(f.set_stream, "cudnnSetStream");
    library.load(f.create_descriptor, "cudnnBackendCreateDescriptor");
    library.load(f.destroy_descriptor, "cudnnBackendDestroyDescriptor");
    library.load(f.finalize, "cudnnBackendFinalize");
    library.load(f.set_attribute, "cudnnBackendSetAttribute");
    library.load(f.get_attribute, "cudnnBackendGetAttribute");
    library.load(f.execute, "cudnnBackendExecute");
    found = true;
  }
};

struct Session {
  std::mutex mutex;  // guards the handle: its stream, and the work issued to it
  cudnnHandle_t handle = nullptr;
  CUstream stream = nullptr;
  std::atomic<int> works{-1};  // -1: not tried
};
Session& session_of(int device) {
  static auto* sessions = new Session[kMaxDevices];  // never destroyed: the driver may be gone at exit
  return sessions[device];
}

CudnnSettings settings;
NamedSwitch enabled("cudnn.enabled", settings.enabled);
NamedSwitch benchmark("cudnn.benchmark", settings.benchmark);
NamedSwitch deterministic("cudnn.deterministic", settings.deterministic);
NamedSwitch allow_tf32("cudnn.allow_tf32", settings.tf32);
NamedSwitch deterministic_algorithms("deterministic_algorithms", settings.deterministic_algorithms);

}  // namespace

CudnnSettings& cudnn_settings() { return settings; }

void log_cudnn(const char* event, int kind, int attribute, cudnnStatus_t status) {
  static const bool wanted = [] {
    const char* v = std::getenv("UNDERTOW_CUDNN_LOG");
    return v && *v && *v != '0';
  }();
  if (!wanted) return;
  char why[1024] = "";
  if (status) cudnn()->get_last_error_string(why, sizeof(why));
  std::fprintf(stderr, "cuDNN: %s", event);
  if (kind >= 0) std::fprintf(stderr, ", descriptor %d", kind);
  if (attribute >= 0) std::fprintf(stderr, ", attribute %d", attribute);
  if (status) std::fprintf(stderr, ": %s: %s", cudnn()->get_error_string(status), why);
  std::fputc('\n', stderr);
}

void Cudnn::fail(cudnnStatus_t status, const char* operation) const {
  UT_FAIL_AS(Accelerator, "cuDNN error: ", operation, ": ", get_error_string(status));
}

const Cudnn* cudnn() {
  static const OpenedCudnn opened;
  return opened.found ? &opened.functions : nullptr;
}

bool has_cudnn(int device) {
  Session& s = session_of(device);
  int works = s.works.load(std::memory_order_acquire);
  if (works >= 0) [[likely]]
    return works;
  std::lock_guard lock(s.mutex);
  if (cudnn() && !s.handle && s.works.load(std::memory_order_relaxed) < 0) {
    DeviceGuard guard(device);
    cudnnStatus_t status = cudnn()->create(&s.handle);
    if (status) log_cudnn("cannot create a handle", -1, -1, status);
    if (status) s.handle = nullptr;
  }
  s.works.store(s.handle != nullptr, std::memory_order_release);
  return s.handle != nullptr;
}

CudnnSession::CudnnSession(int device, CUstream stream) {
  Session& s = session_of(device);
  lock_ = std::unique_lock(s.mutex);
  if (s.stream != stream) {
    cudnn()->check(cudnn()->set_stream(s.handle, stream), "cudnnSetStream");
    s.stream = stream;
  }
  handle_ = s.handle;
}

CudnnDescriptor::CudnnDescriptor(DnnKind kind) : kind_(kind) {
  cudnnStatus_t status = cudnn()->create_descriptor(kind, &descriptor_);
  if (status) log_cudnn("cannot create", static_cast<int>(kind), -1, status);
  cudnn()->check(status, "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) cudnn()->destroy_descriptor(descriptor_);
}

void CudnnDescriptor::set(DnnAttribute attribute, DnnValue type, int64_t count, const void* values) {
  cudnnStatus_t status = cudnn()->set_attribute(descriptor_, attribute, type, count, values);
  if (status) log_cudnn("cannot set", static_cast<int>(kind_), static_cast<int>(attribute), status);
  cudnn()->check(status, "cudnnBackendSetAttribute");
}

bool CudnnDescriptor::try_finalize() {
  cudnnStatus_t status = cudnn()->finalize(descriptor_);
  if (status) log_cudnn("cannot finalize", static_cast<int>(kind_), -1, status);
  return status == 0;
}

void CudnnDescriptor::finalize() {
  if (!try_finalize()) UT_FAIL_AS(Accelerator, "cuDNN error: cudnnBackendFinalize failed");
}

}  // namespace undertow::core::cuda
