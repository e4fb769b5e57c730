// ctc_params.h: parameters of the kernels in ctc.cuh. Included by the host and the device; the includer has defined
// int64_t.
#pragma once

namespace undertow {

struct CtcSampleData {
  int64_t start, input_length, target_length;
};

struct CtcShape {
  const int64_t* labels;
  const CtcSampleData* samples_data;
  int64_t samples, steps, classes, blank;
  int64_t width;  // of a row of alpha
};

}  // namespace undertow
