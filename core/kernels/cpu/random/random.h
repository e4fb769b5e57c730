// random.h: the random numbers of torch's CPU generator, bit for bit: the Mersenne Twister with its saved state, and
// fills of contiguous memory for each distribution.
// Knows no tensor, and no lock: callers that share a RandomState between threads must guard it.
//
// Note [Torch Random Streams]
// Results depend on how many 32-bit words each element draws and in which order, so this is part of the interface:
//   one word     float/half/bfloat16 uniform; integers with a range below 2^28; bernoulli with float p
//   two words    double uniform, 64-bit integers, bernoulli(p) with a scalar or double p, exponential,
//                geometric, cauchy, and each of the two uniforms of a pair of scalar normals
// and for normal: 16 elements or more are filled by Box-Muller in blocks of 16 from the dtype's own uniforms, with the
// last partial block drawn again; fewer are drawn one by one in double, with the second of each pair cached. Which of
// these torch uses was observed on torch 2.13 on an AMD processor (tests/parity/random_oracle.py). Its source has a
// second path for bernoulli(p) and exponential, through MKL's generator, said to be used on Intel processors; we could
// not observe it and do not imitate it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/kernels/cpu/random/random_words.h"

namespace undertow::core::random {

// 16-bit floating elements, stored as their bits.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

inline constexpr std::size_t kStateBytes = 5056;  // the size of torch.get_rng_state()

class RandomState {
 public:
  explicit RandomState(std::uint64_t seed = 67280421310721ull) { set_seed(seed); }  // torch's default seed

  void set_seed(std::uint64_t seed);
  std::uint64_t initial_seed() const { return seed_; }

  std::uint32_t random() {
    if (next_ == kWords) regenerate();
    return cpu::temper(words_[next_++]);
  }
  // The next n words at once: the same stream, about twice as fast.
  void random_many(std::uint32_t* out, std::size_t n);
  std::uint64_t random64() {
    const std::uint64_t high = random();
    return (high << 32) | random();
  }

  // Layout and content of torch.get_rng_state(). set_state returns false and changes nothing if no generator can have
  // produced these bytes.
  void get_state(std::uint8_t* bytes) const;
  [[nodiscard]] bool set_state(const std::uint8_t* bytes);

  // The second normal of the last scalar pair. torch also stores a float one, which none of its distributions sets, but
  // which is part of the saved state.
  std::optional<double> next_double_normal;
  std::optional<float> next_float_normal;

 private:
  static constexpr std::uint32_t kWords = cpu::kTwisterWords;
  void regenerate();

  std::array<std::uint32_t, kWords> words_{};
  std::uint32_t next_ = kWords;  // index of the next word; kWords: regenerate first
  std::uint64_t seed_ = 0;
  bool fresh_ = true;  // seeded and not yet drawn from; only the saved state shows the difference
};

// Below, T is float, double, Half or BFloat16 unless stated, and n the number of elements.

// [from, to): a value that rounds up to `to` becomes `from`, as in torch.
template <typename T>
void fill_uniform(RandomState& state, T* out, std::size_t n, double from, double to);

template <typename T>
void fill_normal(RandomState& state, T* out, std::size_t n, double mean, double std);

template <typename T>
void fill_log_normal(RandomState& state, T* out, std::size_t n, double mean, double std);

template <typename T>
void fill_exponential(RandomState& state, T* out, std::size_t n, double rate);

template <typename T>
void fill_cauchy(RandomState& state, T* out, std::size_t n, double median, double sigma);

// The number of trials up to the first success, from 1. T may also be any integer type of fill_random.
template <typename T>
void fill_geometric(RandomState& state, T* out, std::size_t n, double p);

// randint and random_(from, to): from + word % range, range = to - from > 0.
// T: the four above, bool, uint8, int8, int16, int32, int64.
template <typename T>
void fill_random_from_to(RandomState& state, T* out, std::size_t n, std::int64_t from, std::uint64_t range);

// random_(): every non-negative value of an integer type, every exactly representable integer of a float type.
template <typename T>
void fill_random(RandomState& state, T* out, std::size_t n);

// random_(-2^63, None): all 64 bits.
void fill_random_full_range(RandomState& state, std::int64_t* out, std::size_t n);

// bernoulli_(p) with a number: T as for fill_random_from_to.
template <typename T>
void fill_bernoulli(RandomState& state, T* out, std::size_t n, double p);

// bernoulli(p) with an array of probabilities: P is the type of the probabilities (T of the first list).
template <typename T, typename P>
void fill_bernoulli_each(RandomState& state, T* out, const P* p, std::size_t n);

// A permutation of 0..n-1. T: int16, int32, int64, uint8, int8, float, double, Half, BFloat16.
template <typename T>
void fill_permutation(RandomState& state, T* out, std::int64_t n);

}  // namespace undertow::core::random
