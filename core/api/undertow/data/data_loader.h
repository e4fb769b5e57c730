// data_loader.h: batches of a dataset, in a sampler's order, computed in this thread or ahead of it by workers:
// auto loader = make_data_loader(dataset, 64); for (auto& batch : *loader) ...
#pragma once
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <undertow/data/datasets.h>
#include <undertow/data/samplers.h>
#include <undertow/data/workers.h>
#include <undertow/types/arg.h>

namespace undertow::data {

struct DataLoaderOptions {
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  UNDERTOW_ARG(size_t, batch_size) = 1;
  UNDERTOW_ARG(size_t, workers) = 0;              // threads; 0: batches are computed when they are asked for
  UNDERTOW_ARG(std::optional<size_t>, max_jobs);  // batches computed ahead; two per worker unless given
  UNDERTOW_ARG(std::optional<std::chrono::milliseconds>, timeout);  // the longest wait for a worker
  UNDERTOW_ARG(bool, enforce_ordering) = true;  // the sampler's order; otherwise the order in which workers finish
  UNDERTOW_ARG(bool, drop_last) = false;        // leaves out a last batch that is smaller
};
// The same with every choice made.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& o)
      : batch_size(o.batch_size()),
        workers(o.workers()),
        max_jobs(o.max_jobs().value_or(2 * o.workers())),
        timeout(o.timeout()),
        enforce_ordering(o.enforce_ordering()),
        drop_last(o.drop_last()) {
    UT_CHECK_VALUE(batch_size > 0, "DataLoaderOptions: batch_size must be at least 1: got 0");
    UT_CHECK_VALUE(workers == 0 || max_jobs > 0, "DataLoaderOptions: max_jobs must be at least 1: got 0");
  }
  size_t batch_size, workers, max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last;
};

// One pass over the batches. Copies share their position. The first batch is computed when it is first needed.
template <class Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;
  using Next = std::function<std::optional<Batch>()>;

  Iterator() = default;  // the end
  explicit Iterator(Next next) : pass_(std::make_shared<Pass>(Pass{std::move(next), {}, false})) {}
  Iterator& operator++() {
    current("increment");
    pass_->batch = pass_->next();
    return *this;
  }
  Batch& operator*() { return current("dereference"); }
  Batch* operator->() { return &current("dereference"); }
  bool operator==(const Iterator& other) const {
    if (pass_ == other.pass_) return true;
    return (!pass_ || !other.pass_) && at_end() && other.at_end();
  }

 private:
  struct Pass {
    Next next;
    std::optional<Batch> batch;
    bool started;
  };
  bool at_end() const {
    if (!pass_) return true;
    if (!pass_->started) {
      pass_->started = true;
      pass_->batch = pass_->next();
    }
    return !pass_->batch;
  }
  Batch& current(const char* what) const {
    UT_CHECK(!at_end(), "DataLoader: attempted to ", what, " an iterator that is past the end");
    return *pass_->batch;
  }
  std::shared_ptr<Pass> pass_;
};

// What the two loaders below share. A loader is used by one thread and gives one pass at a time.
template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  explicit DataLoaderBase(const DataLoaderOptions& options) : options_(options) {}
  DataLoaderBase(const DataLoaderBase&) = delete;
  virtual ~DataLoaderBase() = default;

  Iterator<Batch> begin() {
    UT_CHECK(workers_.in_flight() == 0,
             "DataLoader: attempted to start a pass while another one has batches under way; iterate to its end first");
    UT_CHECK(!joined_, "DataLoader: attempted to start a pass after join()");
    reset();
    while (workers_.in_flight() < options_.max_jobs && request_one()) {
    }
    return Iterator<Batch>([this] { return next(); });
  }
  Iterator<Batch> end() { return {}; }
  // Ends the workers; the loader cannot be used again. The destructor does it too.
  void join() {
    workers_.drain();
    workers_.stop();
    joined_ = true;
  }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  using Compute = std::function<std::optional<Batch>(BatchRequest)>;
  virtual void reset() = 0;
  virtual std::optional<BatchRequest> next_request() = 0;
  void set_compute(Compute compute) { compute_ = std::move(compute); }
  void add_worker(Compute compute) { workers_.add(std::move(compute)); }
  FullDataLoaderOptions options_;

 private:
  bool request_one() {
    if (options_.workers == 0) return false;
    std::optional<BatchRequest> request = next_request();
    if (request) workers_.push(std::move(*request));
    return request.has_value();
  }
  std::optional<Batch> next() {
    if (options_.workers == 0) {
      std::optional<BatchRequest> request = next_request();
      return request ? compute_(std::move(*request)) : std::nullopt;
    }
    while (workers_.in_flight() > 0) {
      auto result = workers_.pop(options_.enforce_ordering, options_.timeout);
      if (result.error) {
        workers_.drain();  // so that another pass can start
        throw WorkerException(result.error);
      }
      if (result.batch) {
        request_one();
        return std::move(result.batch);
      }
    }
    return std::nullopt;
  }
  Compute compute_;
  detail::Workers<BatchRequest, Batch> workers_;
  bool joined_ = false;
};

// For a dataset with a sampler. Each worker has a copy of the dataset.
template <class Dataset, class Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
  using Request = typename Sampler::BatchRequestType;

 public:
  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : StatelessDataLoader::DataLoaderBase(options), sampler_(std::move(sampler)) {
    auto copy = [&dataset] {
      auto own = std::make_shared<Dataset>(dataset);
      return [own](Request request) -> std::optional<typename Dataset::BatchType> {
        return own->get_batch(std::move(request));
      };
    };
    for (size_t w = 0; w < this->options_.workers; w++) this->add_worker(copy());
    if (this->options_.workers == 0) this->set_compute(copy());
  }
  ~StatelessDataLoader() override = default;

 private:
  void reset() override { sampler_.reset(std::nullopt); }
  std::optional<Request> next_request() override {
    std::optional<Request> request = sampler_.next(this->options_.batch_size);
    if (request && request->size() < this->options_.batch_size && this->options_.drop_last) return std::nullopt;
    return request;
  }
  Sampler sampler_;
};

// For a dataset that ends by itself. The workers share it.
template <class Dataset>
class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options)
      : StatefulDataLoader::DataLoaderBase(options), dataset_(std::make_shared<Dataset>(std::move(dataset))) {
    auto compute = [shared = dataset_](typename Dataset::BatchRequestType request) {
      return shared->get_batch(std::move(request));
    };
    for (size_t w = 0; w < this->options_.workers; w++) this->add_worker(compute);
    if (this->options_.workers == 0) this->set_compute(compute);
  }

 private:
  void reset() override { dataset_->reset(); }
  std::optional<typename Dataset::BatchRequestType> next_request() override { return this->options_.batch_size; }
  std::shared_ptr<Dataset> dataset_;
};

template <class Dataset, class Sampler>
  requires(!Dataset::is_stateful)
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                        DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}
// With a sampler for the dataset's size.
template <class Sampler = samplers::RandomSampler, class Dataset>
  requires(!Dataset::is_stateful && std::is_constructible_v<Sampler, size_t>)
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                                        DataLoaderOptions options = {}) {
  std::optional<size_t> size = dataset.size();
  UT_CHECK(size.has_value(),
           "make_data_loader: the dataset has no size, so that no sampler can be made for it; pass a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}
template <class Dataset>
  requires(Dataset::is_stateful)
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace undertow::data
