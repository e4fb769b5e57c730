// saved_report.cpp: see saved_report.h.
// build: small
#include "core/graph/diagnostics/saved_report.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/accumulate_grad.h"
#include "core/graph/saved_tensor.h"

namespace undertow::core {

namespace {

class Collector {
 public:
  SavedReport report;

  void add(Node* node) {
    node_ = node;
    seen_.clear();
    if (node->is_accumulate())
      counts_[static_cast<AccumulateGrad*>(node)->leaf()]++;  // see Note [Embedded Accumulator]
    node->visit_kept([](void* self, const char* name,
                        const SavedTensor& saved) { static_cast<Collector*>(self)->kept(name, saved); },
                     this);
    // Third-party nodes may report what they hold only here.
    node->visit_saved(
        [](void* self, const char* name, TensorImpl* t) {
          auto* c = static_cast<Collector*>(self);
          if (!c->seen_.contains(t)) c->held(name, t);
        },
        this);
  }

  // A storage is counted in the first row that saved it. It belongs to the graph alone if all its tensors do. A tensor
  // does if all references to it come from saved tensors and from views that belong to the graph alone.
  void finish() {
    for (TensorImpl* t : tensors_)
      if (t->base && ours(t)) counts_[t->base]++;
    std::unordered_map<const Storage*, uint32_t> holders;
    std::unordered_set<TensorImpl*> counted;
    auto hold = [&](TensorImpl* t) {
      if (counted.insert(t).second && ours(t)) holders[t->storage]++;
    };
    for (TensorImpl* t : tensors_) {
      hold(t);
      if (t->base) hold(t->base);
    }
    std::unordered_set<const Storage*> first;
    for (SavedRow& row : report.rows) {
      if (!row.known) continue;
      row.first = first.insert(row.storage).second;
      row.alone = row.first && holders[row.storage] == row.storage->use_count();
    }
  }

 private:
  void kept(const char* name, const SavedTensor& saved) {
    if (saved.is_released()) {
      report.freed++;
    } else if (saved.has_hooks()) {
      packed_name_ = name;
      size_t before = report.rows.size();
      saved.visit_packed(
          [](void* self, TensorImpl* t, bool only_there) {
            auto* c = static_cast<Collector*>(self);
            c->row(c->packed_name_, t, SavedRow::State::Packed);
            if (only_there) c->counts_[t]++;
          },
          this);
      if (report.rows.size() == before)
        report.rows.push_back(
            {node_, name, SavedRow::State::Packed, false, false, false, DType::Float32, {}, 0, nullptr});
    } else if (TensorImpl* t = saved.peek()) {
      held(name, t);
    }
  }
  void held(const char* name, TensorImpl* t) {
    seen_.insert(t);
    counts_[t]++;
    row(name, t, SavedRow::State::Held);
  }
  void row(const char* name, TensorImpl* t, SavedRow::State state) {
    tensors_.push_back(t);
    report.rows.push_back({node_, name, state, true, false, false, t->dtype, Dims(t->sizes().begin(), t->sizes().end()),
                           static_cast<size_t>(t->numel * itemsize(t->dtype)), t->storage});
  }
  bool ours(TensorImpl* t) const {
    auto found = counts_.find(t);
    return found != counts_.end() && found->second == t->use_count();
  }

  Node* node_ = nullptr;
  const char* packed_name_ = nullptr;
  std::unordered_set<TensorImpl*> seen_;                    // of this node
  std::unordered_map<const TensorImpl*, uint32_t> counts_;  // number of references from the graph
  std::vector<TensorImpl*> tensors_;
};

}  // namespace

std::vector<Node*> nodes_below(std::span<const Edge> roots) {
  std::vector<Node*> found;
  std::unordered_set<Node*> seen;
  auto see = [&](const Edge& e) {
    if (e && seen.insert(e.node.get()).second) found.push_back(e.node.get());
  };
  for (const Edge& e : roots) see(e);
  for (size_t i = 0; i < found.size(); i++)
    for (const Edge& e : found[i]->next_edges()) see(e);
  return found;
}

SavedReport report_saved(std::span<const Edge> roots) {
  std::vector<Node*> nodes = nodes_below(roots);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node* a, const Node* b) { return a->sequence_nr() < b->sequence_nr(); });
  Collector collector;
  collector.report.nodes = nodes.size();
  for (Node* node : nodes) collector.add(node);
  collector.finish();
  return std::move(collector.report);
}

}  // namespace undertow::core
