// scan_params.h: the parameters of the scan kernels. Included by the host and by device code; the includer has defined
// int64_t.
//
// Note [Scans In One Pass]
// A few long lines are scanned by many blocks, each of which reads its tile once. Blocks take tiles in the order in
// which they start, so those before are done or being worked on, and a block can wait for their sums. The sums are
// joined in a fixed order, so that the same inputs give the same bits, which a search for whatever is known already
// would not: a group is 32 tiles and has a sum; a section is 32 groups, and has the sum of all elements up to its end.
// What comes before a tile is a section, up to 31 groups and up to 31 tiles. The last tile of a group or section
// publishes its sum.
#pragma once

namespace undertow {

inline constexpr int kScanThreads = 256;
// Elements of a thread in scan_long_lines: half as many if the accumulator has more than 8 bytes.
inline constexpr int kLongScanItems = 16;
inline constexpr int kMaxScanChunks = 512;  // of one line

// Row-major memory as outer x n x inner. For scan_columns, each line has `chunks` chunks of `chunk` elements;
// `from` the end: element i of a line is n - 1 - i.
struct ScanShape {
  int64_t outer, n, inner, chunk;
  int64_t chunks;
  bool from_the_end;
};

// What the blocks of scan_long_lines tell each other; see Note [Scans In One Pass]. Per line: tiles, groups, sections.
// The ticket and what is ready begin as 0.
struct ScanProgress {
  int64_t tiles, groups, sections;
  uint32_t *ticket, *ready_tiles, *ready_groups, *ready_sections;
  void *sums_of_tiles, *sums_of_groups, *sums_of_sections;
};

}  // namespace undertow
