// parallel.cpp: the thread pool behind parallel_for: claiming chunks, sleeping and waking, errors, fork,
// exit. One job at a time; a second caller runs its chunks itself. Does not know what a chunk computes.
#include "core/base/parallel.h"

#include <pthread.h>
#include <signal.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace undertow {
namespace detail {
std::atomic<int> thread_count{0};
}

namespace {

constexpr int kMaxThreads = 1024;
// About 10 to 40 microseconds of `pause`: longer than the gap between two kernels of one operation, shorter
// than what a neighbour on a shared machine would notice.
constexpr int kSpins = 1000;

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

int available_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int n = CPU_COUNT(&set);
    if (n > 0) return n < kMaxThreads ? n : kMaxThreads;
  }
#endif
  int n = static_cast<int>(std::thread::hardware_concurrency());
  return n > 0 ? n : 1;
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
  for (int64_t chunk = 0; chunk < job.chunks; ++chunk) job.run(chunk);
}

// Note [Claiming Chunks]
// `unclaimed_` is the only way into a job. Whoever takes it from c to c-1 owns chunk (chunks - c), and the
// job cannot end before that chunk is counted off `unfinished_`; so `job_`, written before unclaimed_ is
// raised, is stable for every owner of a chunk and needs no lock. A worker that owns no chunk reads nothing
// but atomics, and nobody waits for it: it may be asleep, or without a core, for as long as it likes.
class Pool {
 public:
  // False when the pool is busy with another caller's job; nothing has run then.
  bool try_run(const Job& job, int threads) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    int64_t helpers = std::min<int64_t>(threads - 1, job.chunks - 1);
    start_workers(static_cast<int>(helpers));
    publish(job, static_cast<int>(helpers));
    work();
    wait_until_finished();
    std::exception_ptr error = std::exchange(error_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  void publish(const Job& job, int helpers) {
    job_ = job;
    first_failed_.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
    unfinished_.store(job.chunks, std::memory_order_relaxed);
    helpers_.store(helpers, std::memory_order_relaxed);
    // seq_cst here and in sleep(): either we see the sleeper, or the sleeper sees the work.
    unclaimed_.store(job.chunks, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    { std::lock_guard lock(sleep_mutex_); }
    wake_.notify_all();
  }

  bool claim(int64_t* chunk) {
    int64_t left = unclaimed_.load(std::memory_order_acquire);
    while (left > 0) {
      if (unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) {
        *chunk = job_.chunks - left;
        return true;
      }
    }
    return false;
  }

  void work() {
    InsideChunkGuard guard;
    int64_t finished = 0;
    for (int64_t chunk; claim(&chunk); ++finished) run_chunk(chunk);
    if (finished == 0) return;
    if (unfinished_.fetch_sub(finished, std::memory_order_seq_cst) != finished) return;
    if (!caller_sleeps_.load(std::memory_order_seq_cst)) return;
    { std::lock_guard lock(sleep_mutex_); }
    finished_.notify_all();
  }

  // Chunks are claimed in ascending order, so the lowest failing chunk always runs, whatever the threads do.
  void run_chunk(int64_t chunk) {
    if (chunk > first_failed_.load(std::memory_order_relaxed)) return;
    try {
      job_.run(chunk);
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (chunk > first_failed_.load(std::memory_order_relaxed)) return;
      first_failed_.store(chunk, std::memory_order_relaxed);
      error_ = std::current_exception();
    }
  }

  void wait_until_finished() {
    for (int i = 0; i < kSpins; ++i) {
      if (unfinished_.load(std::memory_order_acquire) == 0) return;
      cpu_pause();
    }
    std::unique_lock lock(sleep_mutex_);
    caller_sleeps_.store(true, std::memory_order_seq_cst);
    finished_.wait(lock, [&] { return unfinished_.load(std::memory_order_seq_cst) == 0; });
    caller_sleeps_.store(false, std::memory_order_relaxed);
  }

  // Only the caller that holds busy_ comes here.
  void start_workers(int wanted) {
    if (started_ >= wanted) return;
    // Signals belong to the program's own threads: Python expects them to interrupt its main one.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; started_ < wanted; ++started_) std::thread(&Pool::worker_main, this, started_).detach();
    } catch (const std::system_error&) {
      // The system grants no more threads; those we have, or the caller alone, do the work.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  bool has_work_for(int worker, std::memory_order order) const {
    return unclaimed_.load(order) > 0 && worker < helpers_.load(std::memory_order_relaxed);
  }

  void worker_main(int worker) {
    for (;;) {
      int spins = 0;
      while (!has_work_for(worker, std::memory_order_acquire) && spins < kSpins) {
        cpu_pause();
        ++spins;
      }
      if (spins == kSpins) sleep(worker);
      work();
    }
  }

  void sleep(int worker) {
    std::unique_lock lock(sleep_mutex_);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    wake_.wait(lock, [&] { return has_work_for(worker, std::memory_order_seq_cst); });
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Atomics, not mutexes, because each is touched once per chunk or per job by every thread.
  std::atomic<bool> busy_{false};                   // held by the caller whose job this is
  alignas(64) std::atomic<int64_t> unclaimed_{0};   // See Note [Claiming Chunks]
  alignas(64) std::atomic<int64_t> unfinished_{0};  // chunks claimed or not, yet to be counted off
  std::atomic<int64_t> first_failed_{0};            // lowest chunk that threw
  std::atomic<int> helpers_{0};                     // workers numbered below this may take part
  std::atomic<int> sleepers_{0};            // workers in sleep(), so that publish() can skip the wake-up
  std::atomic<bool> caller_sleeps_{false};  // so that the last worker can skip the wake-up
  Job job_{};                               // See Note [Claiming Chunks]
  int started_ = 0;                         // guarded by busy_
  std::mutex error_mutex_;                  // guards error_ while chunks run
  std::exception_ptr error_;
  std::mutex sleep_mutex_;  // guards no data: orders going to sleep against waking up
  std::condition_variable wake_;
  std::condition_variable finished_;
};

// Never destroyed: detached workers sleep in it until the process is gone, and static destructors may still
// compute. Atomic because two threads may make it at once, and a fork handler may not lock.
std::atomic<Pool*> current_pool{nullptr};

// A child of fork has none of the workers, and its copy of the pool may be in any state, its mutexes locked.
// It forgets that pool whole and makes another when it needs one, so nothing need be locked around the fork.
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
  thread_count.compare_exchange_strong(unset, available_cores(), std::memory_order_relaxed);
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
  if (inside_chunk || !pool().try_run(job, num_threads())) run_inline(job);
}

}  // namespace undertow
