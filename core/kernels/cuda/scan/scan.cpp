// scan.cpp: the CUDA backend's ScanKernels: cumulative sums, products, logsumexp and extrema.
#include "core/kernels/cuda/scan/scan.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/scan/scan_params.h"

namespace undertow::core::cuda {

namespace {

using undertow::ScanShape;

KernelTemplate scan_columns("scan/scan.cuh", "scan_columns");
KernelTemplate scan_lines("scan/scan.cuh", "scan_lines");
KernelTemplate scan_starts("scan/scan.cuh", "scan_starts");

constexpr unsigned kThreads = 256;
constexpr int64_t kAccBytes = 24;      // of the largest accumulator
constexpr int kMaxOp = 3, kMinOp = 4;  // after the operations of Scan, see scan.cuh

void run_scan(const Tensor& out, const Tensor* indices, const Tensor& in, int64_t d, int op, bool from_the_end) {
  ScanShape s{1, 1, 1, 0, 1, from_the_end};
  for (int64_t k = 0; k < in.dim(); k++) (k < d ? s.outer : k == d ? s.n : s.inner) *= in.size(k);
  Launcher on(out);
  bool lines = s.inner == 1 && s.n > 32;
  int64_t count = s.outer * s.inner, wanted = int64_t{4} * on.multiprocessors() * (lines ? 1 : kThreads);
  int64_t least = lines ? 4 * undertow::kScanThreads * undertow::kScanItems : 256;  // elements of a chunk
  s.chunks = std::clamp<int64_t>(std::min(wanted / count, s.n / least), 1, undertow::kMaxScanChunks);
  s.chunk = blocks_for(s.n, s.chunks);
  s.chunks = blocks_for(s.n, s.chunk);
  KernelTemplate& kernel = lines ? scan_lines : scan_columns;
  LaunchShape shape{.blocks = lines ? count * s.chunks : blocks_for(count * s.chunks, kThreads), .threads = kThreads};
  char* where = indices ? indices->data() : nullptr;
  DType t = in.dtype();
  Tensor starts;
  char* kept = nullptr;
  if (s.chunks > 1) {
    starts = empty_on_device_of(in, Dims{count * s.chunks * kAccBytes}, DType::UInt8);
    kept = starts.data();
    on.run(kernel, {op, t, true}, shape, out.data(), where, in.data(), kept, s);
    on.run(scan_starts, {op, t}, {.blocks = count, .threads = undertow::kMaxScanChunks}, kept, count, s.chunks);
  }
  on.run(kernel, {op, t, false}, shape, out.data(), where, in.data(), kept, s);
}

void scan(const Tensor& out, const Tensor& in, int64_t d, Scan op, bool from_the_end) {
  run_scan(out, nullptr, in, d, static_cast<int>(op), from_the_end);
}

void extremum(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool max) {
  if (in.numel() == 0) return;
  run_scan(values, &indices, contiguous(in), d, max ? kMaxOp : kMinOp, false);
}

}  // namespace

const ScanKernels scan_kernels = {.scan = scan, .extremum = extremum};

}  // namespace undertow::core::cuda
