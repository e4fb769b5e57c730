// test_parallel.cpp: parallel_for covers its range once, in fixed chunks, and handles errors, nesting, several callers
// and
// forks. Uses only the public header.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "tests/cpp/check.h"

using undertow::core::parallel_for;

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

static Chunks chunks_of(int64_t begin, int64_t end, int64_t grain) {
  std::mutex mutex;  // guards chunks
  Chunks chunks;
  parallel_for(begin, end, grain, [&](int64_t b, int64_t e) {
    std::lock_guard lock(mutex);
    chunks.emplace_back(b, e);
  });
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

static int64_t parallel_sum(int64_t n, int64_t grain) {
  std::atomic<int64_t> sum{0};
  parallel_for(0, n, grain, [&](int64_t b, int64_t e) {
    int64_t part = 0;
    for (int64_t i = b; i < e; ++i) part += i;
    sum += part;
  });
  return sum;
}

static void test_chunks_do_not_depend_on_threads() {
  for (auto [begin, end, grain] :
       {std::tuple<int64_t, int64_t, int64_t>{0, 10, 3}, {-7, 1000, 13}, {5, 6, 0}, {0, 64, 64}}) {
    undertow::core::set_num_threads(1);
    Chunks serial = chunks_of(begin, end, grain);
    int64_t at = begin;
    for (auto [b, e] : serial) {
      CHECK(b == at);
      at = e;
    }
    CHECK(at == end);
    for (int threads : {2, 3, 8}) {
      undertow::core::set_num_threads(threads);
      CHECK(chunks_of(begin, end, grain) == serial);
    }
  }
}

static void test_empty_range_calls_nothing() {
  CHECK(chunks_of(3, 3, 1).empty());
  CHECK(chunks_of(3, 2, 1).empty());
}

static void test_many_short_jobs() {
  undertow::core::set_num_threads(4);
  for (int i = 0; i < 20000; ++i) {
    int64_t n = i % 97;
    if (parallel_sum(n, 1 + i % 5) != n * (n - 1) / 2) {
      CHECK(!"sum of a short job");
      return;
    }
  }
}

static void test_lowest_exception_reaches_the_caller() {
  for (int threads : {1, 2, 5}) {
    undertow::core::set_num_threads(threads);
    for (int round = 0; round < 200; ++round) {
      std::string what;
      try {
        parallel_for(0, 100, 1, [&](int64_t b, int64_t) {
          if (b >= 40 && b % 10 == 0) throw std::runtime_error("chunk " + std::to_string(b));
        });
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      CHECK(what == "chunk 40");
    }
    CHECK(!undertow::core::in_parallel_region());
    CHECK(parallel_sum(1000, 7) == 499500);
  }
}

static void test_nested_calls_run_inline() {
  undertow::core::set_num_threads(4);
  CHECK(!undertow::core::in_parallel_region());
  std::atomic<int64_t> total{0};
  parallel_for(0, 32, 1, [&](int64_t, int64_t) {
    CHECK(undertow::core::in_parallel_region());
    auto outer = std::this_thread::get_id();
    parallel_for(0, 100, 9, [&](int64_t b, int64_t e) {
      CHECK(std::this_thread::get_id() == outer);
      total += e - b;
    });
  });
  CHECK(total == 3200);
  CHECK(!undertow::core::in_parallel_region());
}

static void test_several_callers_at_once() {
  undertow::core::set_num_threads(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([] {
      for (int i = 0; i < 3000; ++i) {
        if (parallel_sum(200, 3) != 19900) CHECK(!"sum among several callers");
      }
    });
  }
  for (auto& caller : callers) caller.join();
}

static void test_sleeping_workers_wake() {
  undertow::core::set_num_threads(3);
  for (int i = 0; i < 50; ++i) {
    usleep(1000);
    CHECK(parallel_sum(100, 10) == 4950);
  }
}

static bool child_succeeds(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[maybe_unused]] static pid_t fork_and_compute() {
  pid_t child = fork();
  if (child != 0) return child;
  alarm(20);
  bool right = true;
  for (int i = 0; i < 200; ++i) right &= parallel_sum(500, 3) == 124750;
  // Also in a grandchild: the pool created in the child must be dropped as well.
  pid_t grandchild = fork();
  if (grandchild == 0) _exit(parallel_sum(500, 3) == 124750 ? 0 : 1);
  exit(right && child_succeeds(grandchild) ? 0 : 1);
}

[[maybe_unused]] static void test_fork_while_another_thread_computes() {
  undertow::core::set_num_threads(3);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) parallel_sum(1000, 5);
  });
  for (int i = 0; i < 20; ++i) CHECK(child_succeeds(fork_and_compute()));
  stop = true;
  busy.join();
  CHECK(parallel_sum(1000, 10) == 499500);
}

static void test_set_num_threads_rejects_zero() {
  bool rejected = false;
  try {
    undertow::core::set_num_threads(0);
  } catch (const std::runtime_error&) {
    rejected = true;
  }
  CHECK(rejected);
}

struct ComputesAtExit {
  ~ComputesAtExit() {
    if (parallel_sum(1000, 10) != 499500) _exit(3);
  }
} computes_at_exit;

int main() {
  CHECK(undertow::core::num_threads() >= 1);
  test_chunks_do_not_depend_on_threads();
  test_empty_range_calls_nothing();
  test_many_short_jobs();
  test_lowest_exception_reaches_the_caller();
  test_nested_calls_run_inline();
  test_several_callers_at_once();
  test_sleeping_workers_wake();
#ifndef __SANITIZE_THREAD__  // TSan cannot follow threads started in a child of fork
  test_fork_while_another_thread_computes();
#endif
  test_set_num_threads_rejects_zero();
  return report("test_parallel");
}
