// random_integer.cpp: integers, Bernoulli samples and permutations over contiguous memory, drawn as torch does.
// Knows no generator internals. See Note [Torch Random Streams] in random.h.
// build: small
#include <limits>
#include <utility>

#include "core/kernels/cpu/random/random.h"
#include "core/kernels/cpu/random/random_convert.h"

namespace undertow::core::random {

namespace {

double uniform53(RandomState& state) {
  return static_cast<double>(state.random64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

template <typename T>
T element_of(std::int64_t value) {
  if constexpr (kIsFloating<T>) {
    return convert<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// Below this many elements one 32-bit word is random enough for a remainder; torch's bound.
constexpr std::int64_t kShortPermutation = std::numeric_limits<std::uint32_t>::max() / 20;

}  // namespace

template <typename T>
void fill_random_from_to(RandomState& state, T* out, std::size_t n, std::int64_t from, std::uint64_t range) {
  const bool wide = range >= (std::uint64_t{1} << 28);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t drawn = (wide ? state.random64() : state.random()) % range;
    out[i] = element_of<T>(static_cast<std::int64_t>(drawn + static_cast<std::uint64_t>(from)));
  }
}

template <typename T>
void fill_random(RandomState& state, T* out, std::size_t n) {
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < n; ++i) out[i] = (state.random() & 1u) != 0;
  } else if constexpr (kIsFloating<T>) {
    constexpr std::uint64_t count = (std::uint64_t{1} << kDigits<T>)+1;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t drawn = std::is_same_v<T, double> ? state.random64() : state.random();
      out[i] = element_of<T>(static_cast<std::int64_t>(drawn % count));
    }
  } else {
    constexpr std::uint64_t mask = static_cast<std::uint64_t>(std::numeric_limits<T>::max());  // 2^k - 1: no division
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<T>((sizeof(T) == 8 ? state.random64() : state.random()) & mask);
  }
}

void fill_random_full_range(RandomState& state, std::int64_t* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::int64_t>(state.random64());
}

template <typename T>
void fill_bernoulli(RandomState& state, T* out, std::size_t n, double p) {
  for (std::size_t i = 0; i < n; ++i) out[i] = element_of<T>(uniform53(state) < p ? 1 : 0);
}

template <typename T, typename P>
void fill_bernoulli_each(RandomState& state, T* out, const P* p, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<P, double>) {
      out[i] = element_of<T>(uniform53(state) < p[i] ? 1 : 0);
    } else {
      const float drawn = static_cast<float>(state.random() & 0xffffffu) * 0x1p-24f;
      out[i] = element_of<T>(drawn < widen(p[i]) ? 1 : 0);
    }
  }
}

template <typename T>
void fill_permutation(RandomState& state, T* out, std::int64_t n) {
  if (n < kShortPermutation) {  // forward Fisher-Yates on the identity
    for (std::int64_t i = 0; i < n; ++i) out[i] = element_of<T>(i);
    for (std::int64_t i = 0; i + 1 < n; ++i) std::swap(out[i], out[i + state.random() % (n - i)]);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {  // inside-out shuffle, growing the permutation
    const auto at = static_cast<std::int64_t>(state.random64() % static_cast<std::uint64_t>(i + 1));
    out[i] = out[at];
    out[at] = element_of<T>(i);
  }
}

#define UNDERTOW_INSTANTIATE_INTEGER(T)                                                             \
  template void fill_random_from_to<T>(RandomState&, T*, std::size_t, std::int64_t, std::uint64_t); \
  template void fill_random<T>(RandomState&, T*, std::size_t);                                      \
  template void fill_bernoulli<T>(RandomState&, T*, std::size_t, double);                           \
  template void fill_bernoulli_each<T, float>(RandomState&, T*, const float*, std::size_t);         \
  template void fill_bernoulli_each<T, double>(RandomState&, T*, const double*, std::size_t);       \
  template void fill_bernoulli_each<T, Half>(RandomState&, T*, const Half*, std::size_t);           \
  template void fill_bernoulli_each<T, BFloat16>(RandomState&, T*, const BFloat16*, std::size_t);   \
  template void fill_permutation<T>(RandomState&, T*, std::int64_t)
UNDERTOW_INSTANTIATE_INTEGER(bool);
UNDERTOW_INSTANTIATE_INTEGER(std::uint8_t);
UNDERTOW_INSTANTIATE_INTEGER(std::int8_t);
UNDERTOW_INSTANTIATE_INTEGER(std::int16_t);
UNDERTOW_INSTANTIATE_INTEGER(std::int32_t);
UNDERTOW_INSTANTIATE_INTEGER(std::int64_t);
UNDERTOW_INSTANTIATE_INTEGER(float);
UNDERTOW_INSTANTIATE_INTEGER(double);
UNDERTOW_INSTANTIATE_INTEGER(Half);
UNDERTOW_INSTANTIATE_INTEGER(BFloat16);

}  // namespace undertow::core::random
