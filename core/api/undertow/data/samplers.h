// samplers.h: the order in which a loader asks a dataset for examples: random, sequential, a share of them for one of
// several processes, or only how many.
#pragma once
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <undertow/archive.h>
#include <undertow/functions.h>

#include "core/base/error.h"

namespace undertow::data::samplers {

template <class BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  virtual void reset(std::optional<size_t> new_size) = 0;  // before every pass
  virtual std::optional<BatchRequest> next(size_t batch_size) = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};
template <class BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  sampler.save(archive);
  return archive;
}
template <class BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
  sampler.load(archive);
  return archive;
}

namespace detail {
inline void write_number(serialize::OutputArchive& archive, const char* key, size_t number) {
  archive.write(key, tensor(static_cast<int64_t>(number)));
}
inline size_t read_number(serialize::InputArchive& archive, const char* key) {
  Tensor number = empty({}, kInt64);
  archive.read(key, number);
  return static_cast<size_t>(number.item<int64_t>());
}
}  // namespace detail

// 0 to size - 1.
class SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(size_t size) : size_(size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override {
    size_ = new_size.value_or(size_);
    index_ = 0;
  }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    if (index_ >= size_) return std::nullopt;
    std::vector<size_t> batch(std::min(batch_size, size_ - index_));
    std::iota(batch.begin(), batch.end(), index_);
    index_ += batch.size();
    return batch;
  }
  void save(serialize::OutputArchive& archive) const override { detail::write_number(archive, "index", index_); }
  void load(serialize::InputArchive& archive) override { index_ = detail::read_number(archive, "index"); }
  size_t index() const noexcept { return index_; }

 private:
  size_t size_, index_ = 0;
};

// 0 to size - 1 in another order in each pass: that of randperm(size), from the default generator.
class RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kInt64) : indices_(randperm(size, index_dtype)) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override {
    int64_t size = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
    indices_ = randperm(size, indices_.scalar_type());
    index_ = 0;
  }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    int64_t left = indices_.numel() - index_;
    if (left <= 0) return std::nullopt;
    int64_t count = std::min(static_cast<int64_t>(batch_size), left);
    Tensor batch = indices_.narrow(0, index_, count).to(kInt64);
    index_ += count;
    const int64_t* first = batch.const_data_ptr<int64_t>();
    return std::vector<size_t>(first, first + count);
  }
  void save(serialize::OutputArchive& archive) const override {
    detail::write_number(archive, "index", static_cast<size_t>(index_));
    archive.write("indices", indices_);
  }
  void load(serialize::InputArchive& archive) override {
    index_ = static_cast<int64_t>(detail::read_number(archive, "index"));
    indices_ = Tensor();
    archive.read("indices", indices_);
  }
  size_t index() const noexcept { return static_cast<size_t>(index_); }

 private:
  Tensor indices_;
  int64_t index_ = 0;
};

// A batch that is asked for by its size alone.
struct CustomBatchRequest {
  virtual ~CustomBatchRequest() = default;
  virtual size_t size() const = 0;
};
struct BatchSize : CustomBatchRequest {
  explicit BatchSize(size_t count) : count(count) {}
  size_t size() const noexcept override { return count; }
  operator size_t() const noexcept { return count; }
  size_t count;
};
// Asks for `epoch_size` examples, whichever they are: for a StreamDataset.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<size_t> new_size = std::nullopt) override {
    epoch_size_ = new_size.value_or(epoch_size_);
    drawn_ = 0;
  }
  std::optional<BatchSize> next(size_t batch_size) override {
    if (drawn_ >= epoch_size_) return std::nullopt;
    size_t count = std::min(batch_size, epoch_size_ - drawn_);
    drawn_ += count;
    return BatchSize(count);
  }
  void save(serialize::OutputArchive& archive) const override {
    detail::write_number(archive, "examples_retrieved_so_far", drawn_);
  }
  void load(serialize::InputArchive& archive) override {
    drawn_ = detail::read_number(archive, "examples_retrieved_so_far");
  }

 private:
  size_t epoch_size_, drawn_ = 0;
};

// The share of process `rank` of `num_replicas`: a consecutive part of the order. With allow_duplicates every process
// gets equally many, and the last one continues with the first examples; otherwise the last examples are left out.
template <class BatchRequest = std::vector<size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    UT_CHECK_VALUE(rank < num_replicas, "DistributedSampler: rank must be less than num_replicas: got rank ", rank,
                   " of ", num_replicas);
  }
  void set_epoch(size_t epoch) { epoch_ = epoch; }  // the same in all processes, before a pass
  size_t epoch() const { return epoch_; }

 protected:
  size_t local_sample_count() const { return (size_ + (allow_duplicates_ ? num_replicas_ - 1 : 0)) / num_replicas_; }
  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};
// In an order that derived classes choose.
class DistributedOrderedSampler : public DistributedSampler<> {
 public:
  using DistributedSampler::DistributedSampler;
  void reset(std::optional<size_t> new_size = std::nullopt) override {
    size_ = new_size.value_or(size_);
    std::vector<size_t> all = order();
    own_.resize(local_sample_count());
    for (size_t i = 0; i < own_.size(); i++) own_[i] = all[(rank_ * own_.size() + i) % size_];
    index_ = 0;
  }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    if (index_ >= own_.size()) return std::nullopt;
    const size_t* first = own_.data() + index_;
    size_t count = std::min(batch_size, own_.size() - index_);
    index_ += count;
    return std::vector<size_t>(first, first + count);
  }
  void save(serialize::OutputArchive& archive) const override {
    detail::write_number(archive, "sample_index_", index_);
    detail::write_number(archive, "epoch_", epoch_);
  }
  void load(serialize::InputArchive& archive) override {
    epoch_ = detail::read_number(archive, "epoch_");
    reset();
    index_ = detail::read_number(archive, "sample_index_");
  }
  size_t index() const noexcept { return index_; }

 protected:
  virtual std::vector<size_t> order() const = 0;

 private:
  std::vector<size_t> own_;
  size_t index_ = 0;
};
class DistributedSequentialSampler final : public DistributedOrderedSampler {
 public:
  explicit DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0,
                                        bool allow_duplicates = true)
      : DistributedOrderedSampler(size, num_replicas, rank, allow_duplicates) {
    reset();
  }

 private:
  std::vector<size_t> order() const override {
    std::vector<size_t> all(size_);
    std::iota(all.begin(), all.end(), size_t(0));
    return all;
  }
};
// A permutation that depends on the epoch alone.
class DistributedRandomSampler final : public DistributedOrderedSampler {
 public:
  explicit DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true)
      : DistributedOrderedSampler(size, num_replicas, rank, allow_duplicates) {
    reset();
  }

 private:
  std::vector<size_t> order() const override {
    Tensor all = randperm(static_cast<int64_t>(size_), make_generator(epoch_));
    const int64_t* first = all.const_data_ptr<int64_t>();
    return std::vector<size_t>(first, first + size_);
  }
};

}  // namespace undertow::data::samplers
