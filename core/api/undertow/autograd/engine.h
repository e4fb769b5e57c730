// engine.h: the engine that runs backward passes, for programs that start passes from edges of the graph.
#pragma once
#include <functional>

#include <undertow/autograd/node.h>

namespace undertow::autograd {

class Engine {
 public:
  static Engine& get_default_engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Sends `inputs` into `roots` and runs every node that they reach. With `outputs`, runs only nodes that lead to them,
  // and, unless accumulate_grad is set, returns the gradients that arrive there (undefined where none did).
  variable_list execute(const edge_list& roots, const variable_list& inputs, bool keep_graph, bool create_graph,
                        bool accumulate_grad, const edge_list& outputs = {});
  // Runs the callback at the end of the pass that this thread runs. Raises outside of a pass.
  void queue_callback(std::function<void()> callback);
  // Whether reentrant checkpointing may run here: no pass for chosen inputs is running.
  bool is_checkpoint_valid();

 private:
  Engine() = default;
};

}  // namespace undertow::autograd
