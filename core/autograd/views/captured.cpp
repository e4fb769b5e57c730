// captured.cpp: see captured.h.
#include "core/autograd/views/captured.h"

#include <algorithm>

#include "core/autograd/delegated/batched.h"
#include "core/tensor/layout.h"

namespace undertow::core::captured {

namespace {
thread_local std::vector<Transform> running;
}

void set_running(std::vector<Transform> transforms) {
  thread_mode.transform = transforms.empty() ? 0 : transforms.back().number;
  running = std::move(transforms);
}

void check_not_captured(const Tensor& t, const char* name) {
  if (mode_is(kInFunction) || t.is_sparse()) return;
  const Storage* storage = batched::physical(t).impl()->storage;
  for (const Transform& transform : running)
    UT_CHECK(
        !storage || storage->transform() >= transform.number || std::ranges::count(transform.arguments, storage),
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation (",
        name,
        ") that would mutate a captured Tensor. This is not supported; please rewrite the function being transformed "
        "to explicitly accept the mutated Tensor(s) as inputs. The tensor's shape is ",
        ShapeText{t.sizes()}, ".");
}

}  // namespace undertow::core::captured
