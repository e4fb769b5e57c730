// elementwise.cpp: elementwise losses: divides tensors into runs, and stores or sums the runs' values.
// The arithmetic is in loss.isa.cpp.
#include <algorithm>

#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/loss/loss_kernels.h"
#include "core/kernels/cpu/loss/losses.h"
#include "core/kernels/cpu/reduce/reduce_kernels.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kRun = 1024;         // elements: three runs of them fit L1
constexpr int64_t kChunk = 16 * kRun;  // the work of one thread

template <class T>
const LossLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(loss_float());
  else
    return UNDERTOW_CHOOSE_ISA(loss_double());
}

// `n` elements `stride` bytes apart as contiguous memory: in place if they are contiguous, else copied to `room`.
template <class T>
const T* side_by_side(const char* p, int64_t stride, int64_t n, T* room) {
  if (stride == sizeof(T)) return reinterpret_cast<const T*>(p);
  for (int64_t i = 0; i < n; i++) room[i] = *reinterpret_cast<const T*>(p + i * stride);
  return room;
}

template <class F>
void as_real(DType wide, F&& f) {
  if (wide == DType::Float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

// Calls f(LossRun, operand pointers, strides) for runs of at most kRun elements of a built iterator: output, x, y, the
// weight if there is one, then any other operands of the caller.
template <class T, class F>
void for_each_run(const ElementwiseIter& iter, const ElementwiseLoss& loss, F&& f) {
  const int count = iter.count();
  const bool weighted = loss.kind == LossKind::BceLogitsWeighted;
  walk(
      iter,
      [&](char* const* p, const int64_t* s, int64_t n) {
        T rooms[3][kRun];
        char* at[kMaxOperands];
        for (int64_t i = 0; i < n; i += kRun) {
          for (int k = 0; k < count; k++) at[k] = p[k] + i * s[k];
          int64_t length = std::min(kRun, n - i);
          const T *x = side_by_side<T>(at[1], s[1], length, rooms[0]),
                  *y = side_by_side<T>(at[2], s[2], length, rooms[1]);
          const T* w = weighted ? side_by_side<T>(at[3], s[3], length, rooms[2]) : nullptr;
          f(LossRun<T>{x, y, w, length, static_cast<T>(loss.limit)}, at, s);
        }
      },
      kChunk);
}

// Writes a run to the output; results[] is where the kernel wrote it.
template <class T>
void put(char* out, int64_t stride, const T* results, int64_t n) {
  if (reinterpret_cast<const char*>(results) == out) return;
  for (int64_t i = 0; i < n; i++) *reinterpret_cast<T*>(out + i * stride) = results[i];
}

// If a run has elements outside [0, 1], finds the first one.
template <class T>
void check_unit(const LossRun<T>& run) {
  if (!loops<T>().outside_unit_interval(run.x, run.n) && !loops<T>().outside_unit_interval(run.y, run.n)) return;
  for (int64_t i = 0; i < run.n; i++) {
    UT_CHECK(run.x[i] >= T(0) && run.x[i] <= T(1), "all elements of input should be between 0 and 1, got ", run.x[i]);
    UT_CHECK(run.y[i] >= T(0) && run.y[i] <= T(1), "all elements of target should be between 0 and 1, got ", run.y[i]);
  }
}

template <class T>
void run_values(const ElementwiseLoss& loss, const LossRun<T>& run, T* out) {
  if (loss.kind == LossKind::Bce) check_unit(run);
  loops<T>().values(loss.kind, run, out);
}

// The sum over contiguous tensors, without storing all terms: runs are summed accurately (Note [Accurate Sums]), their
// sums in double, chunks in order.
template <class T>
double sum_of(const Tensor& x_in, const Tensor& y_in, const ElementwiseLoss& loss) {
  int64_t n = x_in.numel();
  FoldFn fold = fold_fn(Fold::Sum, x_in.dtype());
  const T *x = x_in.data_as<T>(), *y = y_in.data_as<T>();
  SmallVector<double, 8> sums(static_cast<size_t>((n + kChunk - 1) / kChunk));
  parallel_for(0, n, kChunk, [&](int64_t begin, int64_t end) {
    T room[kRun], one;
    double sum = 0;
    for (int64_t i = begin; i < end; i += kRun) {
      LossRun<T> run{x + i, y + i, nullptr, std::min(kRun, end - i), static_cast<T>(loss.limit)};
      run_values(loss, run, room);
      fold.fold(reinterpret_cast<const char*>(room), 1, 0, run.n, sizeof(T), reinterpret_cast<char*>(&one));
      sum += static_cast<double>(one);
    }
    sums[static_cast<size_t>(begin / kChunk)] = sum;
  });
  double sum = 0;
  for (double s : sums) sum += s;
  return sum;
}

}  // namespace

void loss_values(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss) {
  as_real(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_run<T>(iter, loss, [&](const LossRun<T>& run, char* const* p, const int64_t* s) {
      T room[kRun];
      T* out = s[0] == sizeof(T) ? reinterpret_cast<T*>(p[0]) : room;
      run_values(loss, run, out);
      put(p[0], s[0], out, run.n);
    });
  });
}

void loss_total(const Tensor& out, const Tensor& x, const Tensor& y, const ElementwiseLoss& loss, bool mean) {
  as_real(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    double sum = sum_of<T>(x, y, loss);
    *out.data_as<T>() = static_cast<T>(mean ? sum / static_cast<double>(x.numel()) : sum);
  });
}

void loss_gradients(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss, const Tensor& shared,
                    bool mean) {
  as_real(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool each = !shared.defined();
    T one = each ? T(0) : *shared.data_as<T>();
    if (mean) one /= static_cast<T>(iter.numel());
    const int last = iter.count() - 1;
    for_each_run<T>(iter, loss, [&](const LossRun<T>& run, char* const* p, const int64_t* s) {
      T rooms[2][kRun];
      T* out = s[0] == sizeof(T) ? reinterpret_cast<T*>(p[0]) : rooms[0];
      const T* grads = each ? side_by_side<T>(p[last], s[last], run.n, rooms[1]) : &one;
      loops<T>().gradients(loss.kind, run, grads, each, out);
      put(p[0], s[0], out, run.n);
    });
  });
}

}  // namespace undertow::core::cpu
