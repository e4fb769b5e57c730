// radix_params.h: one pass of the radix sort in radix.cuh. Included by the host and the device; the includer has
// defined int64_t.
#pragma once

namespace undertow {

struct RadixPass {
  int64_t n, per_block;
  int64_t row_length;  // not 0: the digit is one of the row's number, not of the key
  int shift;
};

}  // namespace undertow
