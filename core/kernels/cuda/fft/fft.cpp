// fft.cpp: see fft.h: transforms by cuFFT; on the host where it is not installed.
#include "core/kernels/cuda/fft/fft.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/driver/cufft.h"
#include "core/kernels/cuda/host_kernels.h"
#include "core/kernels/cuda/runtime/plan_cache.h"
#include "core/kernels/cuda/runtime/workspace.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate scale_lines("fft/fft.cuh", "scale_lines");
KernelTemplate mirror_lines("fft/fft.cuh", "mirror_lines");

template <auto kernel>
constexpr auto on_host = HostKernel<&Backend::fft, kernel>::run;

// --- Plans

// Lines of n numbers: the distance of their elements is the same in the input and the output, that of lines is not.
struct PlanKey {
  int64_t device, kind, n, stride, in_distance, out_distance, lines;
};

struct Plan {
  cufftHandle handle = -1;
  size_t workspace = 0;
  std::mutex mutex;  // guards the handle's stream and work area while work is issued

  explicit Plan(const PlanKey& key) {
    const Cufft& fft = *cufft();
    Cufft::check(fft.create(&handle), "cufftCreate");
    long long n = key.n;
    cufftResult result = fft.set_auto_allocation(handle, 0);
    if (result == 0)
      result = fft.make_plan_many(handle, 1, &n, &n, key.stride, key.in_distance, &n, key.stride, key.out_distance,
                                  static_cast<FftKind>(key.kind), key.lines, &workspace);
    if (result == 0) return;
    fft.destroy(handle);
    Cufft::check(result, "cufftMakePlanMany64");
  }
  ~Plan() { cufft()->destroy(handle); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
};

std::shared_ptr<Plan> plan_for(const PlanKey& key) {
  static auto& plans = *new PlanCache<PlanKey, Plan>;  // never destroyed: the library may be gone at exit
  return plans.get(key, [&] { return std::make_shared<Plan>(key); });
}

// --- Lines of a tensor

// A row-major tensor as `outer` blocks of lines along a dimension; neighbouring elements of a line are `inner` apart.
struct Lines {
  int64_t outer, length, inner;
  Lines(const Tensor& t, int64_t dim)
      : outer(product(t.sizes().subspan(0, static_cast<size_t>(dim)))),
        length(t.size(dim)),
        inner(product(t.sizes().subspan(static_cast<size_t>(dim) + 1))) {}
};

struct Transform {
  FftKind kind;
  int64_t n;
  bool inverse;

  void run(const Plan& plan, char* in, char* out) const {
    const Cufft& fft = *cufft();
    int direction = inverse ? kFftInverse : kFftForward;
    switch (kind) {
      case FftKind::Complex:
        return Cufft::check(fft.exec_c2c(plan.handle, in, out, direction), "cufftExecC2C");
      case FftKind::DoubleComplex:
        return Cufft::check(fft.exec_z2z(plan.handle, in, out, direction), "cufftExecZ2Z");
      case FftKind::RealToComplex:
        return Cufft::check(fft.exec_r2c(plan.handle, in, out), "cufftExecR2C");
      case FftKind::DoubleToComplex:
        return Cufft::check(fft.exec_d2z(plan.handle, in, out), "cufftExecD2Z");
      case FftKind::ComplexToReal:
        return Cufft::check(fft.exec_c2r(plan.handle, in, out), "cufftExecC2R");
      case FftKind::ComplexToDouble:
        return Cufft::check(fft.exec_z2d(plan.handle, in, out), "cufftExecZ2D");
    }
  }
};

// Transforms all lines of `in` into those of `out`; both are row-major.
void run_lines(const Launcher& on, const Transform& t, const Tensor& out, const Tensor& in, int64_t dim) {
  Lines from(in, dim), to(out, dim);
  bool one_call = from.inner == 1;
  PlanKey key{on.device(),
              static_cast<int64_t>(t.kind),
              t.n,
              from.inner,
              one_call ? from.length : 1,
              one_call ? to.length : 1,
              one_call ? from.outer : from.inner};
  std::shared_ptr<Plan> plan = plan_for(key);
  Workspace memory(on.device(), plan->workspace);
  std::lock_guard lock(plan->mutex);
  Cufft::check(cufft()->set_stream(plan->handle, on.stream()), "cufftSetStream");
  Cufft::check(cufft()->set_work_area(plan->handle, memory.data()), "cufftSetWorkArea");
  for (int64_t i = 0; i < (one_call ? 1 : from.outer); i++)
    t.run(*plan, in.data() + i * from.length * from.inner * in.itemsize(),
          out.data() + i * to.length * to.inner * out.itemsize());
}

// A view with the dimension last.
Tensor moved_last(const Tensor& t, int64_t dim) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (auto* list : {&sizes, &strides}) std::rotate(list->begin() + dim, list->begin() + dim + 1, list->end());
  return alias(t, sizes, strides, t.storage_offset(), t.dtype());
}

constexpr int64_t kMostCalls = 16;

// cuFFT takes one distance between lines: lines of a middle dimension are transformed block by block, or, if that were
// many calls, moved to the end and back.
void transform(const Launcher& on, const Transform& t, const Tensor& out, const Tensor& in, int64_t dim) {
  Lines lines(in, dim);
  if (lines.inner == 1 || lines.outer <= kMostCalls) return run_lines(on, t, out, in, dim);
  Tensor from = contiguous(moved_last(in, dim)), view = moved_last(out, dim),
         to = empty_on_device_of(out, view.sizes(), out.dtype());
  run_lines(on, t, to, from, in.dim() - 1);
  copy(view, to);
}

LaunchShape shape_for(int64_t n) { return {.blocks = std::min<int64_t>(blocks_for(n, 256), 1 << 20)}; }

// A scale does not mix real and imaginary parts: complex numbers are pairs of real ones.
void scale_all(const Launcher& on, const Tensor& t, double scale) {
  if (scale == 1) return;
  int64_t n = t.numel() * (t.is_complex() ? 2 : 1);
  on.run(scale_lines, {to_real(t.dtype())}, shape_for(n), t.data(), scale, n);
}

bool is_double(const Tensor& t) { return to_real(t.dtype()) == DType::Float64; }

void complex(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale) {
  if (!cufft()) {
    Tensor own = in;
    if (in.data() == out.data()) {  // each argument has its own copy on the host
      own = empty_on_device_of(in, in.sizes(), in.dtype());
      copy(own, in);
    }
    return on_host<&FftKernels::complex>(out, own, dim, inverse, scale);
  }
  Launcher on(out);
  transform(on, {is_double(out) ? FftKind::DoubleComplex : FftKind::Complex, out.size(dim), inverse}, out, in, dim);
  scale_all(on, out, scale);
}

void from_real(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  if (!cufft()) return on_host<&FftKernels::from_real>(out, in, dim, scale);
  Launcher on(out);
  int64_t n = in.size(dim);
  transform(on, {is_double(out) ? FftKind::DoubleToComplex : FftKind::RealToComplex, n, false}, out, in, dim);
  if (out.size(dim) == n / 2 + 1) return scale_all(on, out, scale);
  Lines lines(out, dim);
  on.run(mirror_lines, {to_real(out.dtype())}, shape_for(lines.outer * (n / 2 + 1) * lines.inner), out.data(), scale,
         lines.outer, n, lines.inner);
}

void to_real_lines(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  if (!cufft()) return on_host<&FftKernels::to_real>(out, in, dim, scale);
  Launcher on(out);
  Tensor own = empty_on_device_of(in, in.sizes(), in.dtype());  // cuFFT may overwrite its input
  copy(own, in);
  transform(on, {is_double(out) ? FftKind::ComplexToDouble : FftKind::ComplexToReal, out.size(dim), true}, out, own,
            dim);
  scale_all(on, out, scale);
}

}  // namespace

const FftKernels fft_kernels = {.complex = complex, .from_real = from_real, .to_real = to_real_lines};

}  // namespace undertow::core::cuda
