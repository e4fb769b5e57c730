// test_data.cpp: datasets, transforms, samplers and loaders: what they return, in which order, with and without
// workers.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <undertow/data.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

namespace data = undertow::data;
using undertow::Tensor;

// Example i: data [i, i], target 10 i.
struct Numbers : data::datasets::Dataset<Numbers> {
  explicit Numbers(int64_t count) : count(count) {}
  data::Example<> get(size_t index) override {
    auto i = static_cast<int64_t>(index);
    if (i == broken) throw std::invalid_argument("example 3 cannot be read");
    return {undertow::full({2}, i), undertow::tensor(10 * i)};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(count); }
  int64_t count, broken = -1;
};

template <class Loader>
std::vector<int64_t> targets_of(Loader& loader) {
  std::vector<int64_t> seen;
  for (auto& batch : loader)
    for (int64_t i = 0; i < batch.target.size(0); i++) seen.push_back(batch.target[i].template item<int64_t>());
  return seen;
}
std::vector<int64_t> tens(int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; i++) out.push_back(10 * i);
  return out;
}

void batches_are_stacked_in_order() {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(Numbers(5).map(data::transforms::Stack<>()),
                                                                          data::DataLoaderOptions().batch_size(2));
  std::vector<std::vector<int64_t>> shapes;
  for (auto& batch : *loader) shapes.push_back(batch.data.sizes().vec());
  CHECK((shapes == std::vector<std::vector<int64_t>>{{2, 2}, {2, 2}, {1, 2}}));
  CHECK(targets_of(*loader) == tens(5));  // another pass
  CHECK(loader->begin()->target[1].item<int64_t>() == 10);
  CHECK(loader->options().batch_size == 2 && loader->options().workers == 0);

  auto dropped = data::make_data_loader<data::samplers::SequentialSampler>(Numbers(5).map(data::transforms::Stack<>()),
                                                                           data::DataLoaderOptions(2).drop_last(true));
  CHECK(targets_of(*dropped) == tens(4));
  auto empty = data::make_data_loader(Numbers(0).map(data::transforms::Stack<>()), 2);
  CHECK(targets_of(*empty).empty());
  // Without a transform a batch is a vector of examples.
  auto plain = data::make_data_loader<data::samplers::SequentialSampler>(Numbers(3), 3);
  CHECK(plain->begin()->size() == 3 && (*plain->begin())[2].target.item<int64_t>() == 20);
}

void a_random_order_is_that_of_randperm() {
  undertow::manual_seed(3);
  auto loader = data::make_data_loader(Numbers(20).map(data::transforms::Stack<>()), 6);
  std::vector<int64_t> first = targets_of(*loader), second = targets_of(*loader);
  CHECK(first != second);
  undertow::manual_seed(3);
  undertow::randperm(20);  // the constructor's
  Tensor expected = undertow::randperm(20) * 10;
  CHECK(undertow::tensor(first).equal(expected));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == tens(20) && second == tens(20));
}

void workers_give_the_same_batches() {
  for (size_t workers : {1, 3}) {
    auto options = data::DataLoaderOptions(3).workers(workers);
    auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
        Numbers(50).map(data::transforms::Stack<>()), options);
    CHECK(loader->options().max_jobs == 2 * workers);
    for (int pass = 0; pass < 3; pass++) CHECK(targets_of(*loader) == tens(50));
    auto any = data::make_data_loader<data::samplers::SequentialSampler>(Numbers(50).map(data::transforms::Stack<>()),
                                                                         options.enforce_ordering(false).max_jobs(7));
    std::vector<int64_t> seen = targets_of(*any);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == tens(50));
    any->join();
    CHECK(throws([&] { any->begin(); }, "after join()"));
  }
}

void an_error_in_a_worker_arrives_with_its_message() {
  Numbers numbers(10);
  numbers.broken = 3;
  for (size_t workers : {0, 2}) {
    auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
        numbers.map(data::transforms::Stack<>()), data::DataLoaderOptions(2).workers(workers));
    for (int pass = 0; pass < 2; pass++) {
      std::string message;
      try {
        targets_of(*loader);
      } catch (const std::invalid_argument& e) {
        message = e.what();
      } catch (const data::WorkerException& e) {
        message = e.what();
        CHECK(workers > 0 && message.starts_with("Caught an exception in a worker thread"));
        try {
          std::rethrow_exception(e.original_exception);
        } catch (const std::invalid_argument&) {
        }
      }
      CHECK(message.ends_with("example 3 cannot be read"));
    }
  }
}

void mistakes_of_callers() {
  auto loader =
      data::make_data_loader(Numbers(9).map(data::transforms::Stack<>()), data::DataLoaderOptions(2).workers(1));
  auto pass = loader->begin();
  CHECK(throws([&] { loader->begin(); }, "start a pass while another one has batches under way"));
  while (pass != loader->end()) ++pass;
  CHECK(throws([&] { *pass; }, "attempted to dereference an iterator that is past the end"));
  CHECK(throws([&] { ++pass; }, "attempted to increment an iterator that is past the end"));
  CHECK(throws([&] { *loader->end(); }, "past the end"));
  CHECK(
      throws([] { data::make_data_loader(Numbers(3), data::DataLoaderOptions(0)); }, "batch_size must be at least 1"));
  using data::samplers::DistributedRandomSampler;
  CHECK(throws([] { DistributedRandomSampler(4, 2, 2); }, "rank must be less than num_replicas: got rank 2 of 2"));
}

void transforms() {
  namespace t = data::transforms;
  auto doubled =
      Numbers(3)
          .map(t::TensorLambda<>([](Tensor x) { return 2 * x; }))
          .map(t::Lambda<data::Example<>>([](data::Example<> e) { return data::Example<>(e.data + 1, e.target); }))
          .map(t::Stack<>());
  std::vector<size_t> indices = {2, 0};
  data::Example<> batch = doubled.get_batch(indices);
  CHECK(batch.data.equal(undertow::tensor({{5, 5}, {1, 1}})) && batch.target.equal(undertow::tensor({20, 0})));
  auto sums =
      Numbers(3).map(t::Collate<Tensor, std::vector<data::Example<>>>([](std::vector<data::Example<>> examples) {
        Tensor sum = undertow::zeros({}, undertow::kInt64);
        for (auto& e : examples) sum += e.target;
        return sum;
      }));
  CHECK(sums.get_batch(indices).item<int64_t>() == 20);
  Tensor image = undertow::ones({2, 3, 3});
  Tensor normal = t::Normalize<>({1, 0}, {1, 4})(image);
  CHECK(normal[0].sum().item<float>() == 0 && normal[1][2][2].item<float>() == 0.25f);
}

void rows_of_a_tensor() {
  Tensor rows = undertow::arange(6).view({3, 2});
  data::datasets::TensorDataset dataset(rows);
  CHECK(dataset.size() == 3u && dataset.get(1).data.equal(rows[1]));
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      dataset.map(data::transforms::Stack<data::TensorExample>()), 2);
  Tensor seen = undertow::zeros({0, 2}, undertow::kInt64);
  for (data::TensorExample& batch : *loader) seen = undertow::cat({seen, batch.data});
  CHECK(seen.equal(rows));
  CHECK(data::datasets::TensorDataset({rows[0], rows[2]}).get(1).data.equal(rows[2]));
}

// Counts down from `left`, `batch` at a time, in all workers together.
struct Countdown : data::datasets::StatefulDataset<Countdown, int> {
  std::optional<int> get_batch(size_t batch) override {
    int taken = (*left -= static_cast<int>(batch));
    return taken >= 0 ? std::optional(taken) : std::nullopt;
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  void reset() override { *left = 12; }
  void save(undertow::serialize::OutputArchive&) const override {}
  void load(undertow::serialize::InputArchive&) override {}
  std::shared_ptr<std::atomic<int>> left = std::make_shared<std::atomic<int>>(0);
};
struct Zeros : data::datasets::StreamDataset<Zeros, Tensor> {
  Tensor get_batch(size_t count) override { return undertow::zeros({static_cast<int64_t>(count)}); }
  std::optional<size_t> size() const override { return std::nullopt; }
};

void datasets_that_end_by_themselves() {
  for (size_t workers : {0, 2}) {
    auto loader = data::make_data_loader(Countdown(), data::DataLoaderOptions(3).workers(workers));
    for (int pass = 0; pass < 2; pass++) {
      std::vector<int> seen(loader->begin(), loader->end());
      std::sort(seen.begin(), seen.end());
      CHECK((seen == std::vector<int>{0, 3, 6, 9}));
    }
  }
  std::vector<int64_t> sizes;
  auto stream = data::make_data_loader(Zeros(), data::samplers::StreamSampler(7), 3);
  for (Tensor& batch : *stream) sizes.push_back(batch.size(0));
  CHECK((sizes == std::vector<int64_t>{3, 3, 1}));
  CHECK(throws([] { data::make_data_loader<data::samplers::StreamSampler>(Zeros(), 3); }, "the dataset has no size"));
  auto shared = data::datasets::make_shared_dataset<Numbers>(4);
  shared->broken = 3;
  CHECK(shared.size() == 4u && (*shared).broken == 3);
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(shared, 2);
  CHECK(loader->begin()->size() == 2);
}

template <class Sampler>
void saved_sampler_continues(Sampler sampler, Sampler other) {
  sampler.next(4);
  undertow::serialize::OutputArchive out;
  out << sampler;
  undertow::serialize::InputArchive in(out.value());
  in >> other;
  CHECK(other.next(5) == sampler.next(5) && other.index() == 9);
}

void samplers() {
  using namespace data::samplers;
  saved_sampler_continues(SequentialSampler(20), SequentialSampler(20));
  saved_sampler_continues(RandomSampler(20), RandomSampler(20));
  DistributedRandomSampler later(40, 2, 1);
  later.set_epoch(7);
  later.reset();
  saved_sampler_continues(later, DistributedRandomSampler(40, 2, 1));
  CHECK((DistributedSequentialSampler(5, 2, 1).next(9) == std::vector<size_t>{3, 4, 0}));
  CHECK((DistributedSequentialSampler(5, 2, 1, false).next(9) == std::vector<size_t>{2, 3}));
  std::vector<size_t> both = *DistributedRandomSampler(6, 2, 0).next(9),
                      second = *DistributedRandomSampler(6, 2, 1).next(9);
  both.insert(both.end(), second.begin(), second.end());
  CHECK((both != std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  std::sort(both.begin(), both.end());
  CHECK((both == std::vector<size_t>{0, 1, 2, 3, 4, 5}));
}

void write(const std::string& path, std::vector<unsigned char> header, size_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(header.data(), 1, header.size(), file);
  for (size_t i = 0; i < bytes; i++) std::fputc(static_cast<int>(i % 256), file);
  std::fclose(file);
}

void digits_are_read_from_files() {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("digits" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::string images = folder / "t10k-images-idx3-ubyte", labels = folder / "t10k-labels-idx1-ubyte";
  auto read = [&] { return data::datasets::MNIST(folder, data::datasets::MNIST::Mode::kTest); };
  CHECK(throws(read, "MNIST: cannot open"));
  write(images, {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}, 24);
  write(labels, {0, 0, 8, 1, 0, 0, 0, 2}, 2);
  auto digits = read();
  CHECK(digits.size() == 2u && !digits.is_train());
  CHECK((digits.images().sizes() == undertow::IntArrayRef{2, 1, 3, 4}));
  CHECK(digits.get(1).target.item<int64_t>() == 1);
  CHECK(digits.get(1).data[0][2][3].item<float>() == 23 / 255.f);
  write(labels, {0, 0, 8, 1, 0, 0, 0, 3}, 3);
  CHECK(throws(read, "the numbers of images and labels differ: 2 and 3"));
  write(labels, {0, 0, 8, 1, 0, 0, 0, 3}, 2);
  CHECK(throws(read, "should have 3 bytes after its header and has 2"));
  write(labels, {0, 0, 8, 3, 0, 0, 0, 3}, 3);
  CHECK(throws(read, "is not an IDX file of bytes with 1 dimensions"));
  write(images, {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0);
  CHECK(throws(read, "is too large"));
  write(images, {0, 0, 8}, 0);
  CHECK(throws(read, "ends too early"));
  std::filesystem::remove_all(folder);
}

int main() {
  batches_are_stacked_in_order();
  a_random_order_is_that_of_randperm();
  workers_give_the_same_batches();
  an_error_in_a_worker_arrives_with_its_message();
  mistakes_of_callers();
  transforms();
  rows_of_a_tensor();
  datasets_that_end_by_themselves();
  samplers();
  digits_are_read_from_files();
  return report("test_data");
}
