// random_state.cpp: the Mersenne Twister (MT19937) and its saved state.
// Knows no distribution. See Note [Torch Random Streams] in random.h.
#include "core/kernels/cpu/random/random.h"

#include <algorithm>

namespace undertow::core::random {

namespace {

// The 5056 bytes of torch's CPU generator state, little endian, by offset.
constexpr std::size_t kSeedAt = 0;            // uint64
constexpr std::size_t kLeftAt = 8;            // int32: words left before the next regeneration, plus one
constexpr std::size_t kSeededAt = 12;         // int32: 1
constexpr std::size_t kNextAt = 16;           // uint64: index of the next word
constexpr std::size_t kWordsAt = 24;          // 624 words, each in 8 bytes
constexpr std::size_t kNormalYAt = 5024;      // double: the cached normal (x before it and rho after it stay 0)
constexpr std::size_t kNormalValidAt = 5040;  // int32
constexpr std::size_t kFloatNormalAt = 5048;  // float
constexpr std::size_t kFloatValidAt = 5052;   // bool

template <typename T>
void put(std::uint8_t* bytes, std::size_t at, T value) {
  std::memcpy(bytes + at, &value, sizeof(T));
}

template <typename T>
T get(const std::uint8_t* bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof(T));
  return value;
}

const cpu::RandomWordLoops& loops() {
  using namespace cpu;
  static const RandomWordLoops& chosen = UNDERTOW_CHOOSE_ISA(random_words)();
  return chosen;
}

}  // namespace

void RandomState::set_seed(std::uint64_t seed) {
  seed_ = seed;
  words_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kWords; ++i) {
    words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
  next_ = kWords;
  fresh_ = true;
  next_double_normal.reset();
  next_float_normal.reset();
}

void RandomState::regenerate() {
  loops().twist(words_.data());
  next_ = 0;
  fresh_ = false;
}

void RandomState::random_many(std::uint32_t* out, std::size_t n) {
  while (n > 0) {
    if (next_ == kWords) regenerate();
    const std::size_t count = std::min<std::size_t>(n, kWords - next_);
    loops().temper(words_.data() + next_, out, count);
    next_ += static_cast<std::uint32_t>(count);
    out += count;
    n -= count;
  }
}

void RandomState::get_state(std::uint8_t* bytes) const {
  std::memset(bytes, 0, kStateBytes);
  put<std::uint64_t>(bytes, kSeedAt, seed_);
  // An exhausted block reads (left 1, next 624), except right after seeding, where torch has next 0.
  put<std::int32_t>(bytes, kLeftAt, static_cast<std::int32_t>(kWords - next_ + 1));
  put<std::int32_t>(bytes, kSeededAt, 1);
  put<std::uint64_t>(bytes, kNextAt, fresh_ ? 0 : next_);
  for (std::uint32_t i = 0; i < kWords; ++i) put<std::uint64_t>(bytes, kWordsAt + 8 * i, words_[i]);
  if (next_double_normal) {
    put<double>(bytes, kNormalYAt, *next_double_normal);
    put<std::int32_t>(bytes, kNormalValidAt, 1);
  }
  if (next_float_normal) {
    put<float>(bytes, kFloatNormalAt, *next_float_normal);
    put<std::uint8_t>(bytes, kFloatValidAt, 1);
  }
}

bool RandomState::set_state(const std::uint8_t* bytes) {
  const std::int32_t left = get<std::int32_t>(bytes, kLeftAt);
  const std::uint64_t next = get<std::uint64_t>(bytes, kNextAt);
  if (get<std::int32_t>(bytes, kSeededAt) != 1) return false;
  if (left < 1 || left > static_cast<std::int32_t>(kWords) || next > kWords) return false;
  seed_ = get<std::uint64_t>(bytes, kSeedAt);
  for (std::uint32_t i = 0; i < kWords; ++i) {
    words_[i] = static_cast<std::uint32_t>(get<std::uint64_t>(bytes, kWordsAt + 8 * i));
  }
  next_ = kWords - static_cast<std::uint32_t>(left) + 1;
  fresh_ = left == 1 && next == 0;
  next_double_normal.reset();
  next_float_normal.reset();
  if (get<std::int32_t>(bytes, kNormalValidAt) != 0) next_double_normal = get<double>(bytes, kNormalYAt);
  if (get<std::uint8_t>(bytes, kFloatValidAt) != 0) next_float_normal = get<float>(bytes, kFloatNormalAt);
  return true;
}

}  // namespace undertow::core::random
