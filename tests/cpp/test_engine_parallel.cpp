// test_engine_parallel.cpp: passes on several threads: CPU workers, device threads, and concurrent passes.
// Every result must be bitwise equal to that of one thread. Run it under -DUNDERTOW_SANITIZE=thread.
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

struct Workers {
  explicit Workers(int n) { engine::set_num_workers(n); }
  ~Workers() { engine::set_num_workers(1); }
};

static bool same_bits(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.nbytes() == b.nbytes() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.nbytes())) == 0;
}

// A graph of layers with random edges: sums of many floats of different magnitudes, so that another order of addition
// changes the bits. The same seed builds the same graph.
struct RandomGraph {
  std::vector<Tensor> leaves;
  std::vector<Ref<Toy>> nodes;
  Ref<Toy> root;

  explicit RandomGraph(uint32_t seed, int layers = 12, int width = 9) {
    std::mt19937 random(seed);
    auto draw = [&] {
      return std::ldexp(static_cast<float>(random() % 1000 + 1) / 997.0f, static_cast<int>(random() % 12) - 6);
    };
    std::vector<Edge> below;
    for (int i = 0; i < width; i++) {
      leaves.push_back(leaf(0, 5));
      below.push_back(gradient_edge(leaves.back()));
    }
    for (int l = 0; l < layers; l++) {
      std::vector<Edge> layer;
      for (int i = 0; i < width; i++) {
        std::vector<Edge> edges;
        std::vector<float> weights;
        for (int k = 0; k < 4; k++) {
          edges.push_back(below[random() % below.size()]);
          weights.push_back(draw());
        }
        nodes.push_back(node(edges,
                             [weights](Grads in, Grads out) {
                               if (!in[0].defined()) return;
                               for (size_t k = 0; k < out.size(); k++) {
                                 out[k] = times(in[0], weights[k]);
                                 for (int64_t j = 0; j < out[k].numel(); j++)
                                   out[k].data_as<float>()[j] *= 1.0f + 0.001f * static_cast<float>(j);
                               }
                             },
                             {.size = 5}));
        layer.push_back(edge(nodes.back()));
      }
      below = layer;
    }
    root = node(below, scale(1.1f), {.size = 5});
  }
  std::vector<Tensor> gradients() {
    std::vector<Tensor> out;
    for (Tensor& t : leaves) {
      out.push_back(grad_of(t));
      set_grad(t, {});
    }
    return out;
  }
};

static void test_workers_give_the_same_bits() {
  for (uint32_t seed = 0; seed < 10; seed++) {
    RandomGraph graph(seed);
    run(graph.root, vec(1, 5), {.keep_graph = true});
    std::vector<Tensor> alone = graph.gradients();
    for (int n : {2, 4}) {
      Workers workers(n);
      for (int round = 0; round < 3; round++) {
        run(graph.root, vec(1, 5), {.keep_graph = true});
        std::vector<Tensor> together = graph.gradients();
        for (size_t i = 0; i < alone.size(); i++)
          CHECK(alone[i].defined() == together[i].defined() &&
                (!alone[i].defined() || same_bits(alone[i], together[i])));
      }
    }
    for (auto& n : graph.nodes) CHECK(slot_is_free(n));
  }
}

static void test_workers_capture_and_filter_like_one_thread() {
  RandomGraph graph(77);
  std::vector<Edge> wanted{gradient_edge(graph.leaves[0]), edge(graph.nodes[30]), gradient_edge(graph.leaves[4])};
  auto alone = run(graph.root, vec(1, 5), {.keep_graph = true, .accumulate_grad = false}, wanted);
  Workers workers(4);
  auto together = run(graph.root, vec(1, 5), {.keep_graph = true, .accumulate_grad = false}, wanted);
  for (size_t i = 0; i < wanted.size(); i++)
    CHECK(alone[i].defined() == together[i].defined() && (!alone[i].defined() || same_bits(alone[i], together[i])));
  for (const Tensor& t : graph.leaves) CHECK(!grad_of(t).defined());
}

static void test_independent_branches_run_on_several_threads() {
  Workers workers(2);
  Tensor x = leaf(), y = leaf();
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  auto meet = [&](Grads in, Grads out) {
    inside++;
    for (int i = 0; i < 200000 && !met; i++) {
      if (inside == 2) met = true;
      std::this_thread::yield();
    }
    out[0] = in[0];
  };
  Ref<Toy> a = node({gradient_edge(x)}, meet), b = node({gradient_edge(y)}, meet);
  run(node({edge(a), edge(b)}, scale(1)), vec(1));
  CHECK(met);
}

static void test_an_exception_in_a_worker_reaches_the_caller() {
  Workers workers(3);
  RandomGraph graph(5);
  Ref<Toy> bad = node({edge(graph.nodes[3])}, [](Grads, Grads) { UT_FAIL("worker failed"); }, {.size = 5});
  Ref<Toy> top = node({edge(graph.root), edge(bad)}, scale(1), {.size = 5});
  for (int round = 0; round < 20; round++)
    CHECK(throws([&] { run(top, vec(1, 5), {.keep_graph = true}); }, "worker failed"));
  CHECK(slot_is_free(graph.root) && slot_is_free(graph.nodes[3]));
  graph.gradients();
  run(graph.root, vec(1, 5), {.keep_graph = true});
  CHECK(grad_of(graph.leaves[0]).defined() || grad_of(graph.leaves[1]).defined());
}

static void test_a_reentrant_pass_inside_a_worker() {
  Workers workers(3);
  Tensor x = leaf(), y = leaf();
  auto nested = [](Grads in, Grads out) {
    Tensor z = leaf();
    Ref<Toy> inner = node({gradient_edge(z), gradient_edge(z)}, scale(1));
    run(inner, vec(1));
    CHECK(first(grad_of(z)) == 2);
    out[0] = in[0];
  };
  Ref<Toy> a = node({gradient_edge(x)}, nested), b = node({gradient_edge(y)}, nested);
  run(node({edge(a), edge(b)}, scale(1)), vec(1));
  CHECK(first(grad_of(x)) == 1 && first(grad_of(y)) == 1);
}

static void test_callbacks_of_workers_run_once_each() {
  Workers workers(4);
  std::atomic<int> called{0};
  std::vector<Edge> edges;
  Tensor x = leaf();
  for (int i = 0; i < 16; i++)
    edges.push_back(edge(node({gradient_edge(x)}, [&](Grads in, Grads out) {
      engine::queue_callback([&] { called++; });
      out[0] = in[0];
    })));
  run(node(edges, scale(1)), vec(1));
  CHECK(called == 16 && first(grad_of(x)) == 16);
}

// Devices. Toy tensors are marked as being on another device; their memory is on the CPU.

static constexpr Device device_nr(int nr) { return nr ? Device{DeviceType::CUDA, static_cast<int8_t>(nr)} : Device{}; }
static Tensor on_device(Tensor t, int nr) {
  t.impl()->set_device(device_nr(nr));
  return t;
}

static void test_each_device_has_a_thread_of_its_own() {
  Tensor x = leaf();
  std::mutex mutex;  // guards where
  std::map<std::string, std::thread::id> where;
  auto note = [&](const char* name, int next_device) {
    return [&, name, next_device](Grads in, Grads out) {
      {
        std::lock_guard lock(mutex);
        where[name] = std::this_thread::get_id();
      }
      for (Tensor& g : out) g = on_device(times(in[0], 2), next_device);
    };
  };
  Ref<Toy> bottom = node({gradient_edge(x)}, note("cpu low", 0));
  Ref<Toy> far1 = node({edge(bottom)}, note("device 1", 0), {.device = device_nr(1)});
  Ref<Toy> near1 = node({edge(far1)}, note("device 1 again", 1), {.device = device_nr(1)});
  Ref<Toy> near2 = node({edge(bottom)}, note("device 2", 0), {.device = device_nr(2)});
  Ref<Toy> to1 = node({edge(near1)}, note("cpu a", 1)), to2 = node({edge(near2)}, note("cpu b", 2));
  Ref<Toy> top = node({edge(to1), edge(to2)}, note("top", 0));
  run(top, vec(1), {.keep_graph = true});
  auto here = std::this_thread::get_id();
  CHECK(where["top"] == here && where["cpu a"] == here && where["cpu b"] == here && where["cpu low"] == here);
  CHECK(where["device 1"] != here && where["device 1"] == where["device 1 again"]);
  CHECK(where["device 2"] != here && where["device 2"] != where["device 1"]);
  CHECK(first(grad_of(x)) == 32 + 16);
  for (auto& n : {bottom, far1, near1, near2, to1, to2, top}) CHECK(slot_is_free(n));
}

static void test_a_failing_device_node_ends_the_pass() {
  Tensor x = leaf();
  Ref<Toy> bad = node({gradient_edge(x)}, [](Grads, Grads) { UT_FAIL("device failed"); }, {.device = device_nr(1)});
  Ref<Toy> top = node({edge(bad)}, [](Grads in, Grads out) { out[0] = on_device(times(in[0], 1), 1); });
  CHECK(throws([&] { run(top, vec(1), {.keep_graph = true}); }, "device failed"));
  CHECK(slot_is_free(bad) && slot_is_free(top) && current_graph_task == nullptr);
}

// Concurrent passes.

static void test_two_threads_run_backward_over_one_graph() {
  RandomGraph graph(11);
  run(graph.root, vec(1, 5), {.keep_graph = true});
  std::vector<Tensor> once = graph.gradients();
  std::vector<Edge> wanted;
  for (Tensor& t : graph.leaves) wanted.push_back(gradient_edge(t));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; round++) {
        auto got = run(graph.root, vec(1, 5), {.keep_graph = true, .accumulate_grad = false}, wanted);
        for (size_t k = 0; k < got.size(); k++)
          CHECK(got[k].defined() == once[k].defined() && (!got[k].defined() || same_bits(got[k], once[k])));
      }
    });
  for (auto& t : threads) t.join();
  for (auto& n : graph.nodes) CHECK(slot_is_free(n));
}

static void test_threads_with_a_common_leaf_lose_no_gradient() {
  Tensor x = leaf();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int round = 0; round < 500; round++) run(node({gradient_edge(x)}, scale(1)), vec(1));
    });
  for (auto& t : threads) t.join();
  CHECK(first(grad_of(x)) == 2000);
  CHECK(x.impl()->use_count() == 1);
}

static void test_switching_threads_off_keeps_the_pass_here() {
  Workers workers(4);
  engine::set_multithreading_enabled(false);
  std::set<std::thread::id> ids;
  Tensor x = leaf();
  std::vector<Edge> edges;
  for (int i = 0; i < 8; i++)
    edges.push_back(edge(node({gradient_edge(x)}, [&](Grads in, Grads out) {
      ids.insert(std::this_thread::get_id());
      out[0] = in[0];
    })));
  run(node(edges, scale(1)), vec(1));
  engine::set_multithreading_enabled(true);
  CHECK(ids.size() == 1 && *ids.begin() == std::this_thread::get_id());
}

int main() {
  test_workers_give_the_same_bits();
  test_workers_capture_and_filter_like_one_thread();
  test_independent_branches_run_on_several_threads();
  test_an_exception_in_a_worker_reaches_the_caller();
  test_a_reentrant_pass_inside_a_worker();
  test_callbacks_of_workers_run_once_each();
  test_each_device_has_a_thread_of_its_own();
  test_a_failing_device_node_ends_the_pass();
  test_two_threads_run_backward_over_one_graph();
  test_threads_with_a_common_leaf_lose_no_gradient();
  test_switching_threads_off_keeps_the_pass_here();
  CHECK(Toy::alive == 0);
  return report("test_engine_parallel");
}
