// node.h: the graph from C++: nodes, edges, hooks, and nodes with a derivative of the user's.
//
// Note [Nodes Of The API]
// The graph consists of core::Nodes. A Node of the API is one of two things. For a node that an operator recorded it is
// a wrapper that keeps the core's node alive; while a wrapper exists, further calls of grad_fn() return the same one,
// so that pointers can be compared. A class that a user derives from Node owns a node of the core that calls its
// apply(); while an edge or a tensor refers to the core's node, that node keeps the user's object alive.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <undertow/tensor.h>

namespace undertow {

namespace core {
class Node;
}

namespace autograd {

class Node;

// Where a gradient goes: input `input_nr` of `function`.
struct Edge {
  Edge() = default;
  Edge(std::shared_ptr<Node> f, uint32_t nr) : function(std::move(f)), input_nr(nr) {}
  bool is_valid() const { return function != nullptr; }
  bool operator==(const Edge& o) const { return function == o.function && input_nr == o.input_nr; }

  std::shared_ptr<Node> function;
  uint32_t input_nr = 0;
};
using edge_list = std::vector<Edge>;

// Hooks of a node: before it runs, with the gradients that enter it; after it ran, with those that leave and entered
// it. A hook returns the gradients to go on with.
struct FunctionPreHook {
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};
struct FunctionPostHook {
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& outputs, const variable_list& inputs) = 0;
};

// Derive from it, override apply, create it with std::make_shared, and attach results with set_history.
class Node : public std::enable_shared_from_this<Node> {
 public:
  explicit Node(edge_list next_edges = {});
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Computes the gradients that leave the node, one per next edge, from those that enter it; runs no hooks.
  variable_list operator()(variable_list&& inputs) { return apply(std::move(inputs)); }
  virtual std::string name() const;  // of a class derived from Node: the class's name
  std::shared_ptr<Node> getptr() { return shared_from_this(); }

  edge_list next_edges() const;
  Edge next_edge(size_t index) const;
  uint32_t num_outputs() const;  // edges
  void set_next_edges(edge_list next_edges);
  void set_next_edge(size_t index, Edge edge);
  void add_next_edge(Edge edge);

  uint32_t num_inputs() const;  // results of the forward computation
  uint32_t add_input_metadata(const Tensor& result);
  uint64_t sequence_nr() const;
  uint64_t topological_nr() const;
  // Whether an edge leads somewhere, and whether the running pass needs its gradient.
  bool should_compute_output(size_t index) const;
  bool task_should_compute_output(size_t index) const;

  // Each returns a number for the matching remove function.
  unsigned add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  unsigned add_post_hook(std::unique_ptr<FunctionPostHook> hook);
  void remove_pre_hook(unsigned number);
  void remove_post_hook(unsigned number);

  // Frees what apply needs. Called when a pass without retain_graph has run the node.
  virtual void release_variables() {}

  core::Node* core_node() const { return core_; }

 protected:
  virtual variable_list apply(variable_list&& inputs) = 0;

 private:
  friend class NodeOfUser;
  friend class NodeOfCore;
  struct Wraps {};
  Node(Wraps, core::Node* node) : core_(node) {}

  core::Node* core_;  // see Note [Nodes Of The API]; owned
};

// The edge that the gradient of t takes: to its grad_fn, or to the accumulator of a leaf. Invalid if t needs no
// gradient.
Edge gradient_edge(const Tensor& t);
// The node that adds to t.grad, if t is a leaf that requires grad; null for other tensors.
std::shared_ptr<Node> grad_accumulator(const Tensor& t);
// Makes t a result of `node`, with the next free input of it.
void set_history(const Tensor& t, const std::shared_ptr<Node>& node);
void set_history(const variable_list& tensors, const std::shared_ptr<Node>& node);
void create_gradient_edge(Tensor& variable, std::shared_ptr<Node> function);

template <class... Tensors>
edge_list collect_next_edges(const Tensors&... tensors) {
  edge_list out;
  auto add = [&](const auto& x) {
    if constexpr (std::is_convertible_v<decltype(x), const Tensor&>)
      out.push_back(x.defined() ? gradient_edge(x) : Edge());
    else
      for (const Tensor& t : x) out.push_back(t.defined() ? gradient_edge(t) : Edge());
  };
  (add(tensors), ...);
  return out;
}
template <class... Tensors>
bool any_variable_requires_grad(const Tensors&... tensors) {
  return ((tensors.defined() && tensors.requires_grad()) || ...);
}

// A tensor that a node keeps for its backward: checked for writes, and freed by reset_data.
class SavedVariable {
 public:
  SavedVariable();
  // is_output: the tensor is a result of the node that saves it, which is then kept without its history.
  SavedVariable(const Tensor& t, bool is_output);
  SavedVariable(SavedVariable&&) noexcept;
  SavedVariable& operator=(SavedVariable&&) noexcept;
  ~SavedVariable();
  Tensor unpack(const std::shared_ptr<Node>& saved_for = nullptr) const;
  void reset_data();

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

namespace impl {
using autograd::grad_accumulator;
using autograd::gradient_edge;
}  // namespace impl

}  // namespace autograd

using autograd::edge_list;

}  // namespace undertow
