// ctc.cpp: launches of ctc.cuh.
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/loss/ctc_params.h"
#include "core/kernels/cuda/loss/losses.h"
#include "core/kernels/cuda/runtime/device_errors.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate check_kernel("loss/ctc.cuh", "ctc_check_labels<>");
KernelTemplate forward_kernel("loss/ctc.cuh", "ctc_forward");
KernelTemplate backward_kernel("loss/ctc.cuh", "ctc_backward_steps");

constexpr unsigned kThreads = 256;

// The lengths are lists on the host: `data` holds them on the device.
struct Batch {
  Tensor data;
  CtcShape shape;
};
Batch on_device(const CtcBatch& b) {
  Tensor host = empty(Dims{b.samples, 3}, DType::Int64);
  auto* to = reinterpret_cast<CtcSampleData*>(host.data());
  for (size_t i = 0; i < static_cast<size_t>(b.samples); i++)
    to[i] = {b.start[i], b.input_lengths[i], b.target_lengths[i]};
  Tensor data = empty_on_device_of(b.labels, host.sizes(), DType::Int64);
  copy_kernels.copy_across(data, host);
  return {data,
          {b.labels.data_as<int64_t>(), reinterpret_cast<const CtcSampleData*>(data.data()), b.samples, b.steps,
           b.classes, b.blank, 2 * b.longest + 1}};
}

void raise_bad_label(int64_t label, int64_t sample, int64_t classes) {
  UT_FAIL("ctc_loss: label ", label, " of sample ", sample, " is not one of ", classes, " classes");
}

}  // namespace

void check_labels(const CtcBatch& batch) {
  Launcher on(batch.labels);
  Batch b = on_device(batch);
  on.run(check_kernel, {}, {.blocks = batch.samples, .threads = kThreads}, b.shape, device_error_slot(on.device()),
         reinterpret_cast<int64_t>(raise_bad_label));
  synchronize_stream(on.device(), on.stream());  // later kernels read at the labels
}

void ctc(const Tensor& loss, const Tensor& alpha, const Tensor& log_probs, const CtcBatch& batch) {
  Launcher on(log_probs);
  Batch b = on_device(batch);
  on.run(forward_kernel, {log_probs.dtype()}, {.blocks = batch.samples, .threads = kThreads}, loss.data(), alpha.data(),
         log_probs.data(), b.shape);
}

void ctc_backward(const Tensor& out, const Tensor& grad, const Tensor& log_probs, const Tensor& loss,
                  const Tensor& alpha, const CtcBatch& batch, bool zero_infinity) {
  Launcher on(log_probs);
  Batch b = on_device(batch);
  b.shape.width = alpha.size(2);
  Tensor beta = empty_on_device_of(alpha, Dims{batch.samples, 2, b.shape.width}, alpha.dtype());
  on.run(backward_kernel, {log_probs.dtype()}, {.blocks = batch.samples, .threads = kThreads}, out.data(), grad.data(),
         log_probs.data(), loss.data(), alpha.data(), beta.data(), b.shape, zero_infinity);
}

}  // namespace undertow::core::cuda
