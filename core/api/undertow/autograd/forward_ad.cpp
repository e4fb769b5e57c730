// forward_ad.cpp: see forward_ad.h.
// build: small
#include <undertow/autograd/forward_ad.h>

#include "core/autograd/tangents.h"
#include "core/graph/forward_level.h"

namespace undertow::autograd::forward_ad {

int64_t enter_dual_level() { return core::forward_level::enter(); }
void exit_dual_level(int64_t level) { core::forward_level::leave(level); }
Tensor make_dual(const Tensor& tensor, const Tensor& tangent) {
  UT_CHECK(core::forward_level::current() >= 0,
           "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.");
  return core::ops::make_dual(tensor, tangent);
}
UnpackedDualTensor unpack_dual(const Tensor& tensor) {
  auto [primal, tangent] = core::ops::unpack_dual(tensor);
  return {std::move(primal), std::move(tangent)};
}

}  // namespace undertow::autograd::forward_ad
