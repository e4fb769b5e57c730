// index_params.h: parameters of the kernels on indices. Included by the host and the device; the includer has defined
// int64_t.
#pragma once

namespace undertow {

struct DeviceErrorSlot;

// One list of positions along a dimension of `size` elements, `stride` bytes apart; negative ones count from the end if
// allowed. A position out of range is reported to `slot` (device/errors.cuh).
struct PositionList {
  const int64_t* at;
  int64_t size, stride, dim;
  int64_t raise;
  bool may_wrap;
};
struct PositionLists {
  static constexpr int kMost = 8;
  int count;
  PositionList list[kMost];
  DeviceErrorSlot* slot;
};

// Sizes, outermost first and merged, and byte strides of up to three operands.
struct Nest {
  static constexpr int kMost = 16;
  int ndim;
  int64_t sizes[kMost];
  int64_t strides[3][kMost];
};

// Rows of a tensor read at positions: see read_rows in read.cuh.
struct RowsToRead {
  int64_t units;        // of a row: what a thread copies
  int64_t rows;         // for each block of the source
  int64_t outer_bytes;  // between blocks of the source
};

}  // namespace undertow
