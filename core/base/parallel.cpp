// parallel.cpp: the thread pool behind parallel_for: claiming chunks, sleeping and waking, errors, fork and exit.
// It runs one job at a time; a second caller runs its chunks itself. Does not know what a chunk computes.
#include "core/base/parallel.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/cpu_limit.h"
#include "core/base/signals.h"

namespace undertow::core {
namespace detail {
std::atomic<int> thread_count{0};
}

namespace {

constexpr int kMaxThreads = 1024;
// How long a thread spins for work before it sleeps. Waking a thread takes about 50 microseconds, and the small
// operations between the big ones of a training step take some tens of microseconds. OpenMP runtimes spin for
// milliseconds.
constexpr int64_t kSpinNanoseconds = 200'000;
// With more threads than cores, a spinning thread takes a core from a working one, so it goes to sleep almost at once.
constexpr int64_t kCrowdedSpinNanoseconds = 2'000;
constexpr int64_t kMaxChunks = std::numeric_limits<int32_t>::max();

constinit thread_local bool inside_chunk = false;

struct InsideChunkGuard {
  bool before = inside_chunk;
  InsideChunkGuard() { inside_chunk = true; }
  ~InsideChunkGuard() { inside_chunk = before; }
};

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Read once, while the library loads. A child of fork also creates a pool; a fork in the middle of reading the files
// would leave the child with the reader's allocations.
const int loaded_cores = available_cpus();

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Spins until done() is true; returns false if the time limit passes first.
template <class Done>
bool spin_until(int64_t limit, Done&& done) {
  int64_t start = 0;
  for (int i = 1;; ++i) {
    if (done()) return true;
    cpu_pause();
    if (i % 64) continue;
    int64_t now = nanoseconds();
    if (!start) start = now;
    if (now - start > limit) return false;
  }
}

struct Job {
  int64_t begin, end, grain, chunks;
  detail::ChunkFn fn;
  void* context;

  void run(int64_t chunk) const {
    int64_t at = begin + chunk * grain;
    fn(context, at, end - at > grain ? at + grain : end);
  }
};

void run_inline(const Job& job) {
  job.run(0);
  for (int64_t chunk = 1; chunk < job.chunks; ++chunk) {
    poll_signals();
    job.run(chunk);
  }
}

// Note [Claiming Chunks]
// The chunks of a job are divided into one share per thread. A share is a range of neighbouring chunks, so that the
// next operation on the same memory finds it in the cache of the same core. A thread that has finished its share takes
// chunks from the ends of the others.
// A share is one atomic word, and the only access to a job. The thread that takes a chunk from it owns that chunk, and
// the job cannot end until the chunk is subtracted from `unfinished_`. So `job_`, which is written before the shares,
// does not change while a thread owns a chunk, and needs no lock. A worker that owns no chunk reads only atomics, and
// nobody waits for it: it may sleep, or have no core, for any time, and wake up in the middle of a later job.
class Share {
 public:
  void deal(int64_t first, int64_t end) { word_.store(pack(first, end), std::memory_order_release); }
  bool take_first(int64_t* chunk) {
    return take([chunk](int64_t& first, int64_t&) { *chunk = first++; });
  }
  bool take_last(int64_t* chunk) {
    return take([chunk](int64_t&, int64_t& end) { *chunk = --end; });
  }

 private:
  static uint64_t pack(int64_t first, int64_t end) {
    return static_cast<uint64_t>(first) << 32 | static_cast<uint64_t>(end);
  }

  template <class F>
  bool take(F&& f) {
    uint64_t before = word_.load(std::memory_order_acquire);
    for (;;) {
      int64_t first = static_cast<int64_t>(before >> 32), end = static_cast<int64_t>(before & 0xffffffff);
      if (first >= end) return false;
      f(first, end);
      if (word_.compare_exchange_weak(before, pack(first, end), std::memory_order_acq_rel)) return true;
    }
  }

  alignas(64) std::atomic<uint64_t> word_{0};  // chunks [first, end) not yet taken; atomic: all threads take them
};

class Pool {
 public:
  // Returns false, without running anything, if the pool is busy with another caller's job.
  bool try_run(const Job& job, int threads) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    int helpers = static_cast<int>(std::min<int64_t>(threads - 1, job.chunks - 1));
    start_workers(helpers);
    helpers = std::min(helpers, started_);
    publish(job, helpers, threads <= loaded_cores ? kSpinNanoseconds : kCrowdedSpinNanoseconds);
    work(0, helpers);
    wait_until_finished();
    std::exception_ptr error = std::exchange(error_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  void publish(const Job& job, int helpers, int64_t spin) {
    job_ = job;
    first_failed_.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
    unfinished_.store(job.chunks, std::memory_order_relaxed);
    spin_.store(spin, std::memory_order_relaxed);
    int64_t threads = helpers + 1;
    for (int64_t t = 0; t < threads; ++t) shares_[t].deal(job.chunks * t / threads, job.chunks * (t + 1) / threads);
    helpers_.store(helpers, std::memory_order_relaxed);
    // seq_cst here and in sleep(): either we see the sleeping worker, or the worker sees the new job.
    jobs_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    {
      std::lock_guard lock(sleep_mutex_);
    }
    wake_.notify_all();
  }

  // Thread 0 is the caller, 1 to `helpers` are workers.
  void work(int thread, int helpers) {
    InsideChunkGuard guard;
    int64_t finished = 0, chunk;
    for (; shares_[thread].take_first(&chunk); ++finished) run_chunk(chunk);
    for (int k = 1; k <= helpers; ++k) {
      Share& other = shares_[(thread + k) % (helpers + 1)];
      for (; other.take_last(&chunk); ++finished) run_chunk(chunk);
    }
    if (finished == 0) return;
    if (unfinished_.fetch_sub(finished, std::memory_order_seq_cst) != finished) return;
    if (!caller_sleeps_.load(std::memory_order_seq_cst)) return;
    {
      std::lock_guard lock(sleep_mutex_);
    }
    finished_.notify_all();
  }

  // Skips only chunks above one that failed, so the lowest failing chunk always runs, whatever the thread schedule.
  void run_chunk(int64_t chunk) {
    if (chunk > first_failed_.load(std::memory_order_relaxed)) return;
    if (!polled()) return;
    try {
      job_.run(chunk);
    } catch (...) {
      fail(chunk);
    }
  }

  // Call it inside catch (...).
  void fail(int64_t chunk) {
    std::lock_guard lock(error_mutex_);
    if (chunk > first_failed_.load(std::memory_order_relaxed)) return;
    first_failed_.store(chunk, std::memory_order_relaxed);
    error_ = std::current_exception();
  }

  // False if a signal handler raised: then all chunks fail that have not begun.
  bool polled() {
    try {
      poll_signals();
    } catch (...) {
      fail(-1);
      return false;
    }
    return true;
  }

  void wait_until_finished() {
    if (spin_until(spin_.load(std::memory_order_relaxed),
                   [&] { return unfinished_.load(std::memory_order_acquire) == 0; }))
      return;
    auto finished = [&] { return unfinished_.load(std::memory_order_seq_cst) == 0; };
    std::unique_lock lock(sleep_mutex_);
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    if (!polls_signals()) {
      finished_.wait(lock, finished);
    } else {
      while (!finished_.wait_for(lock, std::chrono::nanoseconds(kSignalInterval), finished)) {
        lock.unlock();
        polled();
        lock.lock();
      }
    }
    caller_sleeps_.store(false, std::memory_order_relaxed);
  }

  // Called only by the caller that holds busy_.
  void start_workers(int wanted) {
    if (started_ >= wanted) return;
    // Signals should go to the program's own threads: Python expects them in its main thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; started_ < wanted; ++started_) std::thread(&Pool::worker_main, this, started_ + 1).detach();
    } catch (const std::system_error&) {
      // The system allows no more threads. The existing workers, or the caller alone, do the work.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void worker_main(int thread) {
    uint64_t seen = 0;
    auto called = [&](std::memory_order order) {
      return jobs_.load(order) != seen && thread <= helpers_.load(std::memory_order_relaxed);
    };
    for (;;) {
      if (!spin_until(spin_.load(std::memory_order_relaxed), [&] { return called(std::memory_order_acquire); }))
        sleep(called);
      seen = jobs_.load(std::memory_order_acquire);
      work(thread, helpers_.load(std::memory_order_relaxed));
    }
  }

  template <class Called>
  void sleep(Called&& called) {
    std::unique_lock lock(sleep_mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return called(std::memory_order_seq_cst); });
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Atomics, not mutexes, because every thread accesses them once per chunk or per job.
  std::atomic<bool> busy_{false};                   // held by the caller whose job is running
  alignas(64) std::atomic<uint64_t> jobs_{0};       // number of jobs published; workers wake when it changes
  std::atomic<int64_t> spin_{kSpinNanoseconds};     // how long to spin for work, set by the last job
  alignas(64) std::atomic<int64_t> unfinished_{0};  // chunks not yet finished, whether taken or not
  std::atomic<int64_t> first_failed_{0};            // the lowest chunk that threw
  std::atomic<int> helpers_{0};                     // workers 1 to helpers_ may take part
  std::atomic<int> sleepers_{0};                    // workers in sleep(), so that publish() can skip the wake-up
  std::atomic<bool> caller_sleeps_{false};          // so that the last worker can skip the wake-up
  Job job_{};                                       // See Note [Claiming Chunks]
  int started_ = 0;                                 // guarded by busy_
  Share shares_[kMaxThreads];  // for thread 0 (the caller) and the workers; See Note [Claiming Chunks]
  std::mutex error_mutex_;     // guards error_ while chunks run
  std::exception_ptr error_;
  std::mutex sleep_mutex_;  // guards no data; orders going to sleep and waking up
  std::condition_variable wake_;
  std::condition_variable finished_;
};

// Never destroyed: detached workers sleep in it until the process exits, and static destructors may still compute.
// Atomic because two threads may create it at the same time, and a fork handler must not lock.
std::atomic<Pool*> current_pool{nullptr};

// A child of fork has no workers, and its copy of the pool may be in any state, with locked mutexes. The child drops
// that pool and creates a new one when it needs one, so nothing has to be locked around the fork.
void forget_pool_in_child() { current_pool.store(nullptr, std::memory_order_relaxed); }

[[maybe_unused]] const int fork_handler_registered = pthread_atfork(nullptr, nullptr, forget_pool_in_child);

Pool& pool() {
  Pool* p = current_pool.load(std::memory_order_acquire);
  if (p) return *p;
  Pool* made = new Pool;
  if (current_pool.compare_exchange_strong(p, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *p;
}

}  // namespace

int detail::init_num_threads() {
  int unset = 0;
  thread_count.compare_exchange_strong(unset, std::min(default_num_threads(loaded_cores), kMaxThreads),
                                       std::memory_order_relaxed);
  return thread_count.load(std::memory_order_relaxed);
}

void set_num_threads(int n) {
  if (n < 1) {
    throw std::runtime_error("set_num_threads: expects a positive integer: got " + std::to_string(n));
  }
  detail::thread_count.store(n < kMaxThreads ? n : kMaxThreads, std::memory_order_relaxed);
}

bool in_parallel_region() { return inside_chunk; }

void detail::run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFn fn, void* context) {
  int64_t chunks = (end - begin - 1) / grain + 1;
  Job job{begin, end, grain, chunks, fn, context};
  if (inside_chunk || chunks > kMaxChunks || num_threads() == 1 || !pool().try_run(job, num_threads())) run_inline(job);
}

}  // namespace undertow::core
