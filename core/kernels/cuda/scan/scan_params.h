// scan_params.h: the parameters of the scan kernels. Included by the host and by device code; the includer has defined
// int64_t.
#pragma once

namespace undertow {

inline constexpr int kScanThreads = 256, kScanItems = 8;
inline constexpr int kMaxScanChunks = 512;  // of one line

// Row-major memory as outer x n x inner. Each line has `chunks` chunks of `chunk` elements, scanned independently;
// `from` the end: element i of a line is n - 1 - i.
struct ScanShape {
  int64_t outer, n, inner, chunk;
  int64_t chunks;
  bool from_the_end;
};

}  // namespace undertow
