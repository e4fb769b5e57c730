// utils.h: clipping of gradients, parameters as one vector, and sequences of different lengths as one tensor.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include <undertow/functions.h>

namespace undertow::nn::utils {

// Scales the gradients in place so that their total norm is at most max_norm; returns the norm before.
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2.0,
                       bool error_if_nonfinite = false);
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2.0, bool error_if_nonfinite = false);
// Clamps every element of the gradients to +-clip_value, in place.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(Tensor parameter, double clip_value);

Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

namespace rnn {

// (time, batch, ...), or (batch, time, ...) with batch_first; shorter sequences are filled up with padding_value.
inline Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0,
                           std::string_view padding_side = "right") {
  UT_CHECK(!sequences.empty(), "received an empty list of sequences");
  UT_CHECK(padding_side == "left" || padding_side == "right",
           "Expected padding_side to be one of left or right, but got ", padding_side, ".");
  const Tensor& first = sequences.front();
  int64_t longest = 0;
  for (const Tensor& t : sequences) longest = std::max(longest, t.size(0));
  variable_list rows;
  for (const Tensor& given : sequences) {
    UT_CHECK(given.sizes().slice(1) == first.sizes().slice(1),
             "pad_sequence: sequences must differ only in the first dimension; got shapes ",
             core::ShapeText{first.sizes()}, " and ", core::ShapeText{given.sizes()});
    Tensor t = given.to(first.scalar_type());
    std::vector<int64_t> missing = first.sizes().vec();
    missing[0] = longest - t.size(0);
    Tensor fill = full(missing, padding_value, first.options().requires_grad(false));
    rows.push_back(!missing[0] ? t : padding_side == "left" ? cat({fill, t}) : cat({t, fill}));
  }
  return stack(rows, batch_first ? 0 : 1);
}

}  // namespace rnn

}  // namespace undertow::nn::utils
