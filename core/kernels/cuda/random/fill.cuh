// fill.cuh: fills from one distribution. A thread makes the elements of one block of four words: four or two of them.
#pragma once
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "device/packs.cuh"
#include "device/real_math.cuh"
#include "device/strided.cuh"
#include "random/philox.cuh"

namespace undertow {

// Distributions: each makes kCount elements from one block of words.

// In [from, to): a value that rounds up to `to` becomes `from`, as in torch.
template <class T>
struct Uniform {
  static constexpr int kCount = kSame<T, double> ? 2 : 4;
  using M = OpMath<T>;
  M from, to;
  UT_DEVICE Uniform(double a, double b) : from(a), to(b) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    for (int k = 0; k < kCount; k++) {
      M u;
      if constexpr (kCount == 2)
        u = uniform53(w.at[2 * k], w.at[2 * k + 1]);
      else
        u = uniform24(w.at[k]);
      const T value = convert<T>(u * (to - from) + from);
      out[k] = convert<M>(value) == convert<M>(convert<T>(to)) ? convert<T>(from) : value;
    }
  }
};

template <class T>
struct Normal {
  static constexpr int kCount = kSame<T, double> ? 2 : 4;
  using M = OpMath<T>;
  M mean, std;
  UT_DEVICE Normal(double a, double b) : mean(a), std(b) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    M x[kCount];
    if constexpr (kCount == 2) {
      normals(w, x[0], x[1]);
    } else {
      normals(w.at[0], w.at[1], x[0], x[1]);
      normals(w.at[2], w.at[3], x[2], x[3]);
    }
    for (int k = 0; k < kCount; k++) out[k] = convert<T>(x[k] * std + mean);
  }
};

template <class T>
struct LogNormal {
  static constexpr int kCount = 2;
  double mean, std;
  UT_DEVICE LogNormal(double a, double b) : mean(a), std(b) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    double x[2];
    normals(w, x[0], x[1]);
    for (int k = 0; k < 2; k++) out[k] = convert<T>(exp(x[k] * std + mean));
  }
};

// The others map a uniform number, in double.
template <class T>
struct Exponential {
  double rate;
  UT_DEVICE Exponential(double a, double) : rate(a) {}
  UT_DEVICE T operator()(double u) const { return convert<T>(-1.0 / rate * log1p(-u)); }
};
template <class T>
struct Cauchy {
  double median, sigma;
  UT_DEVICE Cauchy(double a, double b) : median(a), sigma(b) {}
  UT_DEVICE T operator()(double u) const { return convert<T>(sigma * tan(3.141592653589793 * (u - 0.5)) + median); }
};
template <class T>
struct Geometric {
  double log_failure;
  UT_DEVICE Geometric(double a, double) : log_failure(log1p(-a)) {}
  UT_DEVICE T operator()(double u) const {
    const double trials = ceil(log1p(-u) / log_failure);
    return convert<T>(trials < 1 ? 1.0 : trials);
  }
};
template <template <class> class Map>
struct FromUniform {
  template <class T>
  struct Of : Map<T> {
    static constexpr int kCount = 2;
    UT_DEVICE Of(double a, double b) : Map<T>(a, b) {}
    UT_DEVICE void operator()(const Words& w, T* out) const {
      for (int k = 0; k < 2; k++) out[k] = Map<T>::operator()(uniform53(w.at[2 * k], w.at[2 * k + 1]));
    }
  };
};

template <class T>
struct Bernoulli {
  static constexpr int kCount = 4;
  uint64_t below;
  UT_DEVICE Bernoulli(double p, double) : below(static_cast<uint64_t>(p * 4294967296.0)) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    for (int k = 0; k < 4; k++) out[k] = convert<T>(w.at[k] < below);
  }
};

// Every non-negative value of an integer type, every exactly represented integer of a floating one.
template <class T>
struct AllValues {
  static constexpr int kCount = 2;
  UT_DEVICE AllValues(double, double) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    for (int k = 0; k < 2; k++) {
      const uint64_t word = static_cast<uint64_t>(w.at[2 * k]) << 32 | w.at[2 * k + 1];
      if constexpr (kSame<T, bool>) {
        out[k] = word & 1;
      } else if constexpr (kIsFloating<T>) {
        constexpr int digits = kSame<T, double> ? 53 : kSame<T, float> ? 24 : kSame<T, Half> ? 11 : 8;
        out[k] = convert<T>(static_cast<int64_t>(word % ((uint64_t(1) << digits) + 1)));
      } else {
        out[k] = static_cast<T>(word & static_cast<uint64_t>(Limits<T>::highest()));
      }
    }
  }
};
template <class T>
struct AllBits {
  static constexpr int kCount = 2;
  UT_DEVICE AllBits(double, double) {}
  UT_DEVICE void operator()(const Words& w, T* out) const {
    for (int k = 0; k < 2; k++) out[k] = static_cast<T>(static_cast<uint64_t>(w.at[2 * k]) << 32 | w.at[2 * k + 1]);
  }
};

// Elements i, i + 1, ... of a tensor, of which `layout` says where they are, unless it is dense.
template <class T, int count, bool dense>
UT_DEVICE void store_elements(char* out, int64_t i, int64_t n, const StridedLayout& layout, const T* values) {
  if (dense && i + count <= n) {
    Pack<T, count> pack;
    for (int k = 0; k < count; k++) pack.at[k] = values[k];
    store_pack(reinterpret_cast<T*>(out) + i, pack);
    return;
  }
  for (int k = 0; k < count && i + k < n; k++) {
    int64_t at[1] = {(i + k) * static_cast<int64_t>(sizeof(T))};
    if (!dense) offsets_of<1>(layout, i + k, at);
    *reinterpret_cast<T*>(out + at[0]) = values[k];
  }
}

}  // namespace undertow

template <class T, template <class> class Distribution, bool dense>
__global__ void fill_random(char* out, int64_t n, double a, double b, PhiloxRange given, StridedLayout layout) {
  const PhiloxRange range = range_of_replay(given);
  constexpr int count = Distribution<T>::kCount;
  const Distribution<T> draw(a, b);
  for (int64_t block = thread_number(); block * count < n; block += thread_count()) {
    T values[count];
    draw(philox(range.seed, range.offset + block, 0), values);
    store_elements<T, count, dense>(out, block * count, n, layout, values);
  }
}

// from + [0, span).
template <class T, bool wide, bool dense>
__global__ void fill_integers(char* out, int64_t n, int64_t from, uint64_t span, PhiloxRange given,
                              StridedLayout layout) {
  const PhiloxRange range = range_of_replay(given);
  constexpr int count = wide ? 2 : 4;
  for (int64_t block = thread_number(); block * count < n; block += thread_count()) {
    const Words w = philox(range.seed, range.offset + block, 0);
    T values[count];
    for (int k = 0; k < count; k++) {
      uint64_t drawn;
      if constexpr (wide)
        drawn = (static_cast<uint64_t>(w.at[2 * k]) << 32 | w.at[2 * k + 1]) % span;
      else
        drawn = w.at[k] % static_cast<uint32_t>(span);
      values[k] = convert<T>(static_cast<int64_t>(drawn + static_cast<uint64_t>(from)));
    }
    store_elements<T, count, dense>(out, block * count, n, layout, values);
  }
}

// A probability for each element. Operands: out, p.
template <class T, class P>
__global__ void fill_bernoulli(char* out, const char* p, int64_t n, PhiloxRange given, StridedLayout layout,
                               DeviceErrorSlot* slot, int64_t raise) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t block = thread_number(); block * 2 < n; block += thread_count()) {
    const Words w = philox(range.seed, range.offset + block, 0);
    for (int k = 0; k < 2; k++) {
      const int64_t i = block * 2 + k;
      if (i >= n) break;
      int64_t at[2];
      offsets_of<2>(layout, i, at);
      const double chance = convert<double>(*reinterpret_cast<const P*>(p + at[1]));
      if (!(chance >= 0 && chance <= 1)) report_error(slot, raise, __double_as_longlong(chance), 0, 0);
      *reinterpret_cast<T*>(out + at[0]) = convert<T>(uniform53(w.at[2 * k], w.at[2 * k + 1]) < chance);
    }
  }
}
