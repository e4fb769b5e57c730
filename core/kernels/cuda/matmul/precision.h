// precision.h: switches that trade accuracy of products for speed, as torch.backends.cuda.matmul has them.
#pragma once
#include <atomic>

namespace undertow::core::cuda {

// Atomic because any thread may change a switch while others compute; a product reads each one once.
struct ProductPrecision {
  // float32 products may round their operands to TF32 (10 bits).
  std::atomic<bool> tf32{false};
  // Partial sums of one element may be added in the half dtype.
  std::atomic<bool> reduced_float16{true}, reduced_bfloat16{true};
};
ProductPrecision& product_precision();

}  // namespace undertow::core::cuda
