// sample.h: distributions whose parameters are in a tensor. See RandomKernels.
#pragma once
#include "core/kernels/generator.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void bernoulli(const Tensor& out, const Tensor& p, Generator& g);
void check_std(const Tensor& std);
void poisson(const Tensor& out, const Tensor& rates, Generator& g);
void gamma(const Tensor& shapes, double least, Generator& g);
void gamma_grad(const Tensor& shapes, const Tensor& draws);
void binomial(const Tensor& counts, const Tensor& probs, Generator& g);
void multinomial(const Tensor& out, const Tensor& weights, DType drawn, bool replacement, Generator& g);

}  // namespace undertow::core::cpu
