// strided_layout.h: the merged loop nest of an ElementwiseIter as a kernel's parameter. Included by the host and by
// device code, so it uses no other header; the includer has defined int64_t.
#pragma once

namespace undertow {

struct StridedLayout {
  static constexpr int kMaxDims = 16, kMaxOperands = 6;
  int ndim;
  int64_t sizes[kMaxDims];                  // innermost first
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes
};

}  // namespace undertow
