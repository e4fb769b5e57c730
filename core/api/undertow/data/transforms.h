// transforms.h: functions from one batch to another, for Dataset::map: per example or per batch, stacking, normalizing.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include <undertow/data/example.h>
#include <undertow/functions.h>

namespace undertow::data::transforms {

template <class InputBatch, class OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch batch) = 0;
};

// A function of one example.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual Output apply(Input example) = 0;
  std::vector<Output> apply_batch(std::vector<Input> batch) override {
    std::vector<Output> out;
    out.reserve(batch.size());
    for (Input& example : batch) out.push_back(apply(std::move(example)));
    return out;
  }
};

// The same from functions.
template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  Output apply_batch(Input batch) override { return function_(std::move(batch)); }

 private:
  FunctionType function_;
};
template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  Output apply(Input example) override { return function_(std::move(example)); }

 private:
  FunctionType function_;
};

// A batch of examples becomes one example.
template <class T, class BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;
template <class T, class BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

// Tensors of one size become one tensor with a new first dimension.
template <class T = Example<>>
struct Stack;
template <>
struct Stack<Example<>> : Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override {
    variable_list data, targets;
    for (Example<>& e : examples) {
      data.push_back(std::move(e.data));
      targets.push_back(std::move(e.target));
    }
    return {stack(data), stack(targets)};
  }
};
template <>
struct Stack<TensorExample> : Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override {
    variable_list data;
    for (TensorExample& e : examples) data.push_back(std::move(e.data));
    return stack(data);
  }
};

// A function of the data of an example; the target stays.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  virtual Tensor operator()(Tensor data) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> example) override {
    example.data = (*this)(std::move(example.data));
    return example;
  }
};
template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor data) override { return function_(std::move(data)); }

 private:
  FunctionType function_;
};
// (data - mean) / stddev, with one number per channel; an image is channels x height x width.
template <class Target = Tensor>
struct Normalize : TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev) : mean(per_channel(mean)), stddev(per_channel(stddev)) {}
  Tensor operator()(Tensor data) override { return data.sub(mean).div(stddev); }
  Tensor mean, stddev;

 private:
  static Tensor per_channel(ArrayRef<double> numbers) { return tensor(numbers, kFloat32).view({-1, 1, 1}); }
};

}  // namespace undertow::data::transforms
