// elementwise_iter.h: walks several tensors of one broadcast shape together, in the order memory likes.
// Decides shapes, strides of fresh outputs, and the split over threads; computes nothing.
#pragma once
#include "core/base/parallel.h"
#include "core/tensor/tensor.h"

namespace undertow {

inline constexpr int kMaxOperands = 6;
// Below this many elements one thread is faster than waking another.
inline constexpr int64_t kParallelGrain = 32 * 1024;

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

  // loop(char* const* pointers, const int64_t* byte_strides, int64_t n): called for runs along the innermost dimension.
  template <class Loop>
  void for_each(Loop&& loop, int64_t grain = kParallelGrain) const {
    if (numel_ == 0) return;
    parallel_for(0, numel_, grain, [&](int64_t begin, int64_t end) { run(begin, end, loop); });
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

  template <class Loop>
  void run(int64_t begin, int64_t end, Loop& loop) const {
    int64_t nd = static_cast<int64_t>(dims_.size());
    char* p[kMaxOperands];
    int64_t inner[kMaxOperands];
    for (size_t k = 0; k < count_; k++) inner[k] = nd ? operands_[k].strides[0] : 0;
    int64_t index[64];
    int64_t rest = begin;
    for (int64_t d = 0; d < nd; d++) {
      index[d] = rest % dims_[d];
      rest /= dims_[d];
    }
    for (size_t k = 0; k < count_; k++) {
      p[k] = pointers_[k];
      for (int64_t d = 0; d < nd; d++) p[k] += index[d] * operands_[k].strides[d];
    }
    for (int64_t at = begin;;) {
      int64_t n = nd ? std::min(dims_[0] - index[0], end - at) : 1;
      loop(p, inner, n);
      at += n;
      if (at >= end) break;
      // To the start of the next run: a chunk begins within one at most once, so index[0] is where it did.
      for (size_t k = 0; k < count_; k++) p[k] += operands_[k].strides[1] - index[0] * inner[k];
      index[0] = 0;
      index[1]++;
      for (int64_t d = 1; d + 1 < nd && index[d] == dims_[d]; d++) {
        for (size_t k = 0; k < count_; k++) p[k] += operands_[k].strides[d + 1] - dims_[d] * operands_[k].strides[d];
        index[d] = 0;
        index[d + 1]++;
      }
    }
  }

  Operand operands_[kMaxOperands];
  char* pointers_[kMaxOperands] = {};
  size_t count_ = 0;
  bool allow_overlap_ = false;
  Dims shape_;  // the broadcast shape, outermost first
  Dims perm_;   // dims_[i] is shape_[perm_[i]] before merging
  Dims dims_;   // innermost first, merged
  int64_t numel_ = 1;
};

// Memory of a and b overlaps without being the same layout: writing one while reading the other is not safe.
bool partial_overlap(const Tensor& a, const Tensor& b);
// Refuses, in torch's words and where torch does, to write `out` while reading `in` that overlaps it in another layout.
void check_no_partial_overlap(const Tensor& out, const Tensor& in);
// Refuses to write to an expanded tensor, in torch's words.
void check_no_internal_overlap(const Tensor& t);

}  // namespace undertow
