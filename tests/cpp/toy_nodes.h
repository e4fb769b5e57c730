// toy_nodes.h: nodes whose derivative is a lambda, and small tensors, for tests of the engine.
// Uses the graph and the forward functions; does not know the nodes of operators.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/engine/engine.h"
#include "core/graph/retains_grad.h"
#include "core/graph/structural.h"

namespace toy {

using namespace undertow::core;
using Grads = std::span<Tensor>;
using Apply = std::function<void(Grads grad_outputs, Grads grad_inputs)>;

// A node with any number of edges and inputs. `released` counts calls of release_variables(), `alive` the objects.
class Toy final : public NodeWithEdgeList {
 public:
  explicit Toy(Apply f, std::string name = "Toy") : apply_(std::move(f)), name_(std::move(name)) { ++alive; }
  ~Toy() { --alive; }
  UT_NODE_MEMORY(Toy)
  void apply(Grads grad_outputs, Grads grad_inputs) override {
    ++runs;
    apply_(grad_outputs, grad_inputs);
  }
  void release_variables() override { ++released; }
  std::string name() const override { return name_; }

  static inline std::atomic<int64_t> alive{0};
  std::atomic<int> runs{0}, released{0};

 private:
  Apply apply_;
  std::string name_;
};

struct Options {
  std::string name = "Toy";
  uint32_t inputs = 1;
  Device device = {};
  int64_t size = 2;  // every input is a float vector of this size
};

inline Ref<Toy> node(std::vector<Edge> edges, Apply f, Options o = {}) {
  Ref<Toy> n = Ref<Toy>::adopt(new Toy(std::move(f), o.name));
  n->set_num_edges(edges.size());
  for (size_t i = 0; i < edges.size(); i++) n->edges()[i] = edges[i];
  for (uint32_t i = 0; i < o.inputs; i++) {
    uint32_t nr = n->add_input_undefined();
    int64_t sizes[] = {o.size};
    n->input_meta(nr).set(sizes, DType::Float32, o.device);
  }
  n->finish_recording();
  return n;
}
inline Edge edge(const Ref<Toy>& n, uint32_t input_nr = 0) { return {Ref<Node>(n.get()), input_nr}; }

inline Tensor vec(std::initializer_list<float> values) {
  int64_t sizes[] = {static_cast<int64_t>(values.size())};
  Tensor t = undertow::core::empty(sizes, DType::Float32);
  std::copy(values.begin(), values.end(), t.data_as<float>());
  return t;
}
inline Tensor vec(float value, int64_t n = 2) {
  int64_t sizes[] = {n};
  Tensor t = empty(sizes, DType::Float32);
  std::fill_n(t.data_as<float>(), t.numel(), static_cast<float>(value));
  return t;
}
inline Tensor leaf(float value = 0, int64_t n = 2) {
  Tensor t = vec(value, n);
  t.impl()->set(kRequiresGrad);
  return t;
}
inline float first(const Tensor& t) { return t.data_as<float>()[0]; }
inline float at(const Tensor& t, int64_t i) { return t.data_as<float>()[i]; }

inline Tensor times(const Tensor& t, float by) {
  Tensor out = undertow::core::empty(t.sizes(), DType::Float32);
  for (int64_t i = 0; i < t.numel(); i++) out.data_as<float>()[i] = by * t.data_as<float>()[i];
  return out;
}
// Sends by * grad along every edge.
inline Apply scale(float by) {
  return [by](Grads in, Grads out) {
    for (Tensor& g : out)
      if (in[0].defined()) g = times(in[0], by);
  };
}

inline std::vector<Tensor> run(const Ref<Toy>& root, Tensor grad, ExecuteOptions options = {},
                               std::vector<Edge> outputs = {}) {
  std::vector<Edge> roots{edge(root)};
  std::vector<Tensor> grads{std::move(grad)};
  return engine::execute(roots, grads, options, outputs);
}

// Does f throw an error whose message contains `part`?
template <class F>
bool throws(F&& f, const std::string& part) {
  try {
    f();
  } catch (const std::exception& e) {
    if (std::string(e.what()).find(part) != std::string::npos) return true;
    std::printf("got instead: %s\n", e.what());
  }
  return false;
}

// No task may own a node's slot after execute has returned.
inline bool slot_is_free(const Ref<Toy>& n) { return n->slot.owner.load() == nullptr && n->slot.buffer == nullptr; }

}  // namespace toy
