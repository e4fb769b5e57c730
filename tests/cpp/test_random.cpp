// test_random.cpp: every fill function of random.h against torch's results, which are in random_golden.h.
// Needs no torch; tests/parity/random_oracle.py writes the expected results. No test framework, no tensors.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kernels/cpu/random/random.h"
#include "core/kernels/cpu/random/random_convert.h"
#include "tests/cpp/random_golden.h"

using namespace undertow::core::random;

namespace {

int failures = 0;

std::uint64_t fnv1a(const void* data, std::size_t bytes) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; ++i) value = (value ^ static_cast<const std::uint8_t*>(data)[i]) * 0x100000001b3u;
  return value;
}

template <typename T>
double as_double(T value) {
  if constexpr (kIsFloating<T>) {
    return static_cast<double>(widen(value));
  } else {
    return static_cast<double>(value);
  }
}

// Returns false if the distribution does not exist for T, which is a mistake in the golden file.
template <typename T>
bool draw(RandomState& state, T* out, const Golden& g) {
  const std::string d = g.distribution;
  const auto from = static_cast<std::int64_t>(g.a);
  const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(g.b) - from);
  if (d == "random") return fill_random(state, out, g.n), true;
  if (d == "random_from_to") return fill_random_from_to(state, out, g.n, from, range), true;
  if (d == "bernoulli") return fill_bernoulli(state, out, g.n, g.a), true;
  if (d == "permutation") return fill_permutation(state, out, static_cast<std::int64_t>(g.n)), true;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (d == "random_full_range") return fill_random_full_range(state, out, g.n), true;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    if (d == "geometric") return fill_geometric(state, out, g.n, g.a), true;
  }
  if constexpr (kIsFloating<T>) {
    if (d == "uniform") return fill_uniform(state, out, g.n, g.a, g.b), true;
    if (d == "normal") return fill_normal(state, out, g.n, g.a, g.b), true;
    if (d == "log_normal") return fill_log_normal(state, out, g.n, g.a, g.b), true;
    if (d == "exponential") return fill_exponential(state, out, g.n, g.a), true;
    if (d == "cauchy") return fill_cauchy(state, out, g.n, g.a, g.b), true;
    if (d == "bernoulli_each") {
      std::vector<T> p;
      for (std::size_t i = 0; i < g.n; ++i) p.push_back(convert<T>(static_cast<double>(i) / static_cast<double>(g.n)));
      return fill_bernoulli_each(state, out, p.data(), g.n), true;
    }
  }
  return false;
}

// Results that use libm may differ in the last bit if the libm differs from that of torch's host.
bool near(const char* dtype, double got, double want) {
  const double unit = dtype[0] == 'd' ? 0x1p-51 : dtype[0] == 'f' ? 0x1p-22 : dtype[0] == 'h' ? 0x1p-9 : 0x1p-6;
  return std::fabs(got - want) <= unit * std::fmax(1.0, std::fabs(want));
}

template <typename T>
void check_as(const Golden& g, int& inexact) {
  RandomState state(g.seed);
  const std::unique_ptr<T[]> out(new T[g.n]);
  if (!draw(state, out.get(), g)) {
    std::printf("FAIL %s<%s>: no such fill\n", g.distribution, g.dtype);
    ++failures;
    return;
  }
  const bool words_match = (state.random() & 0x7fffffffu) == g.after;
  bool values_match = true;
  for (std::size_t i = 0; i < g.n && i < std::size(g.first); ++i) {
    values_match = values_match && near(g.dtype, as_double(out[i]), g.first[i]);
  }
  const bool exact = fnv1a(out.get(), g.n * sizeof(T)) == g.hash;
  if (!exact) ++inexact;
  const std::string d = g.distribution;
  const bool through_libm =
      d == "normal" || d == "log_normal" || d == "exponential" || d == "cauchy" || d == "geometric";
  if (words_match && values_match && (exact || through_libm)) return;
  ++failures;
  std::printf(
      "FAIL %s<%s> n=%zu a=%g b=%g seed=%llu: words drawn %s, first values %s, bits %s; got %.17g want "
      "%.17g\n",
      g.distribution, g.dtype, g.n, g.a, g.b, static_cast<unsigned long long>(g.seed), words_match ? "right" : "WRONG",
      values_match ? "right" : "WRONG", exact ? "right" : "WRONG", as_double(out[0]), g.first[0]);
}

void check(const Golden& g, int& inexact) {
  const std::string t = g.dtype;
  if (t == "float") return check_as<float>(g, inexact);
  if (t == "double") return check_as<double>(g, inexact);
  if (t == "half") return check_as<Half>(g, inexact);
  if (t == "bfloat16") return check_as<BFloat16>(g, inexact);
  if (t == "uint8") return check_as<std::uint8_t>(g, inexact);
  if (t == "int8") return check_as<std::int8_t>(g, inexact);
  if (t == "int16") return check_as<std::int16_t>(g, inexact);
  if (t == "int32") return check_as<std::int32_t>(g, inexact);
  if (t == "int64") return check_as<std::int64_t>(g, inexact);
  return check_as<bool>(g, inexact);
}

void expect(bool truth, const char* sentence) {
  if (truth) return;
  ++failures;
  std::printf("FAIL %s\n", sentence);
}

void check_saved_states() {
  RandomState state(123);
  std::vector<std::uint8_t> bytes(kStateBytes);
  std::vector<double> doubles(3);
  std::vector<float> floats(612);
  const auto hash = [&] {
    state.get_state(bytes.data());
    return fnv1a(bytes.data(), bytes.size());
  };
  expect(hash() == kStateHashes[0], "a freshly seeded state has torch's bytes");
  fill_normal(state, doubles.data(), 3, 0.0, 1.0);
  expect(hash() == kStateHashes[1], "a state with a cached normal has torch's bytes");

  RandomState loaded(1);
  expect(loaded.set_state(bytes.data()), "torch's bytes can be loaded");
  expect(loaded.next_double_normal == state.next_double_normal, "the cached normal travels with the state");
  expect(loaded.random64() == RandomState(state).random64(), "a loaded state continues the stream");

  fill_uniform(state, floats.data(), 612, 0.0, 1.0);
  expect(hash() == kStateHashes[2], "a state of 620 words drawn has torch's bytes");
  fill_uniform(state, floats.data(), 1, 0.0, 1.0);
  expect(hash() == kStateHashes[3], "a state of 621 words drawn has torch's bytes");

  std::memset(bytes.data(), 0, bytes.size());
  expect(!loaded.set_state(bytes.data()), "bytes that are not a state are rejected");
}

}  // namespace

int main() {
  int inexact = 0, total = 0;
  for (const Golden& g : kGolden) {
    check(g, inexact);
    ++total;
  }
  check_saved_states();
  std::printf("test_random: %d cases, %d not bit for bit, %d failures\n", total, inexact, failures);
  return failures == 0 ? 0 : 1;
}
