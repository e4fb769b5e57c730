// gemm_bench.cpp: prints what our matrix products reach, in GFLOP/s, GB/s and nanoseconds.
// Usage: gemm_bench [threads [m n k]]. Minima of many runs, because the machine may be shared.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace {

template <class F>
double best_seconds(F&& f) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  int repeats = 1;
  double best = 1e9, spent = 0;
  for (int round = 0; round < 3 || (spent < 0.3 && round < 10000); ++round) {
    auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) f();
    double took = seconds(Clock::now() - start);
    if (took < 2e-5) {
      repeats *= 2;
      round = 0;
      continue;
    }
    spent += took;
    if (took / repeats < best) best = took / repeats;
  }
  return best;
}

template <class T>
void bench(const char* name, int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
  std::vector<T> a(m * k), b(k * n), c(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>((i * 7919) % 13) / T(8);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>((i * 104729) % 11) / T(8);
  double t = best_seconds([&] {
    undertow::core::cpu::gemm<T>(m, n, k, T(1), a.data(), a_transposed ? 1 : k, a_transposed ? m : 1, b.data(),
                                 b_transposed ? 1 : n, b_transposed ? k : 1, T(0), c.data(), n, 1);
  });
  double bytes = (double(m) * k + double(k) * n + double(m) * n) * sizeof(T);
  std::printf("%s %c%c %5ld x %5ld x %5ld: %8.1f GFLOP/s %7.1f GB/s %12.1f ns\n", name, a_transposed ? 't' : 'n',
              b_transposed ? 't' : 'n', long(m), long(n), long(k), 2.0 * m * n * k / t * 1e-9, bytes / t * 1e-9,
              t * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) undertow::core::set_num_threads(std::atoi(argv[1]));
  std::printf("isa %s, %d threads\n", undertow::core::cpu::isa_name(undertow::core::cpu::isa()),
              undertow::core::num_threads());
  if (argc > 4) {
    int64_t m = std::atoll(argv[2]), n = std::atoll(argv[3]), k = std::atoll(argv[4]);
    bench<float>("f32", m, n, k, false, false);
    bench<float>("f32", m, n, k, false, true);
    bench<float>("f32", m, n, k, true, false);
    return 0;
  }
  for (int64_t s : {1024, 2048, 512, 256, 128, 96, 64, 48, 32, 16, 8, 4}) {
    bench<float>("f32", s, s, s, false, false);
    bench<float>("f32", s, s, s, false, true);
    if (s <= 1024) bench<float>("f32", s, s, s, true, false);
    if (s <= 1024) bench<double>("f64", s, s, s, false, false);
  }
  for (int64_t m : {1, 2, 4, 8, 16, 32}) {
    bench<float>("f32", m, 4096, 4096, false, false);
    bench<float>("f32", m, 4096, 4096, false, true);
  }
  bench<float>("f32", 4096, 1, 4096, false, false);
  bench<float>("f32", 4096, 1, 4096, true, false);
  bench<float>("f32", 1, 8, 8, false, false);
  bench<float>("f32", 1, 8, 8, false, true);
  bench<float>("f32", 32, 10, 784, false, false);
  bench<float>("f32", 32, 128, 784, false, true);
  bench<float>("f32", 1, 1, 1024, false, false);
  bench<int32_t>("i32", 512, 512, 512, false, false);
  bench<int64_t>("i64", 512, 512, 512, false, false);
  bench<int8_t>("i8 ", 512, 512, 512, false, false);
}
