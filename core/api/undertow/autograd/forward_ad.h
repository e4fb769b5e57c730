// forward_ad.h: forward-mode AD: tensors with tangents.
//
//   forward_ad::DualLevel level;
//   Tensor dual = forward_ad::make_dual(x, v);
//   auto [y, dy] = forward_ad::unpack_dual(f(dual));   // dy is the directional derivative of f at x along v
#pragma once
#include <undertow/tensor.h>

namespace undertow::autograd::forward_ad {

struct UnpackedDualTensor {
  Tensor primal;
  Tensor tangent;  // undefined if the tensor is no dual
};

// At most one level is open in the process. Leaving it removes all tangents.
int64_t enter_dual_level();
void exit_dual_level(int64_t level);
class DualLevel {
 public:
  DualLevel() : level_(enter_dual_level()) {}
  ~DualLevel() { exit_dual_level(level_); }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
  int64_t level() const { return level_; }

 private:
  int64_t level_;
};

// A view of `tensor` with this tangent, which has the same shape and dtype.
Tensor make_dual(const Tensor& tensor, const Tensor& tangent);
UnpackedDualTensor unpack_dual(const Tensor& tensor);

}  // namespace undertow::autograd::forward_ad
namespace undertow {
namespace forward_ad = autograd::forward_ad;
}
