// fold.cpp: reduces a tensor over any set of dimensions: divides the work into rectangles and threads.
// The operations are in reduce_kernels.h.
//
// Note [Reduction Plan]
// Dimensions are sorted by stride and merged where memory allows. The innermost reduced dimension r and the innermost
// kept one k span the rectangle that a kernel reduces in one call; it is divided into tiles of at most about 64k
// elements. All other reduced dimensions, and the divisions of r, give a tile's outputs further partial results, which
// are combined pairwise (Note [Accurate Sums]). A work unit is a tile of outputs and a run of its partials; the units'
// results are combined in order. Nothing here depends on the number of threads, so neither do the results (Note [Fixed
// Chunks]).
#include "core/kernels/cpu/reduce/fold.h"

#include <cstring>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/reduce/reduce_kernels.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kTile = 64 * 1024;
constexpr int64_t kHalfTile = 4 * 1024;  // elements of a half dtype that are widened at once, into the L1 cache

struct Axis {
  int64_t size = 1;
  int64_t in = 0;   // byte stride in the input
  int64_t out = 0;  // stride in accumulators; 0 for a reduced dimension
};

struct Plan {
  SmallVector<Axis, 6> kept, reduced;  // innermost first, never empty
};

Plan make_plan(const Tensor& in, uint64_t mask) {
  SmallVector<Axis, 6> axes;
  int64_t out_stride = 1;
  for (int64_t d = in.dim() - 1; d >= 0; d--) {
    bool reduce = mask >> d & 1;
    if (in.size(d) != 1) axes.push_back({in.size(d), in.stride(d) * in.itemsize(), reduce ? 0 : out_stride});
    if (!reduce) out_stride *= in.size(d);
  }
  // Broadcast dimensions (stride zero) go outermost.
  auto key = [](const Axis& a) { return a.in == 0 ? std::numeric_limits<int64_t>::max() : a.in; };
  for (size_t i = 1; i < axes.size(); i++)
    for (size_t j = i; j > 0 && key(axes[j]) < key(axes[j - 1]); j--) std::swap(axes[j], axes[j - 1]);
  Plan plan;
  const Axis* last = nullptr;
  for (const Axis& a : axes) {
    bool is_reduced = a.out == 0;
    auto& list = is_reduced ? plan.reduced : plan.kept;
    bool neighbours = last && (last->out == 0) == is_reduced && a.in == last->in * last->size;
    if (neighbours && (is_reduced || a.out == last->out * last->size))
      list.back().size *= a.size;
    else
      list.push_back(a);
    last = &list.back();
  }
  if (plan.kept.empty()) plan.kept.push_back({1, 0, 1});
  if (plan.reduced.empty()) plan.reduced.push_back({1, in.itemsize(), 0});
  return plan;
}

// Offsets of the n-th index over axes[1..].
struct Offsets {
  int64_t in = 0, out = 0;
};
Offsets offset_of(const SmallVector<Axis, 6>& axes, int64_t n) {
  Offsets o;
  for (size_t d = 1; d < axes.size(); d++) {
    int64_t i = n % axes[d].size;
    n /= axes[d].size;
    o.in += i * axes[d].in;
    o.out += i * axes[d].out;
  }
  return o;
}
int64_t count_outer(const SmallVector<Axis, 6>& axes) {
  int64_t n = 1;
  for (size_t d = 1; d < axes.size(); d++) n *= axes[d].size;
  return n;
}

// Pairwise combination of rows of accumulators: level k holds the combination of 2^k rows.
class RowCounter {
 public:
  RowCounter(const FoldFn& fn, int64_t outs)
      : fn_(fn), outs_(outs), bytes_(static_cast<size_t>(outs * itemsize(fn.acc))) {}
  // Where to write the next partial result; then push() it.
  char* next() {
    if (fresh_.size() < bytes_) fresh_.resize(bytes_);
    return fresh_.data();
  }
  void push() {
    size_t k = 0;
    for (; count_ >> k & 1; k++) {
      fn_.join(levels_[k].data(), fresh_.data(), outs_);
      std::swap(levels_[k], fresh_);
    }
    if (levels_.size() <= k) levels_.emplace_back(bytes_);
    std::swap(levels_[k], fresh_);
    if (fresh_.size() < bytes_) fresh_.resize(bytes_);
    count_++;
  }
  const char* total() {
    size_t k = 0;
    while (!(count_ >> k & 1)) k++;
    std::vector<char>* sum = &levels_[k];
    for (k++; count_ >> k; k++)
      if (count_ >> k & 1) {
        fn_.join(levels_[k].data(), sum->data(), outs_);
        sum = &levels_[k];
      }
    return sum->data();
  }

 private:
  const FoldFn& fn_;
  int64_t outs_;
  size_t bytes_;
  std::vector<std::vector<char>> levels_;
  std::vector<char> fresh_;
  uint64_t count_ = 0;
};

class Reducer {
 public:
  // in_float: a half dtype, reduced by a float kernel.
  Reducer(const FoldFn& fn, const Tensor& in, uint64_t mask, char* acc, bool in_float)
      : fn_(fn), plan_(make_plan(in, mask)), in_(in.data()), acc_(acc), acc_size_(itemsize(fn.acc)) {
    const Axis &k = plan_.kept[0], &r = plan_.reduced[0];
    bool rows = r.in <= k.in || k.size == 1;
    if (in_float) half_ = HalfLines(in.dtype());
    if (rows) {
      int64_t most = half_ ? kHalfTile : kTile / 2;
      cut_r_ = std::min(r.size, most);
      cut_k_ = std::clamp<int64_t>(most / r.size, 1, k.size);
    } else if (half_) {
      cut_k_ = std::min<int64_t>(k.size, 512);
      cut_r_ = std::min(r.size, kHalfTile / cut_k_);
    } else {
      cut_k_ = std::min<int64_t>(k.size, 512);
      cut_r_ = std::min(r.size, std::max<int64_t>(128, kTile / cut_k_));
    }
    tiles_k_ = ceil_div(k.size, cut_k_);
    parts_r_ = ceil_div(r.size, cut_r_);
    outer_k_ = count_outer(plan_.kept);
    parts_ = parts_r_ * count_outer(plan_.reduced);
    int64_t part = cut_k_ * cut_r_;
    run_ = std::max<int64_t>(1, kTile / part);
    runs_ = ceil_div(parts_, run_);
  }

  void go() {
    int64_t units = outer_k_ * tiles_k_ * runs_, unit = cut_k_ * cut_r_ * std::min(run_, parts_);
    int64_t grain = std::max<int64_t>(1, kTile / 2 / std::max<int64_t>(1, unit));
    if (runs_ == 1) {
      parallel_for(0, units, grain, [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; u++) {
          Tile t = tile(u);
          if (parts_ == 1 && plan_.kept[0].out == 1) {
            fold_part(t, 0, acc_ + t.at.out * acc_size_);
            continue;
          }
          RowCounter counter(fn_, t.outs);
          fold_run(t, 0, parts_, counter);
          write(t, counter.total());
        }
      });
      return;
    }
    std::vector<char> partial(static_cast<size_t>(units * cut_k_ * acc_size_));
    auto slot = [&](int64_t tile, int64_t run) { return partial.data() + (tile * runs_ + run) * cut_k_ * acc_size_; };
    parallel_for(0, units, grain, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; u++) {
        Tile t = tile(u / runs_);
        int64_t run = u % runs_, first = run * run_, last = std::min(parts_, first + run_);
        if (last - first == 1) {
          fold_part(t, first, slot(u / runs_, run));
          continue;
        }
        RowCounter counter(fn_, t.outs);
        fold_run(t, first, last, counter);
        std::memcpy(slot(u / runs_, run), counter.total(), static_cast<size_t>(t.outs * acc_size_));
      }
    });
    for (int64_t n = 0; n < outer_k_ * tiles_k_; n++) {
      Tile t = tile(n);
      RowCounter counter(fn_, t.outs);
      for (int64_t run = 0; run < runs_; run++) {
        std::memcpy(counter.next(), slot(n, run), static_cast<size_t>(t.outs * acc_size_));
        counter.push();
      }
      write(t, counter.total());
    }
  }

 private:
  struct Tile {
    Offsets at;
    int64_t outs;
  };
  Tile tile(int64_t n) const {
    const Axis& k = plan_.kept[0];
    int64_t j = n % tiles_k_ * cut_k_;
    Offsets o = offset_of(plan_.kept, n / tiles_k_);
    o.in += j * k.in;
    o.out += j * k.out;
    return {o, std::min(cut_k_, k.size - j)};
  }
  void fold_part(const Tile& t, int64_t part, char* to) const {
    const Axis& r = plan_.reduced[0];
    int64_t i = part % parts_r_ * cut_r_;
    const char* from = in_ + t.at.in + offset_of(plan_.reduced, part / parts_r_).in + i * r.in;
    int64_t n = std::min(cut_r_, r.size - i);
    if (half_)
      fold_half(from, t.outs, plan_.kept[0].in, n, r.in, to);
    else
      fn_.fold(from, t.outs, plan_.kept[0].in, n, r.in, to);
  }
  // The same on a rectangle that is first converted to float, with its lines along the smaller stride.
  void fold_half(const char* from, int64_t outs, int64_t out_stride, int64_t n, int64_t stride, char* to) const {
    alignas(64) float wide[kHalfTile];
    bool rows = stride <= out_stride || outs == 1;
    int64_t lines = rows ? outs : n, line = rows ? n : outs, step = rows ? out_stride : stride,
            within = rows ? stride : out_stride;
    if (within == 2 && step == 2 * line)
      half_.to_float(from, lines * line, wide);
    else
      for (int64_t i = 0; i < lines; i++)
        half_.widen(line, reinterpret_cast<const uint16_t*>(from + i * step), within / 2, wide + i * line);
    constexpr int64_t width = sizeof(float);
    fn_.fold(reinterpret_cast<const char*>(wide), outs, rows ? line * width : width, n, rows ? width : line * width,
             to);
  }
  void fold_run(const Tile& t, int64_t first, int64_t last, RowCounter& counter) const {
    for (int64_t p = first; p < last; p++) {
      fold_part(t, p, counter.next());
      counter.push();
    }
  }
  void write(const Tile& t, const char* from) const {
    int64_t stride = plan_.kept[0].out;
    char* to = acc_ + t.at.out * acc_size_;
    if (stride == 1)
      std::memcpy(to, from, static_cast<size_t>(t.outs * acc_size_));
    else
      for (int64_t j = 0; j < t.outs; j++)
        std::memcpy(to + j * stride * acc_size_, from + j * acc_size_, static_cast<size_t>(acc_size_));
  }

  const FoldFn& fn_;
  Plan plan_;
  HalfLines half_;
  const char* in_;
  char* acc_;
  int64_t acc_size_;
  int64_t cut_k_, cut_r_, tiles_k_, parts_r_, outer_k_, parts_, run_, runs_;
};

// Complex numbers are added as pairs: a kept inner dimension of two reals.
Tensor pairs_of(const Tensor& z) {
  Dims sizes(z.sizes()), strides;
  for (int64_t s : z.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return alias(z, sizes, strides, 2 * z.storage_offset(), to_real(z.dtype()));
}

// A small contiguous float tensor summed whole: no plan, no threads. The loop is chosen while the library loads, not by
// the first call, which all others would have to ask about.
const auto sum_of_row = UNDERTOW_CHOOSE_ISA(sum_row);
bool is_quick(const Tensor& out, const Tensor& in, Fold op) {
  return op == Fold::Sum && in.dtype() == DType::Float32 && in.is_contiguous() && in.numel() <= 4096 &&
         out.numel() == 1;
}

// Separate from fold, whose own stack frame stays small for small sums.
[[gnu::noinline]] void fold_by_plan(const Tensor& out, const Tensor& in, uint64_t mask, Fold op) {
  if (op == Fold::Sum && in.is_complex()) return fold_by_plan(pairs_of(out), pairs_of(in), mask, op);
  FoldFn fn = fold_fn(op, in.dtype());
  bool in_float = !fn.fold && op < Fold::Any && is_reduced_float(in.dtype());
  if (in_float) fn = fold_fn(op, DType::Float32);
  if (out.numel()) Reducer(fn, in, mask, out.data(), in_float).go();
}

}  // namespace

void fold(const Tensor& out, const Tensor& in, uint64_t mask, Fold op) {
  if (is_quick(out, in, op)) {
    *out.data_as<float>() = sum_of_row(in.data_as<float>(), in.numel());
    return;
  }
  fold_by_plan(out, in, mask, op);
}

}  // namespace undertow::core::cpu
