// elementwise.cpp: launches of elementwise.cuh.
#include <algorithm>
#include <bit>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/strided_host.h"
#include "core/kernels/cuda/loss/elementwise_params.h"
#include "core/kernels/cuda/loss/losses.h"
#include "core/kernels/cuda/runtime/device_errors.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate values_kernel("loss/elementwise.cuh", "loss_values");
KernelTemplate gradients_kernel("loss/elementwise.cuh", "loss_gradients");
KernelTemplate sums_kernel("loss/elementwise.cuh", "loss_sums");
KernelTemplate add_up("loss/elementwise.cuh", "add_up_blocks");

constexpr unsigned kThreads = 256;
constexpr int64_t kMostBlocks = 1024;  // whose sums one block then adds up

// Names of the device's enum Loss, in the order of LossKind.
const char* name_of(LossKind kind) {
  static constexpr const char* kNames[] = {"Squared",   "SmoothL1",         "Huber", "SoftMargin", "Bce",
                                           "BceLogits", "BceLogitsWeighted"};
  return kNames[static_cast<size_t>(kind)];
}

LaunchShape shape_for(int64_t n) {
  return {.blocks = std::min<int64_t>(blocks_for(n, kThreads * 4), 65536), .threads = kThreads};
}

void raise_outside_unit(int64_t bits, int64_t which, int64_t) {
  UT_FAIL("all elements of ", which ? "target" : "input", " should be between 0 and 1, got ",
          std::bit_cast<double>(bits));
}
undertow::UnitCheck unit_check(const Launcher& on) {
  return {device_error_slot(on.device()), reinterpret_cast<int64_t>(raise_outside_unit)};
}

LossOperands operands_of(const ElementwiseIter& iter) {
  LossOperands at{};
  for (int k = 0; k < iter.count(); k++) at.p[k] = iter.pointer(k);
  return at;
}

// Calls f(number) in the dtype's type.
template <class F>
void as_real(DType t, double value, F&& f) {
  if (t == DType::Float64)
    f(value);
  else
    f(static_cast<float>(value));
}

}  // namespace

void loss_values(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  as_real(dtype, loss.limit, [&](auto limit) {
    on.run(values_kernel, {dtype, name_of(loss.kind)}, shape_for(iter.numel()), operands_of(iter), iter.numel(), limit,
           unit_check(on), layout_of(iter));
  });
}

void loss_gradients(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss, const Tensor& shared,
                    bool mean) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  const bool each = !shared.defined();
  as_real(dtype, loss.limit, [&](auto limit) {
    auto count = static_cast<decltype(limit)>(mean ? iter.numel() : 1);
    on.run(gradients_kernel, {dtype, name_of(loss.kind), each}, shape_for(iter.numel()), operands_of(iter),
           iter.numel(), limit, each ? nullptr : shared.data(), count, layout_of(iter));
  });
}

void loss_total(const Tensor& out, const Tensor& x, const Tensor& y, const ElementwiseLoss& loss, bool mean) {
  Launcher on(x);
  const int64_t n = x.numel(), blocks = std::clamp<int64_t>(blocks_for(n, kThreads * 16), 1, kMostBlocks);
  const double count = mean ? static_cast<double>(n) : 1;
  Tensor parts;
  if (blocks > 1) parts = empty_on_device_of(x, Dims{blocks}, DType::Float64);
  as_real(out.dtype(), loss.limit, [&](auto limit) {
    on.run(sums_kernel, {out.dtype(), name_of(loss.kind)}, {.blocks = blocks, .threads = kThreads}, out.data(),
           blocks > 1 ? parts.data() : nullptr, x.data(), y.data(), n, limit, count, unit_check(on));
  });
  if (blocks > 1)
    on.run(add_up, {out.dtype()}, {.blocks = 1, .threads = kThreads}, out.data(), parts.data(), blocks, count);
}

}  // namespace undertow::core::cuda
