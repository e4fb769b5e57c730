// philox_params.h: the part of a random stream that a kernel uses. Included by the host and the device; the includer
// has defined uint64_t.
#pragma once

namespace undertow {

// offset: the first counter, in units of four words. In a captured graph, `replay` is where a replay finds its seed and
// first counter, and the offset counts from that one.
struct PhiloxRange {
  uint64_t seed, offset;
  const uint64_t* replay;
};

}  // namespace undertow
