// embedding_params.h: parameters of the kernels in embedding.cuh. Included by the host and the device; the includer has
// defined int64_t.
#pragma once

namespace undertow {

struct DeviceErrorSlot;

struct BagParams {
  int64_t* bag_of;  // of each index
  int64_t* counts;
  int64_t* maxima;  // null unless the mode is the maximum
  const int64_t *indices, *offsets;
  int64_t n, given, bags, rows, width;  // indices, offsets, bags; the table's rows and their width
  int64_t padding_idx;
  DeviceErrorSlot* slot;
  int64_t raise_index, raise_offset;
};

}  // namespace undertow
