// elementwise_iter.h: several tensors of one broadcast shape as one loop nest, in the best order for memory.
// Decides shapes and strides of fresh outputs and merges dimensions; a backend's kernel does the walking.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow {

inline constexpr int kMaxOperands = 6;

class ElementwiseIter {
 public:
  // Outputs first. An undefined output is allocated by build() with `dtype`.
  void add_output(const Tensor& t, DType dtype);
  void add_input(const Tensor& t);
  // A value that is the same for every element; must outlive the iterator.
  void add_constant(const void* value);
  // Outputs may be expanded: the caller writes the same value everywhere.
  void allow_internal_overlap() { allow_overlap_ = true; }
  // Computes the common shape, checks or allocates outputs, orders and merges dimensions.
  void build();

  Tensor& output(int i = 0) { return operands_[i].tensor; }
  int64_t numel() const { return numel_; }
  IntSpan shape() const { return shape_; }

  Device device() const { return device_; }

  // The merged loop nest, for kernels: sizes innermost first, and for each operand its first byte and its byte strides.
  int count() const { return static_cast<int>(count_); }
  IntSpan dims() const { return dims_; }
  IntSpan byte_strides(int k) const { return operands_[k].strides; }
  char* pointer(int k) const { return pointers_[k]; }

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
  Device device_;  // of the operands; tensors of no dimension may be on the CPU beside others elsewhere
};

// Memory of a and b overlaps without being the same layout: writing one while reading the other is not safe.
bool partial_overlap(const Tensor& a, const Tensor& b);
// Refuses, in torch's words and where torch does, to write `out` while reading `in` that overlaps it in another layout.
void check_no_partial_overlap(const Tensor& out, const Tensor& in);
// Refuses to write to an expanded tensor, in torch's words.
void check_no_internal_overlap(const Tensor& t);

}  // namespace undertow
