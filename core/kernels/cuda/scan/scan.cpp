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
KernelTemplate scan_long_lines("scan/scan.cuh", "scan_long_lines");
KernelTemplate scan_starts("scan/scan.cuh", "scan_starts");

constexpr unsigned kThreads = 256;
constexpr int64_t kAccBytes = 24;      // of the largest accumulator
constexpr int kMaxOp = 3, kMinOp = 4;  // after the operations of Scan, see scan.cuh

// One line, or a few: one pass over memory, 2 launches.
void run_long_lines(const Launcher& on, const Tensor& out, char* where, const Tensor& in, int op, const ScanShape& s) {
  const bool wide = where || is_complex(in.dtype());  // the accumulator
  const int64_t tile = int64_t{undertow::kScanThreads} * undertow::kLongScanItems / (wide ? 2 : 1);
  undertow::ScanProgress p{};
  p.tiles = blocks_for(s.n, tile);
  p.groups = blocks_for(p.tiles, 32);
  p.sections = blocks_for(p.groups, 32);
  const int64_t sums = s.outer * (p.tiles + p.groups + p.sections), flags_bytes = blocks_for((sums + 1) * 4, 16) * 16;
  Tensor flags = empty_on_device_of(in, Dims{flags_bytes}, DType::UInt8),
         kept = empty_on_device_of(in, Dims{sums * kAccBytes}, DType::UInt8);
  zero(flags);
  p.ticket = reinterpret_cast<uint32_t*>(flags.data());
  p.ready_tiles = p.ticket + 1;
  p.ready_groups = p.ready_tiles + s.outer * p.tiles;
  p.ready_sections = p.ready_groups + s.outer * p.groups;
  p.sums_of_tiles = kept.data();
  p.sums_of_groups = kept.data() + s.outer * p.tiles * kAccBytes;
  p.sums_of_sections = kept.data() + s.outer * (p.tiles + p.groups) * kAccBytes;
  on.run(scan_long_lines, {op, in.dtype()}, {.blocks = s.outer * p.tiles, .threads = undertow::kScanThreads},
         out.data(), where, in.data(), s, p);
}

void run_columns(const Launcher& on, const Tensor& out, char* where, const Tensor& in, int op, ScanShape& s) {
  const int64_t count = s.outer * s.inner, wanted = int64_t{4} * on.multiprocessors() * kThreads;
  constexpr int64_t kLeast = 256;  // elements of a chunk
  s.chunks = std::clamp<int64_t>(std::min(wanted / count, s.n / kLeast), 1, undertow::kMaxScanChunks);
  s.chunk = blocks_for(s.n, s.chunks);
  s.chunks = blocks_for(s.n, s.chunk);
  const LaunchShape shape{.blocks = blocks_for(count * s.chunks, kThreads), .threads = kThreads};
  const DType t = in.dtype();
  Tensor starts;
  char* kept = nullptr;
  if (s.chunks > 1) {
    starts = empty_on_device_of(in, Dims{count * s.chunks * kAccBytes}, DType::UInt8);
    kept = starts.data();
    on.run(scan_columns, {op, t, true}, shape, out.data(), where, in.data(), kept, s);
    on.run(scan_starts, {op, t}, {.blocks = count, .threads = undertow::kMaxScanChunks}, kept, count, s.chunks);
  }
  on.run(scan_columns, {op, t, false}, shape, out.data(), where, in.data(), kept, s);
}

void run_scan(const Tensor& out, const Tensor* indices, const Tensor& in, int64_t d, int op, bool from_the_end) {
  ScanShape s{1, 1, 1, 0, 1, from_the_end};
  for (int64_t k = 0; k < in.dim(); k++) (k < d ? s.outer : k == d ? s.n : s.inner) *= in.size(k);
  Launcher on(out);
  char* where = indices ? indices->data() : nullptr;
  if (s.inner != 1 || s.n <= 32) return run_columns(on, out, where, in, op, s);
  constexpr int64_t kLong = 4 * undertow::kScanThreads * undertow::kLongScanItems;
  if (s.n >= kLong && s.outer < int64_t{2} * on.multiprocessors()) return run_long_lines(on, out, where, in, op, s);
  on.run(scan_lines, {op, in.dtype()}, {.blocks = s.outer, .threads = undertow::kScanThreads}, out.data(), where,
         in.data(), s);
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
