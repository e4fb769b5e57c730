// test_engine_long.cpp: graphs too long for any recursion: built, differentiated, planned and freed.
#include <cstdlib>
#include <thread>

#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

// Under a sanitizer, a node costs a hundred times more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLong = 100'000;
#else
constexpr int kLong = 1'000'000;
#endif

static Ref<Toy> long_chain(const Tensor& x, int n) {
  Ref<Toy> top = node({gradient_edge(x)}, scale(1));
  for (int i = 1; i < n; i++) top = node({edge(top)}, [](Grads in, Grads out) { out[0] = in[0]; });
  return top;
}

static void test_a_long_chain_is_freed_without_recursion() {
  Tensor x = leaf();
  Ref<Toy> top = long_chain(x, kLong);
  CHECK(Toy::alive == kLong);
  top.reset();
  CHECK(Toy::alive == 0 && x.impl()->use_count() == 1);
}

static void test_a_long_chain_is_differentiated() {
  Tensor x = leaf();
  Ref<Toy> top = long_chain(x, kLong);
  run(top, vec(3), {.keep_graph = true});
  CHECK(first(grad_of(x)) == 3);
  // Planning for chosen inputs also walks the graph.
  auto got = run(top, vec(4), {.keep_graph = true, .accumulate_grad = false}, {gradient_edge(x)});
  CHECK(first(got[0]) == 4);
}

static void test_a_long_chain_with_workers() {
  Tensor x = leaf();
  Ref<Toy> top = long_chain(x, kLong / 10);
  engine::set_num_workers(2);
  run(top, vec(3));
  engine::set_num_workers(1);
  CHECK(first(grad_of(x)) == 3);
}

static void test_a_long_chain_dies_on_another_thread() {
  Tensor x = leaf();
  Ref<Toy> top = long_chain(x, kLong);
  std::thread([&] { top.reset(); }).join();
  CHECK(Toy::alive == 0);
}

// Tensors own nodes and nodes own saved tensors: the kind of chain that real destruction has to handle.
static void test_a_chain_through_saved_tensors_is_freed() {
  struct Saver final : NodeWithEdges<1> {
    Tensor kept;
    UT_NODE_MEMORY(Saver)
    void apply(Grads in, Grads out) override { out[0] = in[0]; }
    std::string name() const override { return "Saver"; }
  };
  Tensor x = leaf();
  for (int i = 0; i < kLong; i++) {
    auto* saver = new Saver;
    auto ref = Ref<Node>::adopt(saver);
    saver->edges()[0] = gradient_edge(x);
    saver->kept = x;
    saver->finish_recording();
    Tensor y = vec(1);
    set_history(y, ref);
    x = y;
  }
  x.reset();
}

static void test_a_wide_node_frees_and_runs() {
  Tensor x = leaf();
  std::vector<Edge> edges;
  for (int i = 0; i < 60'000; i++)
    edges.push_back(edge(node({gradient_edge(x)}, [](Grads in, Grads out) { out[0] = in[0]; })));
  Ref<Toy> top = node(edges, [](Grads in, Grads out) {
    for (Tensor& g : out) g = in[0];
  });
  edges.clear();
  run(top, vec(1));
  CHECK(first(grad_of(x)) == 60'000);
}

int main() {
  test_a_long_chain_is_freed_without_recursion();
  test_a_long_chain_is_differentiated();
  test_a_long_chain_with_workers();
  test_a_long_chain_dies_on_another_thread();
  test_a_chain_through_saved_tensors_is_freed();
  test_a_wide_node_frees_and_runs();
  CHECK(Toy::alive == 0);
  return report("test_engine_long");
}
