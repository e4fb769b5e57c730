// gemm_panels.h: products that pack their right side into panels and read their left side where it lies: of one's own,
// for many products with one right side; and as the way gemm.cpp takes where packing both sides would cost too much.
// float and double only. Knows shapes and strides; nothing of tensors.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/matmul/gemm_kernels.h"

namespace undertow::cpu {

// Elements that the panels of a k by n matrix take. See Note [Packed Panels].
template <class T>
int64_t panel_elements(int64_t k, int64_t n);

// Columns of one panel: work on panels is cut at multiples of these, and the panels of column j begin at j * k.
template <class T>
int64_t panel_columns();

// On this thread alone.
template <class T>
void pack_panels(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed);

// product.b is packed, its strides are unused. On this thread alone.
template <class T>
void multiply_panels(Product<T> product);

// The whole product, on all threads. False, and nothing done, if it is so large that both sides had better be packed.
template <class T>
bool run_panels(Product<T> product);

}  // namespace undertow::cpu
