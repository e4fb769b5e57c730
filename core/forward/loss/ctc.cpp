// ctc.cpp: connectionist temporal classification: checks of its batch; forward functions of ops/loss.toml.
// build: small
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/loss.h"
#include "core/tensor/layout.h"
#include "generated/fwd_loss.h"

namespace undertow::core::fwd {

namespace {

CtcBatch batch_of(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths, IntSpan target_lengths,
                  int64_t blank) {
  if (log_probs.dtype() != DType::Float32 && log_probs.dtype() != DType::Float64)
    throw_not_implemented("ctc_loss_cpu", log_probs.dtype());
  UT_CHECK(log_probs.dim() == 3, "ctc_loss: expected log_probs of shape (steps, batch, classes), got ",
           ShapeText{log_probs.sizes()});
  CtcBatch b{.labels = contiguous(to_dtype(targets, DType::Int64)),
             .start = {},
             .longest = 0,
             .steps = log_probs.size(0),
             .samples = log_probs.size(1),
             .classes = log_probs.size(2),
             .blank = blank,
             .input_lengths = input_lengths,
             .target_lengths = target_lengths};
  UT_CHECK(blank >= 0 && blank < b.classes, "blank must be in label range, got ", blank, " of ", b.classes, " classes");
  UT_CHECK(static_cast<int64_t>(input_lengths.size()) == b.samples, "input_lengths must be of size batch_size, got ",
           input_lengths.size(), " for ", b.samples);
  UT_CHECK(static_cast<int64_t>(target_lengths.size()) == b.samples, "target_lengths must be of size batch_size, got ",
           target_lengths.size(), " for ", b.samples);
  UT_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == b.samples),
           "ctc_loss: expected concatenated targets or targets of shape (batch, length), got ",
           ShapeText{targets.sizes()}, " for a batch of ", b.samples);
  int64_t at = 0;
  for (int64_t i = 0; i < b.samples; i++) {
    int64_t length = target_lengths[static_cast<size_t>(i)];
    UT_CHECK(length >= 0, "Expected target_lengths to have value at least 0, but got value ", length,
             " (while checking arguments for ctc_loss_allocate_outputs)");
    UT_CHECK(input_lengths[static_cast<size_t>(i)] >= 0,
             "Expected input_lengths to have value at least 0, but got value ", input_lengths[static_cast<size_t>(i)],
             " (while checking arguments for ctc_loss_allocate_outputs)");
    UT_CHECK(input_lengths[static_cast<size_t>(i)] <= b.steps, "Expected input_lengths to have value at most ", b.steps,
             ", but got value ", input_lengths[static_cast<size_t>(i)],
             " (while checking arguments for ctc_loss_allocate_outputs)");
    b.start.push_back(targets.dim() == 1 ? at : i * b.labels.size(1));
    at += length;
    b.longest = std::max(b.longest, length);
  }
  if (targets.dim() == 1)
    UT_CHECK(targets.size(0) == at, "Expected tensor to have size ", at, " at dimension 0, but got size ",
             targets.size(0), " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)");
  else
    UT_CHECK(targets.size(1) >= b.longest, "Expected tensor to have size at least ", b.longest,
             " at dimension 1, but got size ", targets.size(1),
             " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)");
  backend_of(log_probs).loss->check_labels(b);
  return b;
}

}  // namespace

std::tuple<Tensor, Tensor> _ctc_loss(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths,
                                     IntSpan target_lengths, int64_t blank, bool) {
  CtcBatch b = batch_of(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor lp = contiguous(log_probs);
  const int64_t sizes[3] = {b.samples, b.steps, 2 * b.longest + 1};
  Tensor alpha = full_on_device_of(lp, IntSpan(sizes, 3), Scalar(-std::numeric_limits<double>::infinity()), lp.dtype()),
         loss = empty_on_device_of(lp, IntSpan(sizes, 1), lp.dtype());
  backend_of(lp).loss->ctc(loss, alpha, lp, b);
  return {loss, alpha};
}

Tensor _ctc_backward(const Tensor& grad_out, const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths,
                     IntSpan target_lengths, const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                     bool zero_infinity) {
  CtcBatch b = batch_of(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor lp = contiguous(log_probs), out = zeros_on_device_of(lp, lp.sizes(), lp.dtype());
  backend_of(lp).loss->ctc_backward(out, contiguous(to_dtype(grad_out, lp.dtype())), lp, contiguous(neg_log_likelihood),
                                    contiguous(log_alpha), b, zero_infinity);
  return out;
}

}  // namespace undertow::core::fwd
