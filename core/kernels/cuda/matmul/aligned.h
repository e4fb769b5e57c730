// aligned.h: a large product whose matrices a library can load fast.
#pragma once
#include "core/kernels/cuda/matmul/product.h"

namespace undertow::core::cuda {

// Note [Aligned Lines]
// The fast kernels of cuBLASLt load and store 16 bytes at a time. So the lines of each matrix must begin at multiples
// of 16 bytes, and consist of whole ones: 50,257 classes in bfloat16 do neither, and their products take five times as
// long. Matrices whose lines begin elsewhere are copied, which costs twice their bytes. If k is no multiple, zeros are
// added to both factors. If m or n is none, the last rows or columns, fewer than 16 bytes of them, are a product of
// their own; rounding up would need copies of matrices that are aligned already.

// A product by a library; bias: null, or as for multiply_with_bias. Returns false if it is impossible.
using LibraryProduct = bool (*)(const Launcher& on, const Product& p, const char* bias);

// The product by `multiply`, with aligned matrices where that is worth it. Returns false if `multiply` does.
bool multiply_aligned(const Launcher& on, const Product& p, const char* bias, LibraryProduct multiply);

}  // namespace undertow::core::cuda
