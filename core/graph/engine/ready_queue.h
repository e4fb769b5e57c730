// ready_queue.h: the tasks one kind of worker may run next, newest forward operation first.
// Owns the lock and the wake-up; does not know which thread pops, or what a task computes.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/base/signals.h"
#include "core/graph/engine/graph_task.h"

namespace undertow::core {

struct ReadyTask {
  GraphTask* task = nullptr;
  Node* node = nullptr;
  bool shutdown = false;
};

class ReadyQueue {
 public:
  void push(ReadyTask t) {
    {
      std::lock_guard lock(mutex_);
      heap_.push_back(t);
      std::push_heap(heap_.begin(), heap_.end(), before);
    }
    wake_.notify_one();
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return heap_.size();
  }
  // Blocks until there is something to run or stop() was called; node is null in the latter case. The thread that
  // handles signals calls poll(), which must not throw, while it waits.
  template <class Poll>
  ReadyTask pop(Poll&& poll) {
    std::unique_lock lock(mutex_);
    auto ready = [&] { return stopped_ || !heap_.empty(); };
    if (!polls_signals()) {
      wake_.wait(lock, ready);
    } else {
      while (!wake_.wait_for(lock, std::chrono::nanoseconds(kSignalInterval), ready)) {
        lock.unlock();
        poll();
        lock.lock();
      }
    }
    if (heap_.empty()) return {};
    std::pop_heap(heap_.begin(), heap_.end(), before);
    ReadyTask t = heap_.back();
    heap_.pop_back();
    return t;
  }
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }

 private:
  // Shutdown tasks first, then deeper reentrant passes, then more recently recorded nodes.
  static bool before(const ReadyTask& a, const ReadyTask& b) {
    if (a.shutdown != b.shutdown) return b.shutdown;
    if (a.task->reentrant_depth != b.task->reentrant_depth) return a.task->reentrant_depth < b.task->reentrant_depth;
    return a.node->sequence_nr() < b.node->sequence_nr();
  }
  std::mutex mutex_;  // guards heap_ and stopped_
  std::condition_variable wake_;
  std::vector<ReadyTask> heap_;
  bool stopped_ = false;
};

}  // namespace undertow::core
