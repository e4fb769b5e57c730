// view_function.h: recomputes a view from its base where as_strided is not enough. See Note [Views And In-place] in
// inplace.h.
#pragma once
#include <memory>

#include "core/graph/autograd_meta.h"

namespace undertow::core {

// The steps from self's base to `view`, a view of self; null if an as_strided of the base is enough.
std::shared_ptr<ViewFunction> view_function(const Tensor& self, const Tensor& view);
// Applies to `base` what turns view's own base into `view`. `base` has the shape and strides of view's base. Records if
// grad mode is on.
Tensor replay_view(const Tensor& view, const Tensor& base);

}  // namespace undertow::core
