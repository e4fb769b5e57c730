// storage_copy.cpp: copies from and to the storage dtypes, block by block through a carrier.
// build: small
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cpu {

void copy_storage(const ElementwiseIter& iter, DType to, DType from) {
  DType first = is_storage(from) ? carrier_from(from, to) : from;  // what is converted,
  DType last = is_storage(to) ? carrier_to(to, first) : to;        // and to what
  ConvertLoop convert = convert_loop_of(last, first);
  walk(iter, [=](char* const* p, const int64_t* s, int64_t n) {
    constexpr int64_t kBlock = 256;
    alignas(16) char wide[kBlock * sizeof(Complex128)], made[kBlock * sizeof(Complex128)];
    for (int64_t at = 0; at < n; at += kBlock) {
      int64_t count = std::min(kBlock, n - at);
      char *out = p[0] + at * s[0], *in = p[1] + at * s[1];
      if (is_storage(from)) widen(first, wide, from, in, s[1], count);
      char* operands[2] = {is_storage(to) ? made : out, is_storage(from) ? wide : in};
      int64_t strides[2] = {is_storage(to) ? itemsize(last) : s[0], is_storage(from) ? itemsize(first) : s[1]};
      convert(operands, strides, count);
      if (is_storage(to)) narrow(to, out, s[0], last, made, count);
    }
  });
}

}  // namespace undertow::core::cpu
