// ctc.cpp: connectionist temporal classification: the probability of a sequence of labels over all its alignments with
// a longer sequence of scores, and its gradient.
// build: small
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/loss/losses.h"

namespace undertow::core::cpu {

namespace {

// log(exp(a) + exp(b) + exp(c)); minus infinity if all are.
template <class T>
T log_add(T a, T b, T c) {
  T m = std::max({a, b, c});
  if (m == -std::numeric_limits<T>::infinity()) return m;
  return m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// The label at index s of a target with blanks before, between and after its labels.
int64_t label(const CtcBatch& b, int64_t i, int64_t s) {
  return s % 2 == 0 ? b.blank : b.labels.data_as<int64_t>()[b.start[static_cast<size_t>(i)] + s / 2];
}
int64_t places(const CtcBatch& b, int64_t i) { return 2 * b.target_lengths[static_cast<size_t>(i)] + 1; }

}  // namespace

void check_labels(const CtcBatch& batch) {
  for (int64_t i = 0; i < batch.samples; i++)
    for (int64_t s = 1; s < places(batch, i); s += 2) {
      int64_t l = label(batch, i, s);
      UT_CHECK(l >= 0 && l < batch.classes, "ctc_loss: label ", l, " of sample ", i, " is not one of ", batch.classes,
               " classes");
    }
}

// alpha[t][s]: the log probability of all alignments that have read the first s symbols after step t (Graves et al.
// 2006, equations 6 to 8).
void ctc(const Tensor& loss, const Tensor& alpha, const Tensor& lp, const CtcBatch& batch) {
  const int64_t sizes[3] = {batch.samples, batch.steps, 2 * batch.longest + 1};
  auto label_at = [&](int64_t i, int64_t s) { return label(batch, i, s); };
  auto places_of = [&](int64_t i) { return places(batch, i); };
  auto steps_of = [&](int64_t i) { return batch.input_lengths[static_cast<size_t>(i)]; };
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T none = -std::numeric_limits<T>::infinity(), *p = lp.data_as<T>();
    parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        T* a = alpha.data_as<T>() + i * sizes[1] * sizes[2];
        int64_t places = places_of(i), steps = steps_of(i);
        auto at = [&](int64_t t, int64_t label) { return p[(t * batch.samples + i) * batch.classes + label]; };
        for (int64_t t = 0; t < steps; t++)
          for (int64_t s = 0; s < places; s++) {
            int64_t label = label_at(i, s);
            T& to = a[t * sizes[2] + s];
            if (t == 0) {
              if (s < 2) to = at(0, label);
              continue;
            }
            const T* before = a + (t - 1) * sizes[2];
            bool skips = s > 1 && label_at(i, s - 2) != label;
            to = log_add(before[s], s > 0 ? before[s - 1] : none, skips ? before[s - 2] : none) + at(t, label);
          }
        T total;
        if (steps == 0)
          total = batch.target_lengths[static_cast<size_t>(i)] == 0 ? T(0) : none;
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
}

// With beta as alpha from the end: exp(log_probs) - sum over occurrences of a label of alpha beta / (p probability)
// (equation 16).
void ctc_backward(const Tensor& to, const Tensor& g, const Tensor& lp, const Tensor& loss, const Tensor& alpha,
                  const CtcBatch& batch, bool zero_infinity) {
  int64_t width = alpha.size(2);
  auto label_at = [&](int64_t i, int64_t s) { return label(batch, i, s); };
  auto places_of = [&](int64_t i) { return places(batch, i); };
  auto steps_of = [&](int64_t i) { return batch.input_lengths[static_cast<size_t>(i)]; };
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T none = -std::numeric_limits<T>::infinity(), *p = lp.data_as<T>();
    parallel_for(0, batch.samples, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> beta(static_cast<size_t>(width)), next(beta.size()), sums(static_cast<size_t>(batch.classes));
      for (int64_t i = begin; i < end; i++) {
        const T* a = alpha.data_as<T>() + i * batch.steps * width;
        T nll = loss.data_as<T>()[i], gi = g.data_as<T>()[i];
        int64_t places = places_of(i), steps = steps_of(i);
        if (zero_infinity && nll == std::numeric_limits<T>::infinity()) continue;
        for (int64_t t = steps - 1; t >= 0; t--) {
          const T* row = p + (t * batch.samples + i) * batch.classes;
          std::fill(sums.begin(), sums.end(), none);
          for (int64_t s = places - 1; s >= 0; s--) {
            int64_t label = label_at(i, s);
            T v = none;
            if (t == steps - 1) {
              if (s >= places - 2) v = row[label];
            } else {
              bool skips = s < places - 2 && label_at(i, s + 2) != label;
              v = log_add(next[static_cast<size_t>(s)], s < places - 1 ? next[static_cast<size_t>(s + 1)] : none,
                          skips ? next[static_cast<size_t>(s + 2)] : none) +
                  row[label];
            }
            beta[static_cast<size_t>(s)] = v;
            T& sum = sums[static_cast<size_t>(label)];
            sum = log_add(sum, a[t * width + s] + v, none);
          }
          T* out = to.data_as<T>() + (t * batch.samples + i) * batch.classes;
          for (int64_t c = 0; c < batch.classes; c++)
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
}

}  // namespace undertow::core::cpu
