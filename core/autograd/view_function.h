// view_function.h: making a view anew from its base, where a mere as_strided cannot. See Note [Views And In-place] in
// inplace.h.
#pragma once
#include <memory>

#include "core/graph/autograd_meta.h"

namespace undertow {

// The steps from self's base to `view`, a view of self; null where as_strided of the base says it all.
std::shared_ptr<ViewFunction> view_function(const Tensor& self, const Tensor& view);
// What `view` is of its own base, made of `base`, a tensor of the base's shape and strides. Records when grad mode is
// on.
Tensor replay_view(const Tensor& view, const Tensor& base);

}  // namespace undertow
