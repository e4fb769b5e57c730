// conv_loops.h: the contract between the convolutions' drivers (conv_gather.cpp, conv_weight.cpp) and their kernels,
// compiled once per instruction set. Knows neither threads nor images. See Note [Boxes].
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// Outputs that read neighbouring elements: output i of the run, at tap t, reads box[offsets[t] + source + i]. `at` is
// the position of the run among the outputs of its panel or box.
struct Run {
  int64_t at, source, count;
};

template <class T>
struct WeightTile {
  int64_t taps;  // at most weight_rows
  const T* box;
  const int64_t* offsets;
  const Run* runs;
  int64_t run_count;
  const T* y;       // packed: for every output of the runs, in order, one or two vectors of channels; or contiguous
  int64_t vectors;  // 1 or 2
  T* sums;          // accumulated: one row per tap, sums_rs apart
  int64_t sums_rs;
};

// The outputs of a box for one panel of channels: result[c * result_rs + i] = bias[c] + sum over k taps of
// weights[tap][c] * box[offsets[tap] + sources[i]].
template <class T>
struct OutputPanel {
  int64_t k, outputs, channels;  // channels: at most two vectors
  const T* box;
  const int64_t* offsets;
  const int64_t* sources;
  const T* weights;  // packed: one or two vectors of channels per tap
  const T* bias;     // of the same length
  T* result;
  int64_t result_rs;
};

template <class T>
struct ConvLoops {
  int64_t weight_rows;  // taps that weight_tile and weight_dots process at once

  // Rows of a box: `before` zeros, `count` elements of the source, `after` zeros. Writes up to a vector past the end of
  // a row.
  void (*copy_rows)(int64_t rows, const T* source, int64_t source_rs, int64_t before, int64_t count, int64_t after,
                    T* copy, int64_t copy_rs);

  // Splits a row of a box by remainder modulo `step`: element i of [from, to) of the line goes to row[i % step * split
  // + i / step], with zeros elsewhere in [0, parts * split). Only remainders below `parts` are needed. Writes up to a
  // vector past the end.
  void (*split_row)(const T* line, int64_t from, int64_t to, int64_t step, int64_t parts, int64_t split, T* row);
  // The inverse: to[i * step] = from[i].
  void (*spread_row)(int64_t count, const T* from, int64_t step, T* to);

  // A panel of Note [Packed Panels], packed directly from the box: packed[p * width + run.at + i] for each of k taps.
  // Writes up to a vector past the panel's end; columns without an output are undefined.
  void (*pack)(int64_t k, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count, int64_t width,
               T* packed);

  // The rest is null for integers. All except the first read up to a vector past a run's last source element.
  void (*outputs)(const OutputPanel<T>& panel);
  // out[run.at + i] = bias + sum over k taps of weights[p] * box[...]: for a single channel of the result.
  void (*direct)(int64_t k, const T* weights, const T* box, const int64_t* offsets, const Run* runs, int64_t run_count,
                 T bias, T* out);
  // sums[t][c] += sum over outputs of box[...] * y[output][c].
  void (*weight_tile)(const WeightTile<T>& tile);
  // sums[t] += sum over outputs of box[...] * y[run.at + i]: for a single channel of y.
  void (*weight_dots)(const WeightTile<T>& tile);
};

// T is float, double or uint64_t.
UNDERTOW_FOR_EACH_ISA(template <class T> const ConvLoops<T>& conv_loops();)

template <class T>
const ConvLoops<T>& conv_loops() {
  static const ConvLoops<T>& chosen = UNDERTOW_CHOOSE_ISA(conv_loops<T>());
  return chosen;
}

}  // namespace undertow::core::cpu
