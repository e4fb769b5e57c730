// show_check.h: shows a __torch_dispatch__ the operator with which torch checks the info of a factorization.
// The check itself is the caller's.
#pragma once
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/delegated/dispatched.h"

namespace undertow::core::ops {

inline void show_check(const Tensor& info, std::string_view name) {
  if (UT_UNLIKELY(is_dispatched(info))) delegated::call("aten::_linalg_check_errors", {info, name, info.dim() == 0});
}

}  // namespace undertow::core::ops
