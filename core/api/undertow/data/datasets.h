// datasets.h: collections of examples: Dataset, which programs derive from, TensorDataset, and datasets made from
// others by map and make_shared_dataset.
#pragma once
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <undertow/data/example.h>
#include <undertow/functions.h>
#include <undertow/types/array_ref.h>

namespace undertow::serialize {
class OutputArchive;
class InputArchive;
}  // namespace undertow::serialize

namespace undertow::data::datasets {
namespace detail {
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
}  // namespace detail

template <class Source, class Applied>
class MapDataset;
template <class Source, class Applied>
MapDataset<Source, Applied> map(Source dataset, Applied transform) {
  return {std::move(dataset), std::move(transform)};
}

// Returns whole batches. `Self` is the class that derives from it. A dataset whose batches are optional ends when it
// returns none, and needs no sampler: StatefulDataset.
template <class Self, class Batch, class BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = detail::is_optional<Batch>;
  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  virtual std::optional<size_t> size() const = 0;
  // A dataset of transformed batches, with a copy of this one.
  template <class Applied>
  MapDataset<Self, Applied> map(Applied transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class Applied>
  MapDataset<Self, Applied> map(Applied transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

// Returns one example for an index; a batch is a vector of them.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  virtual SingleExample get(size_t index) = 0;
  std::vector<SingleExample> get_batch(ArrayRef<size_t> indices) override {
    std::vector<SingleExample> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

// Is asked for a number of examples, and not for indices. A StreamSampler ends it.
template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

// Knows itself when it ends: get_batch then returns nothing. The workers of a loader share one object.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;  // before every pass
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

// The rows of one tensor.
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const variable_list& tensors) : TensorDataset(stack(tensors)) {}
  explicit TensorDataset(Tensor rows) : tensor(std::move(rows)) {}
  TensorExample get(size_t index) override { return tensor[static_cast<int64_t>(index)]; }
  std::optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }
  Tensor tensor;
};

template <class Source, class Applied>
class MapDataset
    : public BatchDataset<MapDataset<Source, Applied>,
                          std::conditional_t<Source::is_stateful, std::optional<typename Applied::OutputBatchType>,
                                             typename Applied::OutputBatchType>,
                          typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = Applied;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = typename Applied::OutputBatchType;
  using BatchType = std::conditional_t<Source::is_stateful, std::optional<OutputBatchType>, OutputBatchType>;

  MapDataset(Source dataset, Applied transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}
  BatchType get_batch(BatchRequestType request) override {
    auto batch = dataset_.get_batch(std::move(request));
    if constexpr (Source::is_stateful) {
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(std::move(batch));
    }
  }
  std::optional<size_t> size() const noexcept override { return dataset_.size(); }
  void reset() { dataset_.reset(); }  // for a stateful dataset
  const Source& dataset() noexcept { return dataset_; }
  const Applied& transform() noexcept { return transform_; }

 private:
  Source dataset_;
  Applied transform_;
};

// One dataset for all workers, which otherwise have a copy each. get_batch must then be safe to call from any thread.
template <class Shared>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<Shared>, typename Shared::BatchType, typename Shared::BatchRequestType> {
 public:
  using BatchType = typename Shared::BatchType;
  using BatchRequestType = typename Shared::BatchRequestType;
  SharedBatchDataset(std::shared_ptr<Shared> dataset) : dataset_(std::move(dataset)) {}
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  std::optional<size_t> size() const override { return dataset_->size(); }
  Shared& operator*() { return *dataset_; }
  const Shared& operator*() const { return *dataset_; }
  Shared* operator->() { return dataset_.get(); }
  const Shared* operator->() const { return dataset_.get(); }
  void reset() { dataset_->reset(); }

 private:
  std::shared_ptr<Shared> dataset_;
};
template <class Shared, class... Args>
SharedBatchDataset<Shared> make_shared_dataset(Args&&... args) {
  return std::make_shared<Shared>(std::forward<Args>(args)...);
}

}  // namespace undertow::data::datasets
