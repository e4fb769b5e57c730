// tangents.cpp: see tangents.h.
#include "core/autograd/tangents.h"

#include "core/forward/copy.h"
#include "core/graph/autograd_meta.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::ops {

Tensor tangent_of(const Tensor& t) {
  return t.defined() && t.impl()->has(kHasTangent) && t.impl()->meta ? t.impl()->meta->tangent : Tensor();
}
std::vector<Tensor> tangents_of(TensorSpan list) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(tangent_of(t));
  return out;
}

void set_tangent(const Tensor& t, const Tensor& tangent) {
  if (!t.defined() || !tangent.defined() || !is_differentiable(t.dtype())) return;
  Tensor fit = tangent;
  if (fit.dtype() != t.dtype()) fit = is_complex(fit.dtype()) && !t.is_complex() ? ops::to_dtype(ops::real(fit), t.dtype()) : ops::to_dtype(fit, t.dtype());
  if (!same(fit.sizes(), t.sizes())) fit = ops::expand(fit, t.sizes(), false);
  make_meta(t).tangent = fit;
  t.impl()->set(kHasTangent);
}
void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents) {
  for (size_t i = 0; i < list.size() && i < tangents.size(); i++) set_tangent(list[i], tangents[i]);
}
void add_tangent(Tensor& sum, const Tensor& part) { sum = sum.defined() ? sum + part : part; }

Tensor zeros_if_undefined(const Tensor& tangent, const Tensor& like) {
  return tangent.defined() || !like.defined() ? tangent : fwd::zeros(like.sizes(), like.dtype());
}
std::vector<Tensor> zeros_if_undefined(const std::vector<Tensor>& tangents, TensorSpan like) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < tangents.size(); i++) out.push_back(zeros_if_undefined(tangents[i], like[i]));
  return out;
}
void refuse_forward(const char* name) {
  UT_FAIL_AS(NotImplemented, "Trying to use forward AD with ", name, " that does not support it because it has not been implemented yet.");
}

}  // namespace undertow::ops
