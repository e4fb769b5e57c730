// provenance.cpp: see provenance.h.
// build: small
#include "core/graph/diagnostics/provenance.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/autograd_meta.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/diagnostics/tensor_number.h"

namespace undertow::core {

namespace {

constexpr size_t kMaxRecords = 1 << 21;
std::atomic<uint64_t> last_number{0};  // atomic: several threads number their records
std::atomic<size_t> alive{0};          // atomic: records are freed on any thread

// Records whose last reference was released while another was being freed on this thread; see
// Note [Iterative Destruction].
struct Graveyard {
  Provenance* head = nullptr;
  bool draining = false;
};
thread_local Graveyard graveyard;

std::mutex records_mutex;  // guards AutogradMeta::provenance, lines() and exits()
std::unordered_set<std::string>& lines() {
  static auto* set = new std::unordered_set<std::string>;  // leaked: records point into it
  return *set;
}

// Where values were converted to Python. Guarded by records_mutex.
struct Exit {
  Ref<Provenance> record;
  const char* operation;
  const std::string* line;
};
constexpr size_t kMaxExits = 256;
std::deque<Exit>& exits() {
  static auto* list = new std::deque<Exit>;  // leaked: threads may read values during exit
  return *list;
}

const std::string* line_now() {
  std::string line = current_line ? current_line() : "";
  if (line.empty()) return nullptr;
  std::lock_guard lock(records_mutex);
  return &*lines().insert(std::move(line)).first;
}

Ref<Provenance> found(TensorImpl* t) { return t->meta ? t->meta->provenance : Ref<Provenance>(); }

// The record of a tensor that is being used; created if there is none. Requires records_mutex.
Ref<Provenance> record_of(TensorImpl* t) {
  AutogradMeta& meta = make_meta(t);
  if (!meta.provenance) {
    meta.provenance = Ref<Provenance>(new Provenance);
    meta.provenance->dtype = t->dtype;
  }
  return meta.provenance;
}

bool requires_grad(const TensorImpl* t) { return t->has(kRequiresGrad) || (t->base && t->base->has(kRequiresGrad)); }

}  // namespace

Provenance::Provenance() : number(last_number.fetch_add(1, std::memory_order_relaxed) + 1) {
  alive.fetch_add(1, std::memory_order_relaxed);
}
Provenance::~Provenance() { alive.fetch_sub(1, std::memory_order_relaxed); }

void Provenance::release() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Graveyard& g = graveyard;
  if (g.draining) {
    next_dead_ = g.head;
    g.head = this;
    return;
  }
  g.draining = true;
  delete this;
  while (Provenance* p = g.head) {
    g.head = p->next_dead_;
    delete p;
  }
  g.draining = false;
}

namespace provenance {

uint64_t number_of(TensorImpl* t) {
  std::lock_guard lock(records_mutex);
  return record_of(t)->number;
}

bool wanted() {
  if (mode_is(kSourceLines) || (process_mode.load(std::memory_order_relaxed) & (kAnomaly | kSourceLines))) return true;
  thread_mode.bits &= ~static_cast<uint32_t>(kProvenance);
  return false;
}

void adopt_process_mode() {
  if (process_mode.load(std::memory_order_relaxed) & (kAnomaly | kSourceLines)) thread_mode.bits |= kProvenance;
}

void note(const char* operation, std::span<TensorImpl* const> results, std::span<const Input> inputs, bool in_place) {
  if (inputs.empty() || !wanted()) return;
  const std::string* line = line_now();
  bool full = alive.load(std::memory_order_relaxed) >= kMaxRecords;
  std::vector<Ref<Provenance>> dropped;  // freed after the lock is released, because freeing them can free others
  std::lock_guard lock(records_mutex);
  std::vector<Provenance::Parent> parents;
  for (size_t i = in_place ? 1 : 0; i < inputs.size(); i++) {
    const Input& in = inputs[i];
    if (!in.tensor || full) continue;
    parents.push_back({record_of(in.tensor), requires_grad(in.tensor), in.differentiable});
    // If the base of a view was written since, the view also depends on that write.
    Ref<Provenance> base = in.tensor->base ? found(in.tensor->base) : Ref<Provenance>();
    if (base && base->number > parents.back().record->number)
      parents.push_back({base, requires_grad(in.tensor), in.differentiable});
  }
  auto attach = [&](TensorImpl* t, bool old_value_counts) {
    if (in_place && t->has(kRequiresGrad) && !t->grad_fn) return;  // a leaf stays the same leaf
    Ref<Provenance> r(new Provenance);
    r->operation = operation;
    r->line = line;
    r->mode = thread_mode.bits;
    r->dtype = t->dtype;
    r->in_place = in_place;
    r->incomplete = full;
    if (in_place && !full) r->parents.push_back({record_of(t), requires_grad(t), old_value_counts});
    r->parents.insert(r->parents.end(), parents.begin(), parents.end());
    Ref<Provenance>& at = make_meta(t).provenance;
    dropped.push_back(std::move(at));
    at = std::move(r);
  };
  for (TensorImpl* t : results) {
    if (!t) continue;
    attach(t, in_place && inputs[0].differentiable);
    if (in_place && t->base) attach(t->base, true);
  }
}

void note_cut(const char* operation, const Tensor& result, const Tensor& source) {
  TensorImpl* results[] = {result.impl()};
  Input inputs[] = {{source.impl(), false}};
  note(operation, results, inputs);
}

const char* permanent(const std::string& name) {
  std::lock_guard lock(records_mutex);
  return lines().insert(name).first->c_str();
}

void note_exit(const char* operation, const Tensor& source) {
  if (!wanted()) return;
  const std::string* line = line_now();
  Exit oldest;  // freed after the lock is released
  std::lock_guard lock(records_mutex);
  exits().push_back({record_of(source.impl()), operation, line});
  if (exits().size() <= kMaxExits) return;
  oldest = std::move(exits().front());
  exits().pop_front();
}

namespace {
// The records and all their ancestors, parents before children.
std::vector<Provenance*> ancestry(std::vector<Provenance*> all) {
  std::unordered_set<Provenance*> seen(all.begin(), all.end());
  all.assign(seen.begin(), seen.end());
  for (size_t i = 0; i < all.size(); i++)
    for (const Provenance::Parent& p : all[i]->parents)
      if (seen.insert(p.record.get()).second) all.push_back(p.record.get());
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->number < b->number; });
  return all;
}

// The exits of values that were computed from one of `own`.
void find_exits(const std::unordered_set<const Provenance*>& own, History& out) {
  std::vector<Exit> left;
  {
    std::lock_guard lock(records_mutex);
    left.assign(exits().begin(), exits().end());
  }
  std::vector<Provenance*> all;
  all.reserve(left.size());
  for (const Exit& e : left) all.push_back(e.record.get());
  std::unordered_set<const Provenance*> descends = own;
  for (Provenance* r : ancestry(std::move(all)))
    for (const Provenance::Parent& p : r->parents)
      if (descends.contains(p.record.get())) descends.insert(r);
  for (const Exit& e : left)
    if (descends.contains(e.record.get())) out.exits.emplace_back(e.operation, e.line);
}
}  // namespace

History history(const Tensor& param, const Tensor& loss) {
  History out;
  Ref<Provenance> target, top;
  {
    std::lock_guard lock(records_mutex);
    target = found(param.impl());
    top = found(loss.impl());
  }
  if (!top) return out;
  out.known = true;
  std::vector<Provenance*> all = ancestry({top.get()});
  // The parameter's own record, and those of its earlier values.
  std::unordered_set<const Provenance*> own;
  for (Provenance* r = target.get(); r; r = r->in_place && !r->parents.empty() ? r->parents[0].record.get() : nullptr)
    own.insert(r);

  struct Reach {
    bool depends, flows;
  };
  std::unordered_map<const Provenance*, Reach> reach;
  for (Provenance* r : all) {
    out.incomplete |= r->incomplete;
    Reach here{own.contains(r), own.contains(r)};
    for (const Provenance::Parent& p : r->parents) {
      Reach from = reach[p.record.get()];
      here.depends |= from.depends;
      if (!from.flows || own.contains(r)) continue;
      bool frozen = own.contains(p.record.get()) && !p.required;
      bool stops = frozen || !p.differentiable || (r->mode & kNoGrad) || !is_differentiable(r->dtype);
      if (stops) out.cuts.push_back({r, p.record->dtype, frozen, !p.differentiable});
      here.flows |= !stops;
    }
    reach[r] = here;
  }
  out.depends = reach[top.get()].depends;
  if (target) find_exits(own, out);
  out.alive = {std::move(target), std::move(top)};
  return out;
}

namespace {
// Names by number, starting at 1. Guarded by marks_mutex.
std::mutex marks_mutex;
std::vector<const char*>& mark_names() {
  static auto* names = new std::vector<const char*>{nullptr};
  return *names;
}
}  // namespace

uint16_t CutMark::assign_number() {
  std::lock_guard lock(marks_mutex);
  if (uint16_t n = number.load(std::memory_order_relaxed)) return n;
  if (mark_names().size() > kMaxCutMarks) return 0;
  mark_names().push_back(operation);
  number.store(static_cast<uint16_t>(mark_names().size() - 1), std::memory_order_relaxed);
  return number.load(std::memory_order_relaxed);
}

const char* cut_by(const TensorImpl& t) {
  std::lock_guard lock(marks_mutex);
  return mark_names()[t.flags >> kCutShift & kMaxCutMarks];
}

}  // namespace provenance
}  // namespace undertow::core
