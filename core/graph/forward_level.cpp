// forward_level.cpp: see forward_level.h.
#include "core/graph/forward_level.h"

#include <mutex>
#include <unordered_map>

#include "core/graph/autograd_meta.h"

namespace undertow::core::forward_level {

namespace {
// Guards the level and the set of its tensors: operations on any thread create and drop duals. While it is held, no
// other lock is taken and no tensor is freed (freeing one may call forget).
std::mutex mutex;
int64_t open_level = -1;
std::unordered_map<AutogradMeta*, TensorImpl*>& duals() {
  static auto* map =
      new std::unordered_map<AutogradMeta*, TensorImpl*>;  // leaked: tensors may be destroyed after static destruction
  return *map;
}
}  // namespace

int64_t enter() {
  std::lock_guard lock(mutex);
  UT_CHECK(open_level < 0, "Nested forward mode AD is not supported at the moment");
  process_mode.fetch_or(kForwardLevel, std::memory_order_relaxed);
  return open_level = 0;
}

void leave(int64_t level) {
  std::vector<Tensor> dropped;
  {
    std::lock_guard lock(mutex);
    UT_CHECK(open_level >= 0, "Dual level must be a positive number: no level is open to exit from");
    UT_CHECK(level == open_level, "Trying to exit a forward AD level that is not the last one that was created: got ",
             level, ", the last is ", open_level);
    open_level = -1;
    process_mode.fetch_and(~static_cast<uint32_t>(kForwardLevel), std::memory_order_relaxed);
    for (auto& [meta, impl] : duals()) {
      impl->set(kHasTangent, false);
      dropped.push_back(std::move(meta->tangent));
    }
    duals().clear();
  }
}

int64_t current() {
  std::lock_guard lock(mutex);
  return open_level;
}

void set_tangent(const Tensor& t, Tensor tangent) {
  if (!tangent.defined() && !t.impl()->has(kHasTangent)) return;
  AutogradMeta& meta = make_meta(t);
  Tensor old;  // freed after the lock is released
  std::lock_guard lock(mutex);
  if (tangent.defined())
    duals()[&meta] = t.impl();
  else
    duals().erase(&meta);
  t.impl()->set(kHasTangent, tangent.defined());
  old = std::move(meta.tangent);
  meta.tangent = std::move(tangent);
}

void forget(AutogradMeta* meta) {
  std::lock_guard lock(mutex);
  duals().erase(meta);
}

}  // namespace undertow::core::forward_level
