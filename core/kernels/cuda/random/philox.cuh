// philox.cuh: the counter-based generator Philox 4x32 with 10 rounds (Salmon et al. 2011), and numbers made from its
// words.
//
// Note [Philox Streams]
// A generator is a seed and an offset, torch's state. A kernel reserves a range of offsets; element i of a fill uses the
// words of its own counter, so results depend neither on the launch's shape nor on the device. Counters are 128 bits:
// the lower half counts from the offset, the upper half is 0 in fills of a known number of words per element, and the
// element's number, with the highest bit set, in loops of unknown length.
#pragma once
#include "device/prelude.cuh"
#include "random/philox_params.h"

namespace undertow {

struct Words {
  uint32_t at[4];
};

// The range of this replay, if the kernel is part of a captured graph.
UT_DEVICE PhiloxRange range_of_replay(const PhiloxRange& r) {
  return r.replay ? PhiloxRange{r.replay[0], r.replay[1] + r.offset, nullptr} : r;
}

UT_DEVICE Words philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t c[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                   static_cast<uint32_t>(high >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c[0], b = static_cast<uint64_t>(0xCD9E8D57u) * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// Uniform in [0, 1).
UT_DEVICE float uniform24(uint32_t word) { return static_cast<float>(word >> 8) * 5.9604644775390625e-8f; }
UT_DEVICE double uniform53(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(bits) * 1.1102230246251565e-16;
}

// Two standard normals from two words (Box and Muller); from four for double.
UT_DEVICE void normals(uint32_t a, uint32_t b, float& x, float& y) {
  const float radius = sqrtf(-2.0f * logf((static_cast<float>(a >> 8) + 0.5f) * 5.9604644775390625e-8f));
  sincospif(2.0f * uniform24(b), &y, &x);
  x *= radius;
  y *= radius;
}
UT_DEVICE void normals(const Words& w, double& x, double& y) {
  const double radius = sqrt(-2.0 * log1p(-uniform53(w.at[0], w.at[1])));
  sincospi(2.0 * uniform53(w.at[2], w.at[3]), &y, &x);
  x *= radius;
  y *= radius;
}

// The numbers of one element that draws as many as it needs.
class ElementStream {
 public:
  UT_DEVICE ElementStream(const PhiloxRange& range, int64_t element)
      : key_(range.seed), low_(range.offset), high_(static_cast<uint64_t>(element) | uint64_t(1) << 63), used_(4) {}
  UT_DEVICE double uniform() {
    if (used_ == 4) {
      words_ = philox(key_, low_++, high_);
      used_ = 0;
    }
    const double u = uniform53(words_.at[used_], words_.at[used_ + 1]);
    used_ += 2;
    return u;
  }
  UT_DEVICE double normal() {
    double x, y;
    normals(philox(key_, low_++, high_), x, y);
    return x;
  }

 private:
  uint64_t key_, low_, high_;
  int used_;
  Words words_;
};

}  // namespace undertow
