// test_engine.cpp: the sequential engine on toy nodes: counting, summing, hooks, captures, release, errors,
// reentrancy, callbacks. Long graphs are in test_engine_long, threads in test_engine_parallel.
#include <cstring>
#include <set>

#include "core/autograd/autograd.h"
#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

static void test_a_chain_multiplies() {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(2)), b = node({edge(a)}, scale(3));
  run(b, vec(1));
  CHECK(first(grad_of(x)) == 6);
  CHECK(slot_is_free(a) && slot_is_free(b));
}

static void test_a_diamond_runs_its_join_once_after_both_sides() {
  std::vector<std::string> order;
  auto log = [&](const char* name, float by) {
    return [&order, name, by](Grads in, Grads out) {
      order.push_back(name);
      scale(by)(in, out);
    };
  };
  Tensor x = leaf();
  Ref<Toy> bottom = node({gradient_edge(x)}, log("bottom", 1));
  Ref<Toy> left = node({edge(bottom)}, log("left", 2)), right = node({edge(bottom)}, log("right", 3));
  Ref<Toy> top = node({edge(left), edge(right)}, log("top", 1));
  run(top, vec(1));
  CHECK(first(grad_of(x)) == 5);
  // Of two ready nodes, the one recorded later runs first.
  CHECK((order == std::vector<std::string>{"top", "right", "left", "bottom"}));
  CHECK(bottom->runs == 1);
}

static void test_several_edges_into_one_input_are_summed() {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(1));
  Ref<Toy> b = node({edge(a), edge(a), edge(a)}, [](Grads in, Grads out) {
    for (size_t i = 0; i < 3; i++) out[i] = times(in[0], static_cast<float>(i + 1));
  });
  run(b, vec(1));
  CHECK(first(grad_of(x)) == 6);
  CHECK(a->runs == 1);
}

static void test_a_gradient_sent_along_two_edges_is_not_doubled_in_place() {
  Tensor x = leaf(), y = leaf();
  Ref<Toy> sum = node({gradient_edge(x)}, scale(1)), other = node({gradient_edge(y)}, scale(1));
  Ref<Toy> top =
      node({edge(sum), edge(sum), edge(other)}, [](Grads in, Grads out) { out[0] = out[1] = out[2] = in[0]; });
  Tensor g = vec(1);
  run(top, g);
  CHECK(first(grad_of(x)) == 2 && first(grad_of(y)) == 1);
  CHECK(first(g) == 1);  // the caller's tensor must not change
}

static void test_a_node_of_two_outputs_sees_what_arrived_where() {
  Tensor x = leaf();
  std::vector<bool> seen;
  auto both = [&](Grads in, Grads out) {
    seen = {in[0].defined(), in[1].defined()};
    out[0] = in[1].defined() ? in[1] : in[0];
  };
  Ref<Toy> two = node({gradient_edge(x)}, both, {.inputs = 2});
  run(node({edge(two, 1)}, scale(4)), vec(1));
  CHECK((seen == std::vector<bool>{false, true}));
  CHECK(first(grad_of(x)) == 4);
  run(node({edge(two, 1), edge(two, 0), edge(two, 1)}, scale(1)), vec(1));
  CHECK((seen == std::vector<bool>{true, true}));
  CHECK(first(grad_of(x)) == 6);
}

static void test_undefined_gradients_travel() {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, [](Grads in, Grads) { CHECK(!in[0].defined()); });
  Ref<Toy> b = node({edge(a)}, [](Grads, Grads) {});
  run(b, vec(1));
  CHECK(a->runs == 1 && !grad_of(x).defined());
  run(b, Tensor());  // also with an undefined root gradient
  CHECK(a->runs == 2);
}

static void test_an_empty_edge_drops_its_gradient() {
  Tensor x = leaf();
  run(node({Edge{}, gradient_edge(x)}, scale(2)), vec(1));
  CHECK(first(grad_of(x)) == 2);
}

// Hooks.

struct LogTensorHook : TensorHook {
  LogTensorHook(std::vector<std::string>& log, std::string what, float by) : log(log), what(std::move(what)), by(by) {}
  Tensor call(const Tensor& grad) override {
    log.push_back(what);
    return by == 1 ? Tensor() : times(grad, by);
  }
  std::vector<std::string>& log;
  std::string what;
  float by;
};
struct LogPreHook : NodePreHook {
  explicit LogPreHook(std::vector<std::string>& log) : log(log) {}
  void call(Grads grads) override {
    log.push_back("pre");
    grads[0] = times(grads[0], 10);
  }
  std::vector<std::string>& log;
};
struct LogPostHook : NodePostHook {
  explicit LogPostHook(std::vector<std::string>& log) : log(log) {}
  void call(Grads grad_inputs, std::span<const Tensor> grad_outputs) override {
    log.push_back("post");
    CHECK(first(grad_outputs[0]) == 20);
    grad_inputs[0] = times(grad_inputs[0], 100);
  }
  std::vector<std::string>& log;
};
struct LogPostAccumulate : PostAccumulateHook {
  explicit LogPostAccumulate(std::vector<std::string>& log) : log(log) {}
  void call(const Tensor& leaf) override {
    log.push_back("post-accumulate " + std::to_string(static_cast<int>(first(grad_of(leaf)))));
  }
  std::vector<std::string>& log;
};

static void test_hooks_run_in_their_order() {
  std::vector<std::string> log;
  Tensor x = leaf();
  make_meta(x).hooks.emplace_back(new LogTensorHook(log, "leaf", 1));
  make_meta(x).post_accumulate_hooks.emplace_back(new LogPostAccumulate(log));
  Ref<Toy> a = node({gradient_edge(x)}, [&](Grads in, Grads out) {
    log.push_back("apply");
    out[0] = in[0];
  });
  NodeExtra& extra = a->make_extra();
  // Deliberately registered in the opposite order.
  extra.post_hooks.emplace_back(new LogPostHook(log));
  extra.pre_hooks.emplace_back(new LogPreHook(log));
  extra.retains_grad_hooks.emplace_back(0, Ref<TensorHook>(new LogTensorHook(log, "retains", 1)));
  extra.tensor_hooks.emplace_back(0, Ref<TensorHook>(new LogTensorHook(log, "tensor 1", 2)));
  extra.tensor_hooks.emplace_back(0, Ref<TensorHook>(new LogTensorHook(log, "tensor 2", 1)));
  run(a, vec(1));
  CHECK((log == std::vector<std::string>{"tensor 1", "tensor 2", "retains", "pre", "apply", "post", "leaf",
                                         "post-accumulate 2000"}));
}

static void test_retain_grad_keeps_what_hooks_made_of_it() {
  std::vector<std::string> log;
  Tensor x = leaf(), middle = vec(7);
  Ref<Toy> a = Ref<Toy>::adopt(new Toy(scale(3)));
  a->set_num_edges(1);
  a->edges()[0] = gradient_edge(x);
  a->finish_recording();
  set_history(middle, a);
  retain_grad(middle);
  a->make_extra().tensor_hooks.emplace_back(0, Ref<TensorHook>(new LogTensorHook(log, "hook", 5)));
  run(node({edge(a)}, scale(1)), vec(1), {.keep_graph = true});
  CHECK(first(grad_of(middle)) == 5 && first(grad_of(x)) == 15);
  a.reset();
  middle.reset();  // the hook must neither keep the tensor alive nor use it
}

static void test_a_hook_may_remove_itself() {
  struct Once : TensorHook {
    Node* node;
    int calls = 0;
    Tensor call(const Tensor&) override {
      calls++;
      node->extra()->tensor_hooks.clear();
      return {};
    }
  };
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(1));
  auto once = Ref<Once>(new Once);
  once->node = a.get();
  a->make_extra().tensor_hooks.emplace_back(0, Ref<TensorHook>(once.get()));
  a->make_extra().tensor_hooks.emplace_back(0, Ref<TensorHook>(once.get()));
  run(a, vec(1));
  run(a, vec(1));
  CHECK(once->calls == 2);  // the running pass uses a copy of the hooks; the next pass has none
}

// Passes for chosen inputs.

static void test_captures_return_gradients_and_accumulate_nothing() {
  Tensor x = leaf(), y = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(2)), b = node({gradient_edge(y)}, scale(5));
  Ref<Toy> top = node({edge(a), edge(b)}, scale(1));
  auto got =
      run(top, vec(1), {.keep_graph = true, .accumulate_grad = false}, {gradient_edge(x), edge(a), gradient_edge(y)});
  CHECK(got.size() == 3);
  CHECK(first(got[0]) == 2 && first(got[1]) == 1 && first(got[2]) == 5);
  CHECK(!grad_of(x).defined() && !grad_of(y).defined());
  // Nothing below a captured node runs if no gradient is wanted there.
  int before = a->runs;
  got = run(top, vec(1), {.keep_graph = true, .accumulate_grad = false}, {edge(a)});
  CHECK(first(got[0]) == 1 && a->runs == before && b->runs == 1);
}

static void test_an_input_outside_the_graph_gets_nothing() {
  Tensor x = leaf(), stranger = leaf();
  auto got = run(node({gradient_edge(x)}, scale(1)), vec(1), {.accumulate_grad = false},
                 {gradient_edge(stranger), gradient_edge(x)});
  CHECK(!got[0].defined() && first(got[1]) == 1);
}

static void test_inputs_filter_what_runs_and_accumulates() {
  Tensor x = leaf(), y = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(2)), b = node({gradient_edge(y)}, scale(3));
  Ref<Toy> top = node({edge(a), edge(b)}, [](Grads in, Grads out) {
    Node* self = current_node;
    CHECK(!self->needs(0) && self->needs(1));
    out[0] = out[1] = in[0];
  });
  run(top, vec(1), {.accumulate_grad = true}, {gradient_edge(y)});
  CHECK(!grad_of(x).defined() && first(grad_of(y)) == 3);
  CHECK(a->runs == 0 && b->runs == 1);
}

static void test_a_captured_node_that_also_runs_gives_both() {
  Tensor x = leaf();
  Ref<Toy> low = node({gradient_edge(x)}, scale(2)), high = node({edge(low)}, scale(3));
  auto got = run(high, vec(1), {.accumulate_grad = false}, {edge(low), gradient_edge(x), edge(high)});
  CHECK(first(got[0]) == 3 && first(got[1]) == 6 && first(got[2]) == 1);
}

static void test_topological_pruning_does_not_visit_below_what_is_wanted() {
  Tensor x = leaf();
  std::vector<Ref<Toy>> chain{node({gradient_edge(x)}, scale(1))};
  for (int i = 0; i < 100; i++) chain.push_back(node({edge(chain.back())}, scale(1)));
  Ref<Toy> wanted = chain[98];
  int64_t claimed = -1;
  chain[100]->make_extra();
  Ref<Toy> top = node({edge(chain[100])}, [&](Grads in, Grads out) {
    claimed = static_cast<int64_t>(current_graph_task->nodes.size());
    out[0] = in[0];
  });
  auto got = run(top, vec(1), {.keep_graph = true, .accumulate_grad = false}, {edge(wanted)});
  CHECK(first(got[0]) == 1);
  CHECK(claimed <= 5);  // top, 100, 99, 98 and the pruned 97
  CHECK(slot_is_free(chain[97]));
}

// Release.

static void test_release_unless_the_graph_is_kept() {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, scale(2));
  run(a, vec(1), {.keep_graph = true});
  CHECK(a->released == 0);
  run(a, vec(1));
  CHECK(a->released == 1);
  CHECK(first(grad_of(x)) == 4);  // the second pass added to it
}

static void test_accumulation_takes_over_a_gradient_nobody_else_holds() {
  Tensor x = leaf();
  const void* made = nullptr;
  run(node({gradient_edge(x)},
           [&](Grads in, Grads out) {
             out[0] = times(in[0], 2);
             made = out[0].data();
           }),
      vec(1));
  CHECK(grad_of(x).data() == made);
  Tensor held = vec(1);
  Tensor y = leaf();
  run(node({gradient_edge(y)}, [&](Grads, Grads out) { out[0] = held; }), vec(1));
  CHECK(grad_of(y).data() != held.data());
}

static void test_the_graph_keeps_its_leaves_and_frees_them() {
  int64_t before = Toy::alive;
  Ref<Toy> a;
  TensorImpl* impl;
  {
    Tensor x = leaf();
    impl = x.impl();
    a = node({gradient_edge(x)}, scale(1));
    CHECK(impl->use_count() == 2);
  }
  CHECK(impl->use_count() == 1);
  run(a, vec(1));
  a.reset();
  CHECK(Toy::alive == before);
}

// Errors.

static void test_an_exception_leaves_the_graph_usable() {
  Tensor x = leaf(), y = leaf();
  bool fail = true;
  Ref<Toy> fine = node({gradient_edge(y)}, scale(1), {.inputs = 2});
  Ref<Toy> bad = node({gradient_edge(x)}, [&](Grads in, Grads out) {
    UT_CHECK(!fail, "toy failure");
    out[0] = in[0];
  });
  Ref<Toy> top = node({edge(fine, 0), edge(fine, 1), edge(bad)}, scale(1));
  CHECK(throws([&] { run(top, vec(1), {.keep_graph = true}); }, "toy failure"));
  CHECK(slot_is_free(fine) && slot_is_free(bad) && slot_is_free(top));
  CHECK(current_graph_task == nullptr && current_node == nullptr && grad_enabled());
  fail = false;
  Tensor gx = grad_of(x), gy = grad_of(y);
  float old_x = gx.defined() ? first(gx) : 0, old_y = gy.defined() ? first(gy) : 0;
  run(top, vec(1), {.keep_graph = true});
  CHECK(first(grad_of(x)) == old_x + 1 && first(grad_of(y)) == old_y + 1);
}

static void test_gradients_of_the_wrong_shape_raise() {
  Tensor x = leaf(0, 3);
  Ref<Toy> a = node({gradient_edge(x)}, [](Grads, Grads out) { out[0] = vec(1, 2); }, {.name = "ToyBackward"});
  CHECK(throws([&] { run(a, vec(1)); }, "Function ToyBackward returned an invalid gradient at index 0"));
  CHECK(!grad_of(x).defined());
  CHECK(throws([&] { run(a, vec(1, 5)); }, "grad_outputs[0]"));
}

static void test_gradients_of_broadcast_operands_are_summed() {
  Tensor x = leaf(0, 1);
  run(node({gradient_edge(x)}, [](Grads, Grads out) { out[0] = vec(1, 7); }), vec(1));
  CHECK(grad_of(x).numel() == 1 && first(grad_of(x)) == 7);
}

static void test_an_error_node_raises_when_reached() {
  Tensor x = leaf();
  auto error = Ref<Node>::adopt(new ErrorNode("lost its derivative"));
  error->add_input(vec(1));
  error->finish_recording();
  Ref<Toy> top = node({Edge{error, 0}, gradient_edge(x)}, scale(1));
  CHECK(throws([&] { run(top, vec(1)); }, "lost its derivative"));
}

// Reentrancy and callbacks.

static int depth_reached = 0;
static void descend(int left) {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, [left](Grads in, Grads out) {
    depth_reached = std::max(depth_reached, current_graph_task->reentrant_depth);
    if (left > 0) descend(left - 1);
    out[0] = times(in[0], 2);
  });
  run(a, vec(1));
  CHECK(first(grad_of(x)) == 2);
}

static void test_passes_nest_beyond_the_stack_limit() {
  depth_reached = 0;
  descend(200);
  CHECK(depth_reached == 200);
  CHECK(current_graph_task == nullptr);
}

static void test_an_error_deep_inside_comes_out() {
  std::function<void(int)> dig = [&](int left) {
    Tensor x = leaf();
    run(node({gradient_edge(x)},
             [&](Grads, Grads) {
               UT_CHECK(left > 0, "rock bottom");
               dig(left - 1);
             }),
        vec(1));
  };
  CHECK(throws([&] { dig(130); }, "rock bottom"));
  CHECK(current_graph_task == nullptr && grad_enabled());
}

static void test_a_reentrant_pass_over_the_running_graph() {
  // The inner pass reaches nodes whose slots the outer one owns, so it keeps its counts in a map.
  Tensor x = leaf();
  Ref<Toy> low = node({gradient_edge(x)}, scale(2));
  bool inner = false;
  Ref<Toy> top;
  Ref<Toy> middle = node({edge(low)}, [&](Grads in, Grads out) {
    if (!inner) {
      inner = true;
      run(top, vec(1), {.keep_graph = true});
    }
    out[0] = in[0];
  });
  top = node({edge(middle), edge(low)}, scale(1));
  run(top, vec(1), {.keep_graph = true});
  CHECK(first(grad_of(x)) == 8);
  CHECK(slot_is_free(low) && slot_is_free(middle) && slot_is_free(top));
}

static void test_callbacks_run_in_order_after_the_pass() {
  std::vector<std::string> log;
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, [&](Grads in, Grads out) {
    engine::queue_callback([&] {
      log.push_back("one");
      CHECK(grad_of(x).defined());
      engine::queue_callback([&] { log.push_back("three"); });
    });
    engine::queue_callback([&] { log.push_back("two"); });
    out[0] = in[0];
    log.push_back("apply");
  });
  run(a, vec(1));
  CHECK((log == std::vector<std::string>{"apply", "one", "two", "three"}));
  CHECK(throws([] { engine::queue_callback([] {}); }, "Final callbacks can only be installed during backward pass."));
}

static void test_grad_mode_follows_create_graph() {
  Tensor x = leaf();
  std::vector<bool> modes;
  Ref<Toy> a = node({gradient_edge(x)}, [&](Grads in, Grads out) {
    modes.push_back(grad_enabled());
    out[0] = in[0];
  });
  run(a, vec(1), {.keep_graph = true});
  run(a, vec(1), {.keep_graph = true, .create_graph = true});
  CHECK((modes == std::vector<bool>{false, true}));
  CHECK(engine::current_graph_task_id() == -1 && engine::is_checkpoint_valid());
  Ref<Toy> b = node({edge(a)}, [&](Grads in, Grads out) {
    CHECK(!engine::is_checkpoint_valid() && engine::current_graph_task_id() >= 0);
    out[0] = in[0];
  });
  run(b, vec(1), {.accumulate_grad = false}, {gradient_edge(x)});
}

int main() {
  test_a_chain_multiplies();
  test_a_diamond_runs_its_join_once_after_both_sides();
  test_several_edges_into_one_input_are_summed();
  test_a_gradient_sent_along_two_edges_is_not_doubled_in_place();
  test_a_node_of_two_outputs_sees_what_arrived_where();
  test_undefined_gradients_travel();
  test_an_empty_edge_drops_its_gradient();
  test_hooks_run_in_their_order();
  test_retain_grad_keeps_what_hooks_made_of_it();
  test_a_hook_may_remove_itself();
  test_captures_return_gradients_and_accumulate_nothing();
  test_an_input_outside_the_graph_gets_nothing();
  test_inputs_filter_what_runs_and_accumulates();
  test_a_captured_node_that_also_runs_gives_both();
  test_topological_pruning_does_not_visit_below_what_is_wanted();
  test_release_unless_the_graph_is_kept();
  test_accumulation_takes_over_a_gradient_nobody_else_holds();
  test_the_graph_keeps_its_leaves_and_frees_them();
  test_an_exception_leaves_the_graph_usable();
  test_gradients_of_the_wrong_shape_raise();
  test_gradients_of_broadcast_operands_are_summed();
  test_an_error_node_raises_when_reached();
  test_passes_nest_beyond_the_stack_limit();
  test_an_error_deep_inside_comes_out();
  test_a_reentrant_pass_over_the_running_graph();
  test_callbacks_run_in_order_after_the_pass();
  test_grad_mode_follows_create_graph();
  CHECK(Toy::alive == 0);
  return report("test_engine");
}
