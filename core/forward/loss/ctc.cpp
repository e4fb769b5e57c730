// ctc.cpp: connectionist temporal classification: the probability of a sequence of labels over all its alignments with
// a longer sequence of scores, and its gradient. build: small
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd_loss.h"

namespace undertow::fwd {

namespace {

// log(exp(a) + exp(b) + exp(c)); minus infinity where all are.
template <class T>
T log_add(T a, T b, T c) {
  T m = std::max({a, b, c});
  if (m == -std::numeric_limits<T>::infinity()) return m;
  return m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// A batch: where each target's labels begin and how far apart they are.
struct Batch {
  Tensor labels;
  std::vector<int64_t> start;
  int64_t stride, longest, steps, samples, classes;
  IntSpan input_lengths, target_lengths;
  // The label at place s of a target with blanks between, before and after its labels.
  int64_t label(int64_t b, int64_t s, int64_t blank) const {
    return s % 2 == 0 ? blank : labels.data_as<int64_t>()[start[static_cast<size_t>(b)] + stride * (s / 2)];
  }
  int64_t places(int64_t b) const { return 2 * target_lengths[static_cast<size_t>(b)] + 1; }
  int64_t input(int64_t b) const { return input_lengths[static_cast<size_t>(b)]; }
};

Batch batch_of(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths, IntSpan target_lengths,
               int64_t blank) {
  UT_CHECK_AS(NotImplemented, log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64,
              "\"ctc_loss_cpu\" not implemented for '", long_name(log_probs.dtype()), "'");
  UT_CHECK(log_probs.dim() == 3, "ctc_loss: expected log_probs of (steps, batch, classes), got ",
           ShapeText{log_probs.sizes()});
  Batch b{contiguous(to_dtype(targets, DType::Int64)),
          {},
          1,
          0,
          log_probs.size(0),
          log_probs.size(1),
          log_probs.size(2),
          input_lengths,
          target_lengths};
  UT_CHECK(blank >= 0 && blank < b.classes, "blank must be in label range, got ", blank, " of ", b.classes, " classes");
  UT_CHECK(static_cast<int64_t>(input_lengths.size()) == b.samples, "input_lengths must be of size batch_size, got ",
           input_lengths.size(), " for ", b.samples);
  UT_CHECK(static_cast<int64_t>(target_lengths.size()) == b.samples, "target_lengths must be of size batch_size, got ",
           target_lengths.size(), " for ", b.samples);
  UT_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == b.samples),
           "ctc_loss: expected targets one after the other or of (batch, length), got ", ShapeText{targets.sizes()},
           " for a batch of ", b.samples);
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
  for (int64_t i = 0; i < b.samples; i++)
    for (int64_t s = 1; s < b.places(i); s += 2) {
      int64_t l = b.label(i, s, blank);
      UT_CHECK(l >= 0 && l < b.classes, "ctc_loss: label ", l, " of sample ", i, " is not one of ", b.classes,
               " classes");
    }
  return b;
}

}  // namespace

// alpha[t][s]: all ways to have read the first s places after step t (Graves et al. 2006, equations 6 to 8), as
// logarithms.
std::tuple<Tensor, Tensor> _ctc_loss(const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths,
                                     IntSpan target_lengths, int64_t blank, bool) {
  Batch b = batch_of(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor lp = contiguous(log_probs);
  const int64_t sizes[3] = {b.samples, b.steps, 2 * b.longest + 1};
  Tensor alpha = full(IntSpan(sizes, 3), Scalar(-std::numeric_limits<double>::infinity()), lp.dtype()),
         loss = empty(IntSpan(sizes, 1), lp.dtype());
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T none = -std::numeric_limits<T>::infinity(), *p = lp.data_as<T>();
    parallel_for(0, b.samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        T* a = alpha.data_as<T>() + i * sizes[1] * sizes[2];
        int64_t places = b.places(i), steps = b.input(i);
        auto at = [&](int64_t t, int64_t label) { return p[(t * b.samples + i) * b.classes + label]; };
        for (int64_t t = 0; t < steps; t++)
          for (int64_t s = 0; s < places; s++) {
            int64_t label = b.label(i, s, blank);
            T& to = a[t * sizes[2] + s];
            if (t == 0) {
              if (s < 2) to = at(0, label);
              continue;
            }
            const T* before = a + (t - 1) * sizes[2];
            bool skips = s > 1 && b.label(i, s - 2, blank) != label;
            to = log_add(before[s], s > 0 ? before[s - 1] : none, skips ? before[s - 2] : none) + at(t, label);
          }
        T total;
        if (steps == 0)
          total = b.target_lengths[static_cast<size_t>(i)] == 0 ? T(0) : none;
        else {
          const T* last = a + (steps - 1) * sizes[2];
          total = log_add(last[places - 1], places > 1 ? last[places - 2] : none, none);
        }
        loss.data_as<T>()[i] = -total;
      }
    });
  };
  if (lp.dtype() == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return {loss, alpha};
}

// With beta the same from the end: exp(log_probs) - sum over places of a label of alpha beta / (p probability)
// (equation 16).
Tensor _ctc_backward(const Tensor& grad_out, const Tensor& log_probs, const Tensor& targets, IntSpan input_lengths,
                     IntSpan target_lengths, const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank,
                     bool zero_infinity) {
  Batch b = batch_of(log_probs, targets, input_lengths, target_lengths, blank);
  Tensor lp = contiguous(log_probs), alpha = contiguous(log_alpha), g = contiguous(to_dtype(grad_out, lp.dtype())),
         loss = contiguous(neg_log_likelihood);
  Tensor to = zeros(lp.sizes(), lp.dtype());
  int64_t width = alpha.size(2);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T none = -std::numeric_limits<T>::infinity(), *p = lp.data_as<T>();
    parallel_for(0, b.samples, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> beta(static_cast<size_t>(width)), next(beta.size()), sums(static_cast<size_t>(b.classes));
      for (int64_t i = begin; i < end; i++) {
        const T* a = alpha.data_as<T>() + i * b.steps * width;
        T nll = loss.data_as<T>()[i], gi = g.data_as<T>()[i];
        int64_t places = b.places(i), steps = b.input(i);
        if (zero_infinity && nll == std::numeric_limits<T>::infinity()) continue;
        for (int64_t t = steps - 1; t >= 0; t--) {
          const T* row = p + (t * b.samples + i) * b.classes;
          std::fill(sums.begin(), sums.end(), none);
          for (int64_t s = places - 1; s >= 0; s--) {
            int64_t label = b.label(i, s, blank);
            T v = none;
            if (t == steps - 1) {
              if (s >= places - 2) v = row[label];
            } else {
              bool skips = s < places - 2 && b.label(i, s + 2, blank) != label;
              v = log_add(next[static_cast<size_t>(s)], s < places - 1 ? next[static_cast<size_t>(s + 1)] : none,
                          skips ? next[static_cast<size_t>(s + 2)] : none) +
                  row[label];
            }
            beta[static_cast<size_t>(s)] = v;
            T& sum = sums[static_cast<size_t>(label)];
            sum = log_add(sum, a[t * width + s] + v, none);
          }
          T* out = to.data_as<T>() + (t * b.samples + i) * b.classes;
          for (int64_t c = 0; c < b.classes; c++)
            out[c] = (std::exp(row[c]) - std::exp(sums[static_cast<size_t>(c)] + nll - row[c])) * gi;
          std::swap(beta, next);
        }
      }
    });
  };
  if (lp.dtype() == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return to;
}

}  // namespace undertow::fwd
