// windows.h: computes the windows of pooling from its arguments, and checks their geometry.
// Knows only sizes; does not know what is computed from a window.
#pragma once
#include "core/forward/image_format.h"
#include "core/kernels/pool.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

// Windows of a given kernel; raises torch's errors for invalid arguments. `name` is the operator's name.
Pooling kernel_windows(const Tensor& self, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding,
                       IntSpan dilation, bool ceil_mode, const char* name);
// The same for a result of known sizes, without checks; used by derivatives.
Pooling known_windows(IntSpan in, IntSpan out, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding);
// A given number of windows, evenly spaced.
Pooling adaptive_windows(IntSpan in, int64_t spatial, IntSpan output_size, const char* name);
// Computes the elements of planes and the sizes of the result from the axes.
void finish_pooling(Pooling& p, IntSpan in, int64_t spatial);
// The size of the result along an axis.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

}  // namespace undertow::core::fwd
