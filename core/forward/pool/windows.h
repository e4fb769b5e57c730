// windows.h: how the windows of pooling follow from its arguments, and checks of their geometry.
// Knows sizes only; does not know what is computed of a window.
#pragma once
#include "core/forward/image_format.h"
#include "core/kernels/pool.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

// Windows of a given kernel; refuses what torch refuses, in its words. `name` is the operator's.
Pooling kernel_windows(const Tensor& self, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding,
                       IntSpan dilation, bool ceil_mode, const char* name);
// The same for a result of known sizes, without checks: what derivatives need.
Pooling known_windows(IntSpan in, IntSpan out, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding);
// A given number of windows, evenly spread.
Pooling adaptive_windows(IntSpan in, int64_t spatial, IntSpan output_size, const char* name);
// Once the axes are known: the elements of planes, and the sizes of the result.
void finish_pooling(Pooling& p, IntSpan in, int64_t spatial);
// The size of an axis' result.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

}  // namespace undertow::fwd
