// random_real.cpp: the continuous distributions over contiguous memory, drawn as torch does.
// Knows no generator internals. See Note [Torch Random Streams] in random.h.
// std::fma is used wherever torch's own build fuses a multiply with an add: the last bit depends on it.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "core/base/signals.h"
#include "core/kernels/cpu/random/random.h"
#include "core/kernels/cpu/random/random_convert.h"
#include "core/kernels/cpu/random/random_normal_block.h"

namespace undertow::core::random {

namespace {

// A uniform in [0, 1): 24 bits of one word, 53 of two.
double uniform53(RandomState& state) {
  return static_cast<double>(state.random64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}
// Through int32, because SSE2 cannot convert uint32.
float to_uniform24(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word & 0xffffffu)) * 0x1p-24f;
}
float uniform24(RandomState& state) { return to_uniform24(state.random()); }

// The uniform that fills of T start from; the 16-bit types use float's.
template <typename T>
auto unit_uniform(RandomState& state) {
  if constexpr (std::is_same_v<T, double>) {
    return uniform53(state);
  } else {
    return uniform24(state);
  }
}

// Many uniforms; float draws its words in batches.
void unit_uniforms(RandomState& state, double* out, std::size_t n) {
  in_polled_parts(static_cast<std::int64_t>(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = uniform53(state);
  });
}
void unit_uniforms(RandomState& state, float* out, std::size_t n) {
  std::uint32_t words[256];
  for (std::size_t start = 0; start < n; start += std::size(words)) {
    if (start % 16384 == 16384 - std::size(words)) poll_signals();
    const std::size_t count = std::min(n - start, std::size(words));
    state.random_many(words, count);
    for (std::size_t i = 0; i < count; ++i) out[start + i] = to_uniform24(words[i]);
  }
}

// One standard normal in double; two uniforms make a pair.
double scalar_normal(RandomState& state) {
  if (state.next_double_normal) {
    const double cached = *state.next_double_normal;
    state.next_double_normal.reset();
    return cached;
  }
  const double angle_part = uniform53(state), radius_part = uniform53(state);
  const double radius = std::sqrt(-2.0 * std::log1p(-radius_part));
  const double theta = 2.0 * std::numbers::pi * angle_part;
  state.next_double_normal = radius * std::sin(theta);
  return radius * std::cos(theta);
}

// float and double: all uniforms are drawn first, including a partial last block; then the last 16 are drawn again.
template <typename T>
void normal_blocks(RandomState& state, T* out, std::size_t n, T mean, T std) {
  unit_uniforms(state, out, n);
  in_polled_parts(static_cast<std::int64_t>(n / kNormalBlock), [&](std::int64_t begin, std::int64_t end) {
    normal_in_blocks(out + begin * static_cast<std::int64_t>(kNormalBlock), static_cast<std::size_t>(end - begin), mean,
                     std);
  });
  if (n % kNormalBlock == 0) return;
  T* last = out + (n - kNormalBlock);
  unit_uniforms(state, last, kNormalBlock);
  normal_in_blocks(last, 1, mean, std);
}

// 16-bit types: block by block in float, so a partial last block is drawn only once.
template <typename T>
void normal_blocks_16bit(RandomState& state, T* out, std::size_t n, float mean, float std) {
  float block[kNormalBlock];
  for (std::size_t start = 0; start < n; start += kNormalBlock) {
    T* to = start + kNormalBlock <= n ? out + start : out + (n - kNormalBlock);
    unit_uniforms(state, block, kNormalBlock);
    normal_in_blocks(block, 1, mean, std);
    for (std::size_t i = 0; i < kNormalBlock; ++i) to[i] = convert<T>(block[i]);
  }
}

}  // namespace

template <typename T>
void fill_uniform(RandomState& state, T* out, std::size_t n, double from, double to) {
  if constexpr (std::is_same_v<T, float>) {
    if (from == 0.0 && to == 1.0) return unit_uniforms(state, out, n);  // the usual case; nothing is rounded
  }
  using A = decltype(unit_uniform<T>(state));
  const A low = static_cast<A>(from), high = static_cast<A>(to);
  const T first = convert<T>(low), beyond = convert<T>(high);
  // The width is rounded to the arithmetic type; the rest is computed in double and rounded once.
  const double width = high - low;
  if constexpr (std::is_same_v<T, float>) {
    constexpr std::size_t kPart = 16 * 1024;  // stays in cache between the two loops
    for (std::size_t start = 0; start < n; start += kPart) {
      T* part = out + start;
      const std::size_t count = std::min(n - start, kPart);
      unit_uniforms(state, part, count);
      // 24 bits times 24 bits are exact in double, so this sum is rounded as a fused one.
      for (std::size_t i = 0; i < count; ++i) {
        const float drawn = static_cast<float>(static_cast<double>(part[i]) * width + static_cast<double>(low));
        part[i] = drawn == beyond ? first : drawn;
      }
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const A drawn =
        static_cast<A>(std::fma(static_cast<double>(unit_uniform<T>(state)), width, static_cast<double>(low)));
    const T value = convert<T>(drawn);
    out[i] = widen(value) == widen(beyond) ? first : value;
  }
}

template <typename T>
void fill_normal(RandomState& state, T* out, std::size_t n, double mean, double std) {
  if (n < kNormalBlock) {
    for (std::size_t i = 0; i < n; ++i) out[i] = convert<T>(std::fma(scalar_normal(state), std, mean));
  } else if constexpr (std::is_floating_point_v<T>) {
    normal_blocks(state, out, n, static_cast<T>(mean), static_cast<T>(std));
  } else {
    normal_blocks_16bit(state, out, n, static_cast<float>(mean), static_cast<float>(std));
  }
}

template <typename T>
void fill_log_normal(RandomState& state, T* out, std::size_t n, double mean, double std) {
  for (std::size_t i = 0; i < n; ++i) out[i] = convert<T>(std::exp(std::fma(scalar_normal(state), std, mean)));
}

template <typename T>
void fill_exponential(RandomState& state, T* out, std::size_t n, double rate) {
  for (std::size_t i = 0; i < n; ++i) out[i] = convert<T>(-1.0 / rate * std::log1p(-uniform53(state)));
}

template <typename T>
void fill_cauchy(RandomState& state, T* out, std::size_t n, double median, double sigma) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = convert<T>(std::fma(sigma, std::tan(std::numbers::pi * (uniform53(state) - 0.5)), median));
  }
}

template <typename T>
void fill_geometric(RandomState& state, T* out, std::size_t n, double p) {
  for (std::size_t i = 0; i < n; ++i) out[i] = convert<T>(std::ceil(std::log(uniform53(state)) / std::log1p(-p)));
}

#define UNDERTOW_INSTANTIATE_REAL(T)                                               \
  template void fill_uniform<T>(RandomState&, T*, std::size_t, double, double);    \
  template void fill_normal<T>(RandomState&, T*, std::size_t, double, double);     \
  template void fill_log_normal<T>(RandomState&, T*, std::size_t, double, double); \
  template void fill_exponential<T>(RandomState&, T*, std::size_t, double);        \
  template void fill_cauchy<T>(RandomState&, T*, std::size_t, double, double);     \
  template void fill_geometric<T>(RandomState&, T*, std::size_t, double)
UNDERTOW_INSTANTIATE_REAL(float);
UNDERTOW_INSTANTIATE_REAL(double);
UNDERTOW_INSTANTIATE_REAL(Half);
UNDERTOW_INSTANTIATE_REAL(BFloat16);
template void fill_geometric<std::uint8_t>(RandomState&, std::uint8_t*, std::size_t, double);
template void fill_geometric<std::int8_t>(RandomState&, std::int8_t*, std::size_t, double);
template void fill_geometric<std::int16_t>(RandomState&, std::int16_t*, std::size_t, double);
template void fill_geometric<std::int32_t>(RandomState&, std::int32_t*, std::size_t, double);
template void fill_geometric<std::int64_t>(RandomState&, std::int64_t*, std::size_t, double);

}  // namespace undertow::core::random
