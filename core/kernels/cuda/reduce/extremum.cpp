// extremum.cpp: see extremum.h. Launches of extremum.cuh for dense rows; of a fold and a search for other lines.
#include "core/kernels/cuda/reduce/extremum.h"

#include <algorithm>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/reduce/extremum_params.h"
#include "core/kernels/cuda/reduce/finish_params.h"
#include "core/kernels/cuda/reduce/fold.h"

namespace undertow::core::cuda {

namespace {

using undertow::ExtremumRows;

KernelTemplate row_extremum("reduce/extremum.cuh", "row_extremum");
KernelTemplate first_index_kernel("reduce/finish.cuh", "first_index");

constexpr unsigned kThreads = undertow::kExtremumThreads;

void run_rows(const Launcher& on, char* values, char* at, const char* in, const char* places, DType t, bool max,
              bool whole_block, const ExtremumRows& p) {
  const int lanes = whole_block ? static_cast<int>(kThreads) : 32;
  on.run(row_extremum, {t, max, lanes}, {.blocks = blocks_for(p.rows * p.parts * lanes, kThreads), .threads = kThreads},
         values, at, in, places, p);
}

// One pass over memory, and two launches if there are few rows.
void of_rows(const Tensor& values, const Tensor& at, const Tensor& in, bool max) {
  Launcher on(in);
  const int64_t n = in.size(-1), rows = in.numel() / n, wanted = int64_t{8} * on.multiprocessors();
  constexpr int64_t kLeast = 8192, kMost = int64_t{1} << 28;  // elements of a part
  const DType t = in.dtype();
  const bool whole_block = n > 2048 || (n > 256 && rows < wanted);
  ExtremumRows p{rows, n, 1, n};
  if (whole_block)
    p.parts = std::max(std::clamp<int64_t>(std::min(wanted / rows, n / kLeast), 1, 4096), blocks_for(n, kMost));
  p.chunk = blocks_for(blocks_for(n, p.parts), 64) * 64;  // whole packs of every dtype
  p.parts = blocks_for(n, p.chunk);
  if (p.parts == 1) return run_rows(on, values.data(), at.data(), in.data(), nullptr, t, max, whole_block, p);
  Tensor of_parts = empty_on_device_of(in, Dims{rows, p.parts}, t),
         places = empty_on_device_of(in, Dims{rows, p.parts}, DType::Int64);
  run_rows(on, of_parts.data(), places.data(), in.data(), nullptr, t, max, true, p);
  run_rows(on, values.data(), at.data(), of_parts.data(), places.data(), t, max, p.parts > 256,
           {rows, p.parts, 1, p.parts});
}

// at = the first index along d where `in` equals `values`. NaN equals NaN.
void first_index(const Tensor& at, const Tensor& in, const Tensor& values, int64_t d) {
  Tensor plain = contiguous(in);
  int64_t inner = 1, w = plain.itemsize(), n = plain.size(d);
  for (int64_t k = d + 1; k < plain.dim(); k++) inner *= plain.size(k);
  undertow::FirstIndex p{at.numel(), inner, n, n, n * inner * w, w, inner * w};
  Launcher on(at);
  int64_t wanted = int64_t{8} * on.multiprocessors();
  // A block for each of few outputs, a warp for each of more, a thread where neighbours are different outputs.
  int lanes = inner >= 32 ? 1 : p.outputs < wanted && n >= 4 * kThreads ? static_cast<int>(kThreads) : 32;
  int64_t blocks = blocks_for(p.outputs * lanes, kThreads);
  int64_t parts = std::clamp<int64_t>(std::min(wanted / blocks, n / (16 * lanes)), 1, 65535);
  p.chunk = blocks_for(n, parts);
  parts = blocks_for(n, p.chunk);
  if (parts > 1 || lanes > 32) copy_kernels.fill(at, Scalar(static_cast<long>(n)));
  on.run(first_index_kernel, {plain.dtype(), lanes},
         {.blocks = blocks, .threads = kThreads, .blocks_y = static_cast<unsigned>(parts)}, at.data(), plain.data(),
         values.data(), p);
}

}  // namespace

void extremum(const Tensor& values, const Tensor& at, const Tensor& in, int64_t d, bool max) {
  if (values.numel() == 0) return;
  if (d == in.dim() - 1 && in.is_contiguous() && in.size(d) >= 32) return of_rows(values, at, in, max);
  fold(values, in, uint64_t{1} << d, max ? Fold::Max : Fold::Min);
  first_index(at, in, values, d);
}

}  // namespace undertow::core::cuda
