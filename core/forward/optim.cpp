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

namespace {

// Constants are rows of numbers, or `on_device` a tensor of rows.
void update(std::string_view name, std::span<const std::vector<Tensor>> tensors,
            std::span<const std::vector<double>> constants, const Tensor& on_device) {
  const Algorithm& algorithm = algorithm_named(name);
  UT_CHECK_VALUE(tensors.size() >= 2 && tensors.size() <= kMaxOptimTensors, "optim_update: expected 2 to ",
                 kMaxOptimTensors, " lists, got ", tensors.size());
  size_t count = tensors[0].size();
  const size_t rows = on_device.defined() ? static_cast<size_t>(on_device.size(0)) : constants.size();
  UT_CHECK_VALUE(rows == count, "optim_update: ", count, " parameters and ", rows, " rows of constants");
  for (size_t k = 0; k < tensors.size(); k++)
    UT_CHECK_VALUE(tensors[k].size() == count || (k >= 2 && tensors[k].empty()), "optim_update: list ", k, " has ",
                   tensors[k].size(), " tensors, expected ", count);
  for (size_t i = 0; i < count; i++) {
    const size_t given = on_device.defined() ? static_cast<size_t>(on_device.size(1)) : constants[i].size();
    UT_CHECK_VALUE(given == algorithm.constants, "optim_update: ", name, " takes ", algorithm.constants,
                   " constants, got ", given);
    const Tensor& p = tensors[0][i];
    const OptimKernels& kernels = *backend_of(p).optim;
    UT_CHECK_TYPE(p.dtype() == DType::Float32 || p.dtype() == DType::Float64 ||
                      (kernels.half_dtypes && (p.dtype() == DType::Float16 || p.dtype() == DType::BFloat16)),
                  "optim_update: expected float32 or float64 parameters, got ", p.dtype());
    UT_CHECK(!on_device.defined() || (kernels.constants_on_device && on_device.device() == p.device()),
             "optim_update: constants on ", on_device.defined() ? on_device.device() : kCpu,
             " do not serve a parameter on ", p.device());
    for (size_t k = 1; k < tensors.size(); k++)
      if (!tensors[k].empty())
        UT_CHECK(same(tensors[k][i].sizes(), p.sizes()), "optim_update: tensor ", i, " of list ", k, " has shape ",
                 ShapeText{tensors[k][i].sizes()}, ", its parameter ", ShapeText{p.sizes()});
  }
  Tensor padded;  // rows of the length that kernels expect
  if (on_device.defined()) {
    padded = empty_on_device_of(on_device, Dims{static_cast<int64_t>(count), kMaxOptimConstants}, DType::Float64);
    copy_into(core::alias(padded, on_device.sizes(), padded.strides(), 0, DType::Float64), on_device);
  }
  const size_t lists = tensors.size();
  std::vector<Tensor> work(count * lists);
  std::vector<OptimStep> steps;
  steps.reserve(count);
  for (size_t i = 0; i < count; i++) {
    // A parameter with gaps or overlaps in memory is updated in a copy, and so is a state in another layout.
    const Tensor& p = tensors[0][i];
    Tensor* own = &work[i * lists];
    bool dense = is_non_overlapping_and_dense(p.sizes(), p.strides());
    own[0] = dense ? p : empty_on_device_of(p, p.sizes(), p.dtype());
    if (!dense) copy_into(own[0], p);
    for (size_t k = 1; k < lists; k++)
      if (!tensors[k].empty()) own[k] = in_layout_of(tensors[k][i], own[0], p.dtype());
    steps.push_back({std::span<const Tensor>(own, lists)});
    if (padded.defined())
      steps.back().constants_on_device = static_cast<const double*>(static_cast<const void*>(padded.data())) +
                                         i * static_cast<size_t>(kMaxOptimConstants);
    else
      steps.back().constants = constants[i].data();
  }
  // A device gets neighbouring parameters at once.
  auto alike = [&](size_t i, size_t j) {
    return tensors[0][i].device() == tensors[0][j].device() && tensors[0][i].dtype() == tensors[0][j].dtype();
  };
  for (size_t first = 0, last; first < count; first = last) {
    for (last = first + 1; last < count && alike(first, last);) last++;
    const Tensor& p = tensors[0][first];
    backend_of(p).optim->steps(p, algorithm.which, std::span(steps).subspan(first, last - first));
  }
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < lists; k++) {
      if (k == 1 || tensors[k].empty()) continue;
      if (!work[i * lists + k].is_same(tensors[k][i])) copy_into(tensors[k][i], work[i * lists + k]);
    }
}

}  // namespace

void optim_update(std::string_view name, std::span<const std::vector<Tensor>> tensors,
                  std::span<const std::vector<double>> constants) {
  update(name, tensors, constants, {});
}
void optim_update(std::string_view name, std::span<const std::vector<Tensor>> tensors, const Tensor& constants) {
  UT_CHECK_VALUE(constants.dtype() == DType::Float64 && constants.dim() == 2,
                 "optim_update: expected constants as a float64 matrix, got ", constants.dtype(), " of shape ",
                 ShapeText{constants.sizes()});
  update(name, tensors, {}, constants);
}

}  // namespace undertow::core::fwd
