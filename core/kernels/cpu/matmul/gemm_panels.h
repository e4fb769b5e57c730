// gemm_panels.h: products that pack their right side into panels and read their left side in place. Used directly when
// many products share a right side, and by gemm.cpp when packing both sides would cost too much. float and double only.
// Knows shapes and strides; nothing about tensors.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/matmul/gemm_kernels.h"

namespace undertow::core::cpu {

// The number of elements in the panels of a k by n matrix. See Note [Packed Panels].
template <class T>
int64_t panel_elements(int64_t k, int64_t n);

// Columns of one panel: work on panels is divided at multiples of it, and the panel of column j begins at j * k.
template <class T>
int64_t panel_columns();

// On the calling thread only.
template <class T>
void pack_panels(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed);

// product.b is packed, its strides are unused. On the calling thread only.
template <class T>
void multiply_panels(Product<T> product);

// The whole product, on all threads. Returns false and does nothing if it is so large that both sides should be packed.
template <class T>
bool run_panels(Product<T> product);

}  // namespace undertow::core::cpu
