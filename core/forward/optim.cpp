// optim.cpp: see optim.h.
#include "core/forward/optim.h"

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/optim.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

namespace {

struct Algorithm {
  const char* name;
  OptimAlgorithm which;
  size_t constants;
};
constexpr Algorithm kAlgorithms[] = {
    {"sgd", OptimAlgorithm::Sgd, 7},         {"adam", OptimAlgorithm::Adam, 9},
    {"adamax", OptimAlgorithm::Adamax, 6},   {"nadam", OptimAlgorithm::NAdam, 10},
    {"radam", OptimAlgorithm::RAdam, 9},     {"rmsprop", OptimAlgorithm::RMSprop, 6},
    {"adagrad", OptimAlgorithm::Adagrad, 4}, {"adadelta", OptimAlgorithm::Adadelta, 5},
    {"rprop", OptimAlgorithm::Rprop, 5},     {"asgd", OptimAlgorithm::Asgd, 5},
    {"ftrl", OptimAlgorithm::Ftrl, 6},       {"rmsprop_in_root", OptimAlgorithm::RMSpropInRoot, 4}};

const Algorithm& algorithm_named(std::string_view name) {
  for (const Algorithm& a : kAlgorithms)
    if (name == a.name) return a;
  UT_FAIL_AS(Value, "optim_update: no algorithm named ", name);
}

// t's elements in the memory order of `layout`: t itself if the two agree.
Tensor in_layout_of(const Tensor& t, const Tensor& layout, DType dtype) {
  if (t.dtype() == dtype && same(t.strides(), layout.strides())) return t;
  Tensor out = empty_strided_on_device_of(layout, layout.sizes(), layout.strides(), dtype);
  copy_into(out, t);
  return out;
}

}  // namespace

void optim_update(std::string_view name, std::span<const std::vector<Tensor>> tensors,
                  std::span<const std::vector<double>> constants) {
  const Algorithm& algorithm = algorithm_named(name);
  UT_CHECK_VALUE(tensors.size() >= 2 && tensors.size() <= kMaxOptimTensors, "optim_update: expected 2 to ",
                 kMaxOptimTensors, " lists, got ", tensors.size());
  size_t count = tensors[0].size();
  UT_CHECK_VALUE(constants.size() == count, "optim_update: ", count, " parameters and ", constants.size(),
                 " rows of constants");
  for (size_t k = 0; k < tensors.size(); k++)
    UT_CHECK_VALUE(tensors[k].size() == count || (k >= 2 && tensors[k].empty()), "optim_update: list ", k, " has ",
                   tensors[k].size(), " tensors, expected ", count);
  for (size_t i = 0; i < count; i++) {
    UT_CHECK_VALUE(constants[i].size() == algorithm.constants, "optim_update: ", name, " takes ", algorithm.constants,
                   " constants, got ", constants[i].size());
    const Tensor& p = tensors[0][i];
    UT_CHECK_TYPE(p.dtype() == DType::Float32 || p.dtype() == DType::Float64,
                  "optim_update: expected float32 or float64 parameters, got ", p.dtype());
    for (size_t k = 1; k < tensors.size(); k++)
      if (!tensors[k].empty())
        UT_CHECK(same(tensors[k][i].sizes(), p.sizes()), "optim_update: tensor ", i, " of list ", k, " has shape ",
                 ShapeText{tensors[k][i].sizes()}, ", its parameter ", ShapeText{p.sizes()});
    // A parameter with gaps or overlaps in memory is updated in a copy, and so is a state in another layout.
    bool dense = is_non_overlapping_and_dense(p.sizes(), p.strides());
    Tensor work[kMaxOptimTensors];
    work[0] = dense ? p : empty_on_device_of(p, p.sizes(), p.dtype());
    if (!dense) copy_into(work[0], p);
    for (size_t k = 1; k < tensors.size(); k++)
      if (!tensors[k].empty()) work[k] = in_layout_of(tensors[k][i], work[0], p.dtype());
    backend_of(p).optim->step(work[0], algorithm.which, std::span(work, tensors.size()), constants[i].data());
    for (size_t k = 0; k < tensors.size(); k++) {
      if (k == 1 || tensors[k].empty()) continue;
      if (!work[k].is_same(tensors[k][i])) copy_into(tensors[k][i], work[k]);
    }
  }
}

}  // namespace undertow::core::fwd
