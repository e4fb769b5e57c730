// workers.h: threads that compute batches ahead of the loader. Knows neither datasets nor samplers: a job is a request,
// a result is a batch or an exception.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace undertow::data {

// An error of a dataset, raised by a worker's thread.
struct WorkerException : std::exception {
  explicit WorkerException(std::exception_ptr original)
      : original_exception(std::move(original)), message("Caught an exception in a worker thread of DataLoader.") {
    try {
      std::rethrow_exception(original_exception);
    } catch (const std::exception& e) {
      message += std::string(" Original message: ") + e.what();
    } catch (...) {
    }
  }
  const char* what() const noexcept override { return message.c_str(); }
  std::exception_ptr original_exception;
  std::string message;
};

namespace detail {

template <class Request, class Batch>
class Workers {
 public:
  using Function = std::function<std::optional<Batch>(Request)>;
  struct Result {
    size_t number;
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  ~Workers() { stop(); }
  void add(Function function) {
    threads_.emplace_back([this, function = std::move(function)] { work(function); });
  }
  void push(Request request) {
    {
      std::lock_guard lock(mutex_);
      jobs_.emplace_back(pushed_++, std::move(request));
    }
    job_or_stop_.notify_one();
  }
  size_t in_flight() const { return pushed_ - popped_; }
  // The next result: in the order of the requests, or the first that is there.
  Result pop(bool in_order, const std::optional<std::chrono::milliseconds>& timeout) {
    std::unique_lock lock(mutex_);
    auto found = results_.end();
    auto arrived = [&] {
      for (found = results_.begin(); found != results_.end(); ++found)
        if (!in_order || found->number == popped_) return true;
      return false;
    };
    if (!timeout)
      result_.wait(lock, arrived);
    else
      UT_CHECK(result_.wait_for(lock, *timeout, arrived),
               "DataLoader: timeout while waiting for the next batch: ", timeout->count(), " ms have passed");
    Result result = std::move(*found);
    results_.erase(found);
    popped_++;
    return result;
  }
  // Forgets what was requested and not yet popped.
  void drain() {
    std::unique_lock lock(mutex_);
    popped_ += jobs_.size();
    jobs_.clear();
    result_.wait(lock, [&] { return results_.size() == in_flight(); });
    results_.clear();
    popped_ = pushed_;
  }
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    job_or_stop_.notify_all();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  void work(const Function& function) {
    std::unique_lock lock(mutex_);
    while (true) {
      job_or_stop_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      auto [number, request] = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      Result result{number, std::nullopt, nullptr};
      try {
        result.batch = function(std::move(request));
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      results_.push_back(std::move(result));
      result_.notify_all();
    }
  }

  std::mutex
      mutex_;  // guards the members below, except pushed_, popped_ and threads_: only the loader's thread uses them
  std::condition_variable job_or_stop_, result_;
  std::deque<std::pair<size_t, Request>> jobs_;
  std::vector<Result> results_;
  size_t pushed_ = 0, popped_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace detail
}  // namespace undertow::data
