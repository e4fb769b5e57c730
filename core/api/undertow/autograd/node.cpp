// node.cpp: see node.h.
// build: small
#include <undertow/autograd/node.h>
#include <undertow/types/type_name.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/node.h"
#include "core/graph/saved_tensor.h"

namespace undertow {

namespace autograd {

namespace {

core::Ref<core::Node> core_of(const std::shared_ptr<Node>& node) {
  return node ? core::Ref<core::Node>(node->core_node()) : core::Ref<core::Node>();
}

// Replaces the gradients by what a hook returned, one for one.
void replace_grads(std::span<core::Tensor> grads, const char* hook, variable_list returned) {
  UT_CHECK(returned.size() == grads.size(), hook, " hook has returned an incorrect number of values (got ",
           returned.size(), ", but expected ", grads.size(), ")");
  for (size_t i = 0; i < grads.size(); i++) grads[i] = std::move(returned[i]);
}
variable_list list_of(std::span<const core::Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

class PreHook final : public core::NodePreHook {
 public:
  PreHook(std::unique_ptr<FunctionPreHook> hook, unsigned number) : number(number), hook_(std::move(hook)) {}
  void call(std::span<core::Tensor> grads) override { replace_grads(grads, "pre", (*hook_)(list_of(grads))); }
  const unsigned number;

 private:
  std::unique_ptr<FunctionPreHook> hook_;
};
class PostHook final : public core::NodePostHook {
 public:
  PostHook(std::unique_ptr<FunctionPostHook> hook, unsigned number) : number(number), hook_(std::move(hook)) {}
  void call(std::span<core::Tensor> grad_inputs, std::span<const core::Tensor> grad_outputs) override {
    replace_grads(grad_inputs, "post", (*hook_)(list_of(grad_inputs), list_of(grad_outputs)));
  }
  const unsigned number;

 private:
  std::unique_ptr<FunctionPostHook> hook_;
};
unsigned next_number() {
  static std::atomic<unsigned> next{0};  // atomic: threads register hooks at the same time
  return next.fetch_add(1, std::memory_order_relaxed);
}
template <class Hook, class List>
void remove(List& hooks, unsigned number) {
  for (size_t i = 0; i < hooks.size(); i++)
    if (auto* h = dynamic_cast<Hook*>(hooks[i].get()); h && h->number == number) {
      hooks.erase(hooks.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  UT_FAIL("this node has no hook with the number ", number);
}

}  // namespace

// The core's node of a Node that a user derived.
class NodeOfUser final : public core::NodeWithEdgeList {
  using Node = autograd::Node;  // not the name of the base class

 public:
  explicit NodeOfUser(Node* owner) : owner_(owner) {
    refs_.store(0, std::memory_order_relaxed);
    is_embedded_ = true;
  }
  void delete_self() override { delete this; }
  std::string name() const override { return owner_->name(); }
  void release_variables() override { owner_->release_variables(); }
  void apply(std::span<core::Tensor> grad_outputs, std::span<core::Tensor> grad_inputs) override {
    variable_list in(std::make_move_iterator(grad_outputs.begin()), std::make_move_iterator(grad_outputs.end()));
    variable_list out = (*owner_)(std::move(in));
    for (size_t i = grad_inputs.size(); i < out.size(); i++)
      UT_CHECK(!out[i].defined(), name(), " returned an invalid number of gradients: expected ", grad_inputs.size(),
               ", but got ", out.size());
    for (size_t i = 0; i < std::min(out.size(), grad_inputs.size()); i++) grad_inputs[i] = std::move(out[i]);
  }
  std::shared_ptr<Node> owner() const { return owner_->shared_from_this(); }
  void set_edges(const edge_list& list) {
    set_num_edges(list.size());
    for (size_t i = 0; i < list.size(); i++) edges()[i] = {core_of(list[i].function), list[i].input_nr};
    finish_recording();
  }

 protected:
  // The last release on one thread may overlap with a first one on another, which has the user's pointer. So count
  // both.
  void on_first_reference() override {
    std::lock_guard lock(mutex_);
    if (held_++ == 0) self_ = owner_->shared_from_this();
  }
  void on_last_reference() override {
    std::shared_ptr<Node> last;
    {
      std::lock_guard lock(mutex_);
      if (--held_ == 0) last = std::move(self_);
    }
    if (last) drop(std::move(last));
  }

 private:
  // Deleting a node releases its edges, which may delete the next node: a chain of any length must not recurse.
  static void drop(std::shared_ptr<Node> node) {
    thread_local std::vector<std::shared_ptr<Node>> waiting;
    thread_local bool draining = false;
    waiting.push_back(std::move(node));
    if (draining) return;
    draining = true;
    while (!waiting.empty()) {
      std::shared_ptr<Node> next = std::move(waiting.back());
      waiting.pop_back();
      next.reset();
    }
    draining = false;
  }
  Node* const owner_;
  std::mutex mutex_;  // guards held_ and self_
  int held_ = 0;
  std::shared_ptr<Node> self_;
};

// A wrapper of a node that an operator recorded.
class NodeOfCore final : public Node {
 public:
  explicit NodeOfCore(core::Node* node) : Node(Wraps{}, node) { node->retain(); }
  ~NodeOfCore() override;
  std::string name() const override { return core_->name(); }
  void release_variables() override { core_->release_variables(); }

 protected:
  variable_list apply(variable_list&& inputs) override {
    UT_CHECK(inputs.size() == core_->num_inputs(), name(), " takes ", core_->num_inputs(), " gradients, got ",
             inputs.size());
    std::vector<core::Tensor> in(inputs.begin(), inputs.end()), out(core_->num_edges());
    inputs.clear();
    core_->apply(in, out);
    return undertow::detail::wrap_list(std::move(out));
  }
};

namespace {

// The wrapper of each node that has one.
struct Wrappers {
  std::mutex mutex;  // guards of
  std::unordered_map<core::Node*, std::weak_ptr<Node>> of;
};
Wrappers& wrappers() {
  static auto* made = new Wrappers;  // leaked: nodes may be destroyed during exit
  return *made;
}

std::shared_ptr<Node> wrap(core::Node* node) {
  if (!node) return nullptr;
  if (auto* user = dynamic_cast<NodeOfUser*>(node)) return user->owner();
  Wrappers& w = wrappers();
  std::lock_guard lock(w.mutex);
  std::weak_ptr<Node>& known = w.of[node];
  std::shared_ptr<Node> out = known.lock();
  if (!out) known = out = std::make_shared<NodeOfCore>(node);
  return out;
}

}  // namespace

NodeOfCore::~NodeOfCore() {
  Wrappers& w = wrappers();
  std::lock_guard lock(w.mutex);
  // Another thread may have made the next wrapper already.
  if (auto it = w.of.find(core_); it != w.of.end() && it->second.expired()) w.of.erase(it);
}

Node::Node(edge_list next_edges) : core_(new NodeOfUser(this)) {
  if (!next_edges.empty()) set_next_edges(std::move(next_edges));
}
Node::~Node() {
  if (auto* user = dynamic_cast<NodeOfUser*>(core_))
    delete user;
  else
    core_->release();
}

std::string Node::name() const { return undertow::detail::type_name(typeid(*this)); }

edge_list Node::next_edges() const {
  edge_list out;
  for (const core::Edge& e : core_->next_edges()) out.emplace_back(wrap(e.node.get()), e.input_nr);
  return out;
}
Edge Node::next_edge(size_t index) const {
  UT_CHECK_INDEX(index < core_->num_edges(), name(), " has ", core_->num_edges(), " edges, but edge ", index,
                 " was asked for");
  const core::Edge& e = core_->next_edges()[index];
  return {wrap(e.node.get()), e.input_nr};
}
uint32_t Node::num_outputs() const { return core_->num_edges(); }
void Node::set_next_edges(edge_list next_edges) {
  auto* user = dynamic_cast<NodeOfUser*>(core_);
  UT_CHECK(user, "the edges of ", name(), " cannot be changed: an operator recorded it");
  user->set_edges(next_edges);
}
void Node::set_next_edge(size_t index, Edge edge) {
  edge_list edges = next_edges();
  UT_CHECK_INDEX(index < edges.size(), name(), " has ", edges.size(), " edges, but edge ", index, " was set");
  edges[index] = std::move(edge);
  set_next_edges(std::move(edges));
}
void Node::add_next_edge(Edge edge) {
  edge_list edges = next_edges();
  edges.push_back(std::move(edge));
  set_next_edges(std::move(edges));
}
uint32_t Node::num_inputs() const { return core_->num_inputs(); }
uint32_t Node::add_input_metadata(const Tensor& result) {
  return result.defined() ? core_->add_input(result) : core_->add_input_undefined();
}
uint64_t Node::sequence_nr() const { return core_->sequence_nr(); }
uint64_t Node::topological_nr() const { return core_->topological_nr(); }
bool Node::should_compute_output(size_t index) const { return next_edge(index).is_valid(); }
bool Node::task_should_compute_output(size_t index) const {
  UT_CHECK_INDEX(index < core_->num_edges(), name(), " has ", core_->num_edges(), " edges, but edge ", index,
                 " was asked for");
  return core_->needs(static_cast<uint32_t>(index));
}

unsigned Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  unsigned number = next_number();
  core_->make_extra().pre_hooks.emplace_back(new PreHook(std::move(hook), number));
  return number;
}
unsigned Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  unsigned number = next_number();
  core_->make_extra().post_hooks.emplace_back(new PostHook(std::move(hook), number));
  return number;
}
void Node::remove_pre_hook(unsigned number) { remove<PreHook>(core_->make_extra().pre_hooks, number); }
void Node::remove_post_hook(unsigned number) { remove<PostHook>(core_->make_extra().post_hooks, number); }

Edge gradient_edge(const Tensor& t) {
  core::Edge e = core::gradient_edge(t);
  return {wrap(e.node.get()), e.input_nr};
}
std::shared_ptr<Node> grad_accumulator(const Tensor& t) {
  if (!t.requires_grad() || core::grad_fn(t)) return nullptr;
  return wrap(core::grad_accumulator(t).get());
}
void set_history(const Tensor& t, const std::shared_ptr<Node>& node) {
  UT_CHECK(t.defined() && core::is_differentiable(t.dtype()),
           "set_history: only a floating point or complex tensor can be the result of a node, got ",
           t.defined() ? core::str(core::DType(t.dtype())) : std::string("an undefined tensor"));
  if (node) core::set_history(t, core_of(node));
}
void set_history(const variable_list& tensors, const std::shared_ptr<Node>& node) {
  for (const Tensor& t : tensors) set_history(t, node);
}
void create_gradient_edge(Tensor& variable, std::shared_ptr<Node> function) { set_history(variable, function); }

struct SavedVariable::Data {
  core::SavedTensor saved;
};
SavedVariable::SavedVariable() = default;
SavedVariable::SavedVariable(const Tensor& t, bool is_output) : data_(std::make_unique<Data>()) {
  if (is_output && t.defined() && t.impl()->grad_fn)
    data_->saved.save_output(t);
  else
    data_->saved.save(t);
}
SavedVariable::SavedVariable(SavedVariable&&) noexcept = default;
SavedVariable& SavedVariable::operator=(SavedVariable&&) noexcept = default;
SavedVariable::~SavedVariable() = default;
Tensor SavedVariable::unpack(const std::shared_ptr<Node>& saved_for) const {
  return data_ ? Tensor(data_->saved.unpack(saved_for ? saved_for->core_node() : nullptr)) : Tensor();
}
void SavedVariable::reset_data() {
  if (data_) data_->saved.release();
}

}  // namespace autograd

std::shared_ptr<autograd::Node> Tensor::grad_fn() const { return autograd::wrap(core::grad_fn(*this)); }

}  // namespace undertow
