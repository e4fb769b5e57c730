// fold.cpp: see fold.h.
//
// Note [CUDA Reductions]
// Dimensions are sorted by stride and merged where memory allows, as on the CPU. If the elements of an output lie
// closer together than the outputs, a warp or a block folds a row (fold_rows); otherwise threads side by side fold
// neighbouring columns (fold_columns). If the outputs are too few to fill the GPU, each has several parts, which a
// second launch combines. The division depends on the shape and the GPU only, so the same inputs give the same bits.
#include "core/kernels/cuda/reduce/fold.h"

#include <algorithm>
#include <bit>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/loop_nest_host.h"
#include "core/kernels/cuda/reduce/fold_params.h"

namespace undertow::core::cuda {

namespace {

using undertow::FoldParams;
using undertow::kFoldThreads;

KernelTemplate fold_rows("reduce/fold.cuh", "fold_rows");
KernelTemplate fold_columns("reduce/fold.cuh", "fold_columns");

struct Axis {
  int64_t size, in, out;  // byte strides; out is 0 for a reduced dimension
};

// Innermost first. kept: pointers and strides of the input and the output.
struct Plan {
  Loop<2> kept;
  Loop<1> reduced;
};

Plan make_plan(const Tensor& out, const Tensor& in, uint64_t mask) {
  SmallVector<Axis, 6> axes;
  int64_t out_stride = out.itemsize();
  for (int64_t d = in.dim() - 1; d >= 0; d--) {
    bool reduce = mask >> d & 1;
    if (in.size(d) != 1) axes.push_back({in.size(d), in.stride(d) * in.itemsize(), reduce ? 0 : out_stride});
    if (!reduce) out_stride *= in.size(d);
  }
  // Broadcast dimensions (stride zero) go outermost.
  auto key = [](const Axis& a) { return a.in == 0 ? INT64_MAX : a.in; };
  for (size_t i = 1; i < axes.size(); i++)
    for (size_t j = i; j > 0 && key(axes[j]) < key(axes[j - 1]); j--) std::swap(axes[j], axes[j - 1]);
  Plan plan{{{}, {}, {in.data(), out.data()}}, {{}, {}, {}}};
  const Axis* last = nullptr;
  for (const Axis& a : axes) {
    bool is_reduced = a.out == 0;
    Dims& sizes = is_reduced ? plan.reduced.sizes : plan.kept.sizes;
    bool neighbours = last && (last->out == 0) == is_reduced && !sizes.empty();
    if (neighbours && is_reduced)
      neighbours = a.in == plan.reduced.strides[0].back() * sizes.back();
    else if (neighbours)
      neighbours =
          a.in == plan.kept.strides[0].back() * sizes.back() && a.out == plan.kept.strides[1].back() * sizes.back();
    last = &a;
    if (neighbours) {
      sizes.back() *= a.size;
      continue;
    }
    sizes.push_back(a.size);
    if (is_reduced) {
      plan.reduced.strides[0].push_back(a.in);
    } else {
      plan.kept.strides[0].push_back(a.in);
      plan.kept.strides[1].push_back(a.out);
    }
  }
  return plan;
}

int64_t power_of_two_from(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }

// How one kernel divides its work.
struct Division {
  bool rows = true;
  bool dense = false;  // rows: the elements of an output are dense
  int width = 1;       // columns: outputs per thread
  int64_t lanes = 1, blocks = 1, parts = 1;
};

// Enough blocks for every multiprocessor to be full; more would only run after the others.
int64_t wanted_blocks(const Launcher& on) { return int64_t{4} * on.multiprocessors(); }

Division divide(const Launcher& on, const Plan& plan, int64_t outputs, int64_t count, int64_t width, bool divisible) {
  Division d;
  bool row =
      plan.kept.sizes.empty() || plan.reduced.sizes.empty() || plan.reduced.strides[0][0] <= plan.kept.strides[0][0];
  d.rows = row && (count > 16 || outputs == 1);
  int64_t wanted = wanted_blocks(on), least;  // elements of a part
  if (d.rows) {
    d.dense = plan.reduced.sizes.empty() || (plan.reduced.sizes.size() == 1 && plan.reduced.strides[0][0] == width);
    d.lanes = count > 2048 || (count > 256 && outputs < wanted) ? kFoldThreads : 32;
    d.blocks = blocks_for(outputs, kFoldThreads / d.lanes);
    least = 8192;
  } else {
    int64_t vector = 16 / width;
    bool vectors = !row && vector > 1 && plan.kept.strides[0][0] == width && plan.kept.sizes[0] % vector == 0 &&
                   reinterpret_cast<uintptr_t>(plan.kept.pointers[0]) % 16 == 0;
    for (size_t k = 1; k < plan.kept.sizes.size(); k++) vectors &= plan.kept.strides[0][k] % 16 == 0;
    for (int64_t s : plan.reduced.strides[0]) vectors &= s % 16 == 0;
    d.width = vectors ? static_cast<int>(vector) : 1;
    int64_t columns = outputs / d.width;
    d.lanes = std::min<int64_t>(32, power_of_two_from(columns));
    while (d.lanes < kFoldThreads && kFoldThreads / d.lanes > count) d.lanes *= 2;
    d.blocks = blocks_for(columns, d.lanes);
    least = 16 * kFoldThreads / d.lanes;
  }
  if (divisible && d.blocks * 2 <= wanted)
    d.parts = std::clamp<int64_t>(std::min(wanted / d.blocks, count / least), 1, 65535);
  return d;
}

// Writes every output, or the parts of every output: part * outputs + output.
void launch(const Launcher& on, const Plan& plan, const Division& d, Fold op, DType in, DType out, bool partial,
            int64_t outputs, int64_t count, int64_t chunk, char* to, double divisor) {
  FoldParams p{count,
               chunk,
               static_cast<uint32_t>(outputs),
               static_cast<uint32_t>(d.parts),
               static_cast<uint32_t>(d.lanes),
               plan.kept.nest(),
               plan.reduced.nest(),
               divisor};
  const char* from = plan.kept.pointers[0];
  if (d.rows)
    on.run(fold_rows, {static_cast<int>(op), in, out, partial, d.dense},
           {.blocks = blocks_for(outputs * d.parts, kFoldThreads / d.lanes), .threads = kFoldThreads}, to, from, p);
  else
    on.run(fold_columns, {static_cast<int>(op), in, out, partial, d.width},
           {.blocks = d.blocks, .threads = kFoldThreads, .blocks_y = static_cast<unsigned>(d.parts)}, to, from, p);
}

// The loop over the parts that launch() wrote: they are dense, part by part.
Plan plan_of_parts(const Plan& plan, char* partials, int64_t outputs, int64_t parts, int64_t width) {
  Plan out{plan.kept, {{}, {}, {}}};
  out.kept.pointers[0] = partials;
  int64_t stride = width;
  for (size_t d = 0; d < out.kept.sizes.size(); d++) {
    out.kept.strides[0][d] = stride;
    stride *= out.kept.sizes[d];
  }
  out.reduced.sizes.push_back(parts);
  out.reduced.strides[0].push_back(outputs * width);
  return out;
}

void fold_plan(const Launcher& on, const Plan& plan, Fold op, DType in, DType out, Device device, double divisor) {
  int64_t outputs = plan.kept.numel(), count = plan.reduced.numel();
  Division d = divide(on, plan, outputs, count, itemsize(in), true);
  if (d.parts == 1)
    return launch(on, plan, d, op, in, out, false, outputs, count, count, plan.kept.pointers[1], divisor);
  const DType acc = fold_dtype(op, in, "sum");
  constexpr int64_t kRound = 1024;  // whole vectors of every dtype
  int64_t chunk = blocks_for(blocks_for(count, d.parts), d.rows ? kRound : 1) * (d.rows ? kRound : 1);
  d.parts = blocks_for(count, chunk);
  Tensor partials = empty(Dims{d.parts, outputs}, acc, device);
  launch(on, plan, d, op, in, acc, false, outputs, count, chunk, partials.data(), divisor);
  Plan rest = plan_of_parts(plan, partials.data(), outputs, d.parts, itemsize(acc));
  Division last = divide(on, rest, outputs, d.parts, itemsize(acc), false);
  launch(on, rest, last, op, acc, out, true, outputs, d.parts, d.parts, plan.kept.pointers[1], divisor);
}

// Results are divided by `divisor`, unless it is 1.
void fold_and_divide(const Tensor& out, const Tensor& in, uint64_t mask, Fold op, double divisor) {
  if (out.numel() == 0) return;
  Plan plan = make_plan(out, in, mask);
  UT_CHECK(plan.reduced.sizes.size() <= LoopNest<1>::kMaxDims &&
               (plan.reduced.sizes.size() < 2 || plan.reduced.numel() <= kMaxLoop),
           "a CUDA reduction handles at most ", LoopNest<1>::kMaxDims, " dimensions and ", kMaxLoop,
           " elements per result that cannot be merged into one dimension");
  Launcher on(in);
  for_each_part(plan.kept, [&](const Loop<2>& kept) {
    Plan part{kept, plan.reduced};
    fold_plan(on, part, op, in.dtype(), out.dtype(), in.device(), divisor);
  });
}

}  // namespace

void fold(const Tensor& out, const Tensor& in, uint64_t mask, Fold op) { fold_and_divide(out, in, mask, op, 1); }
void mean(const Tensor& out, const Tensor& in, uint64_t mask, double n) {
  fold_and_divide(out, in, mask, Fold::Sum, n);
}

}  // namespace undertow::core::cuda
