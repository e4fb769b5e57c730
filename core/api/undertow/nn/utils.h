// utils.h: clipping of gradients, and parameters as one vector.
#pragma once
#include <vector>

#include <undertow/tensor.h>

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

}  // namespace undertow::nn::utils
