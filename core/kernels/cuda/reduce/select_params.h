// select_params.h: the parameters of select_sorted. Included by the host and by device code; the includer has defined
// int64_t.
#pragma once

namespace undertow {

enum SelectWhat : int { kSelectKth, kSelectMedian, kSelectNanMedian, kSelectMode };

// Row-major memory as outer x n x inner. k starts at 1.
struct SelectShape {
  int64_t outer, n, inner, k;
  SelectWhat what;
};

}  // namespace undertow
