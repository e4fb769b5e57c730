// aligned.h: a large product whose matrices a library can load fast.
#pragma once
#include <optional>

#include "core/kernels/cuda/matmul/product.h"
#include "core/kernels/cuda/runtime/workspace.h"

namespace undertow::core::cuda {

// Note [Aligned Lines]
// The fast kernels of cuBLASLt load 16 bytes at a time, so the lines of each matrix must begin at multiples of 16
// bytes. 50,257 classes in bfloat16 do not: such a product takes three to four times as long. Copying the matrix costs
// twice its bytes, which is little if the product has many operations for each element.
class AlignedProduct {
 public:
  // The product with the matrices copied where that is worth it, else as it is.
  AlignedProduct(const Launcher& on, const Product& p);
  const Product& product() const { return product_; }
  // Copies the result to where it belongs. After the product.
  void finish() const;

 private:
  struct Lines {
    int64_t count, length, distance;
  };
  static std::optional<Lines> lines_of(const MatrixStrides& s, int64_t rows, int64_t columns);
  void copy_lines(char* to, int64_t to_distance, const char* from, int64_t from_distance, const Lines& lines) const;
  // Gives a matrix lines at a distance of whole 16 bytes, in memory of our own.
  void align(std::optional<Workspace>& memory, char*& data, MatrixStrides& s, const Lines& lines, bool with_content);

  const Launcher& on_;
  Product product_;
  std::optional<Workspace> a_, b_, c_;
  std::optional<Lines> result_;  // of the caller's c, if it is computed elsewhere
  char* result_data_ = nullptr;
};

}  // namespace undertow::core::cuda
