// elementwise_iter.h: several tensors of one broadcast shape as one loop nest, in the best order for memory access.
// Chooses shapes and strides of new outputs and merges dimensions; a backend's kernel runs the loops.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core {

inline constexpr int kMaxOperands = 6;

class ElementwiseIter {
 public:
  // Outputs are added first. build() allocates an undefined output with `dtype`.
  void add_output(const Tensor& t, DType dtype);
  void add_input(const Tensor& t);
  // One value for all elements; it must outlive the iterator.
  void add_constant(const void* value);
  // Allows expanded outputs: the caller writes the same value to every element.
  void allow_internal_overlap() { allow_overlap_ = true; }
  // Computes the common shape, checks or allocates the outputs, and orders and merges the dimensions.
  void build();

  Tensor& output(int i = 0) { return operands_[i].tensor; }
  int64_t numel() const { return numel_; }
  IntSpan shape() const { return shape_; }

  Device device() const { return device_; }

  // The merged loop nest, for kernels: sizes (innermost first), and for each operand a pointer to its first byte and
  // its byte strides.
  int count() const { return static_cast<int>(count_); }
  IntSpan dims() const { return dims_; }
  IntSpan byte_strides(int k) const { return operands_[k].strides; }
  char* pointer(int k) const { return pointers_[k]; }
  // Is operand k one value in host memory, while the loop runs on another device? A constant or a 0-dimensional CPU
  // tensor.
  bool on_host(int k) const {
    return !device_.is_cpu() && (operands_[k].constant || operands_[k].tensor.device().is_cpu());
  }

 private:
  struct Operand {
    Tensor tensor;
    const void* constant = nullptr;
    DType dtype = DType::Float32;
    bool is_output = false;
    Dims strides;  // bytes, over dims_, innermost first
  };
  void order_dimensions();
  void allocate_outputs();
  void merge_dimensions();

  Operand operands_[kMaxOperands];
  char* pointers_[kMaxOperands] = {};
  size_t count_ = 0;
  bool allow_overlap_ = false;
  Dims shape_;  // the broadcast shape, outermost first
  Dims perm_;   // dims_[i] is shape_[perm_[i]] before merging
  Dims dims_;   // innermost first, merged
  int64_t numel_ = 1;
  Device device_;  // of the operands; zero-dimensional CPU tensors may be mixed with tensors on another device
};

// True if the memory of a and b overlaps but the layouts differ: writing one while reading the other is not safe.
bool partial_overlap(const Tensor& a, const Tensor& b);
// Raises torch's error, in the cases where torch does, if `out` overlaps `in` with a different layout.
void check_no_partial_overlap(const Tensor& out, const Tensor& in);
// Raises torch's error if `out`, which will be written, has elements in common with `in`. Torch checks only dense
// layouts.
void check_no_overlap(const Tensor& out, const Tensor& in);
// Raises torch's error if t, which will be written, is expanded.
void check_no_internal_overlap(const Tensor& t);

}  // namespace undertow::core
