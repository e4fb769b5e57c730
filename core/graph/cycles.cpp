// cycles.cpp: see cycles.h.
// build: small
#include "core/graph/cycles.h"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/engine/graph_task.h"

namespace undertow::core::cycles {

namespace {

// Guards the suspects: passes add them and tensors are destroyed on any thread. Nothing is freed while it is held.
std::mutex mutex;
std::unordered_map<AutogradMeta*, TensorImpl*>& suspects() {
  static auto* map =
      new std::unordered_map<AutogradMeta*, TensorImpl*>;  // leaked: tensors may be destroyed after static destruction
  return *map;
}

// An object that the walk has visited.
struct Found {
  bool is_node;
  bool alive = false;
  uint32_t inside = 0;  // number of references from visited objects
};

class Walk {
 public:
  void start(TensorImpl* t) { visit(t, false, false); }

  // Visits everything reachable and counts, for each object, the references from visited objects.
  void count() {
    while (!work_.empty()) {
      void* o = work_.back();
      work_.pop_back();
      for_each_child(o, found_.at(o).is_node, [this](void* child, bool is_node) { visit(child, is_node, true); });
    }
  }

  // Marks as alive every object with a reference from outside, and everything it reaches.
  void mark() {
    for (auto& [o, f] : found_)
      if (references(o, f) > f.inside) mark_alive(o, f);
    while (!work_.empty()) {
      void* o = work_.back();
      work_.pop_back();
      for_each_child(o, found_.at(o).is_node, [this](void* child, bool) { mark_alive(child, found_.at(child)); });
    }
  }

  // Takes the gradients out of the dead tensors.
  std::vector<Tensor> take_dead() {
    std::vector<Tensor> out;
    for (auto& [o, f] : found_) {
      if (f.is_node || f.alive) continue;
      auto* t = static_cast<TensorImpl*>(o);
      if (t->meta && t->meta->grad.defined()) out.push_back(std::move(t->meta->grad));
    }
    return out;
  }

 private:
  void visit(void* o, bool is_node, bool counted) {
    auto [it, fresh] = found_.try_emplace(o, Found{is_node});
    if (counted) it->second.inside++;
    if (fresh) work_.push_back(o);
  }
  void mark_alive(void* o, Found& f) {
    if (f.alive) return;
    f.alive = true;
    work_.push_back(o);
  }
  static uint32_t references(void* o, const Found& f) {
    return f.is_node ? static_cast<Node*>(o)->use_count() : static_cast<TensorImpl*>(o)->use_count();
  }

  // Calls visit(child, is_node) once for each reference that o owns.
  template <class F>
  static void for_each_child(void* o, bool is_node, F&& visit) {
    if (is_node) {
      auto* n = static_cast<Node*>(o);
      for (const Edge& e : n->next_edges())
        if (e.node) visit(e.node.get(), true);
      if (n->is_accumulate()) {
        if (n->use_count() > 0) visit(static_cast<AccumulateGrad*>(n)->leaf(), false);
        return;
      }
      if (Node* inner = n->inner_node()) {
        visit(inner, true);
        return;
      }
      n->visit_saved(
          [](void* f, const char*, TensorImpl* t) { (*static_cast<std::remove_reference_t<F>*>(f))(t, false); },
          &visit);
      return;
    }
    auto* t = static_cast<TensorImpl*>(o);
    if (t->grad_fn) visit(t->grad_fn, true);
    if (t->base) visit(t->base, false);
    if (!t->meta) return;
    if (t->meta->grad.defined()) visit(t->meta->grad.impl(), false);
    if (t->meta->tangent.defined()) visit(t->meta->tangent.impl(), false);
    if (t->meta->foreign_accumulator) visit(t->meta->foreign_accumulator.get(), true);
  }

  std::unordered_map<void*, Found> found_;
  std::vector<void*> work_;
};

}  // namespace

void suspect(TensorImpl* t) {
  std::lock_guard lock(mutex);
  t->meta->has_gradient_history = true;
  suspects()[t->meta] = t;
}

void forget(AutogradMeta* meta) {
  std::lock_guard lock(mutex);
  suspects().erase(meta);
}

size_t collect() {
  if (GraphTask::running() > 0) return 0;
  Walk walk;
  {
    std::lock_guard lock(mutex);
    std::erase_if(suspects(), [](const auto& entry) {
      auto [meta, t] = entry;
      bool still = meta->grad.defined() && meta->grad.impl()->grad_fn;
      meta->has_gradient_history = still;
      return !still;
    });
    for (auto& [meta, t] : suspects()) walk.start(t);
  }
  walk.count();
  walk.mark();
  return walk.take_dead().size();  // freeing the returned gradients breaks the cycles
}

}  // namespace undertow::core::cycles
