// limits.cpp: what bounds the figures on a machine: the cost of an atomic addition, and the memory's and the cores'
// rates. Knows nothing of the library; compiled and run by `python -m bench.limits`. Minima of many runs, because the
// machine may be shared.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

template <class F>
double best_seconds(int rounds, F&& f) {
  double best = 1e9;
  for (int r = 0; r < rounds; ++r) {
    auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// f(part) on as many threads; the caller takes part 0.
template <class F>
void together(int threads, F&& f) {
  std::vector<std::thread> others;
  for (int part = 1; part < threads; ++part) others.emplace_back([&f, part] { f(part); });
  f(0);
  for (std::thread& t : others) t.join();
}

// Ten million floats read twice and written once, as x * w does.
double bytes_per_second(int threads) {
  constexpr size_t n = 10'000'000;
  std::vector<float> x(n, 1.5f), w(n, 0.5f), out(n);
  double t = best_seconds(15, [&] {
    together(threads, [&](int part) {
      size_t begin = n * part / threads, end = n * (part + 1) / threads;
      const float *a = x.data(), *b = w.data();
      float* c = out.data();
      for (size_t i = begin; i < end; ++i) c[i] = a[i] * b[i];
    });
  });
  return 3.0 * n * sizeof(float) / t;
}

// Independent fused multiply-adds in registers, ten vectors of sixteen floats.
double flops_per_second(int threads) {
  constexpr int vectors = 10, width = 16, steps = 4'000'000;
  std::vector<float> sink(static_cast<size_t>(threads));
  double t = best_seconds(9, [&] {
    together(threads, [&](int part) {
      typedef float V __attribute__((vector_size(width * sizeof(float))));
      V acc[vectors] = {};
      V a = V{} + 0.999f, b = V{} + 1e-3f;
      for (int s = 0; s < steps; ++s) {
#pragma GCC unroll 10
        for (int v = 0; v < vectors; ++v) acc[v] = acc[v] * a + b;
        asm volatile("" : "+m"(sink[static_cast<size_t>(part)]));
      }
      for (const V& v : acc) sink[static_cast<size_t>(part)] += v[0];
    });
  });
  return 2.0 * vectors * width * steps * threads / t;
}

}  // namespace

int main() {
  std::atomic<int> counter{0};
  constexpr int additions = 1'000'000;
  double t = best_seconds(9, [&] {
    for (int i = 0; i < additions; ++i) counter.fetch_add(1, std::memory_order_relaxed);
  });
  std::printf("an atomic addition: %.1f ns\n", t / additions * 1e9);
  for (int threads : {1, 2}) {
    std::printf("ten million floats read twice and written once, %d thread%s: %.1f GB/s\n", threads,
                threads > 1 ? "s" : "", bytes_per_second(threads) * 1e-9);
    std::printf("float multiply-adds in registers, %d thread%s: %.0f GFLOP/s\n", threads, threads > 1 ? "s" : "",
                flops_per_second(threads) * 1e-9);
  }
}
