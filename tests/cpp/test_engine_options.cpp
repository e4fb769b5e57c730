// test_engine_options.cpp: options of a pass: how terms are summed, where gradients stop, and when captures are
// reported.
#include <cmath>
#include <string>

#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

// Records the calls; values are first elements.
class Notes final : public CaptureSink {
 public:
  explicit Notes(std::vector<std::string>& log) : log_(log) {}
  void captured(size_t index, Tensor grad) override {
    log_.push_back("captured " + std::to_string(index) + (grad.defined() ? "" : " nothing"));
  }
  void between_nodes() override { log_.push_back("-"); }

 private:
  std::vector<std::string>& log_;
};

// A node that sends each of `terms` into `to` along an edge of its own, the first edge first.
static Ref<Toy> sends(const Edge& to, std::vector<float> terms) {
  std::vector<Edge> edges(terms.size(), to);
  return node(edges, [terms](Grads in, Grads out) {
    for (size_t i = 0; i < terms.size(); i++) out[i] = times(in[0], terms[i]);
  });
}

static float summed(std::vector<float> terms, Aggregation how, int workers) {
  engine::set_num_workers(workers);
  Tensor x = leaf();
  ExecuteOptions options{.accumulate_grad = false};
  options.aggregation = how;
  Ref<Toy> a = node({gradient_edge(x)}, scale(1)), top = sends(edge(a), terms);
  float got = first(run(top, vec(1), options, {gradient_edge(x)})[0]);
  CHECK(slot_is_free(a) && slot_is_free(top));
  engine::set_num_workers(1);
  return got;
}

static void test_terms_are_summed_in_the_way_chosen() {
  const float big = 16777216;  // 2^24: adding 1 changes nothing
  for (int workers : {1, 3}) {
    CHECK(summed({big, 1, 1, 1}, Aggregation::AsTheyArrive, workers) == big);
    CHECK(summed({big, 1, 1, 1}, Aggregation::AddN, workers) == big);
    CHECK(summed({big, 1, 1, 1}, Aggregation::Tree, workers) == big + 2);
    CHECK(summed({1, 1, 1, big, 1}, Aggregation::Tree, workers) == big + 4);  // ((1 + 1) + (1 + big)) + 1, to even
    for (Aggregation how : {Aggregation::AsTheyArrive, Aggregation::AddN, Aggregation::Tree}) {
      CHECK(summed({3}, how, workers) == 3);
      CHECK(summed({1, 2, 4, 8, 16, 32, 64}, how, workers) == 127);
    }
  }
}

static void test_each_input_of_a_node_has_its_own_sum() {
  for (Aggregation how : {Aggregation::AddN, Aggregation::Tree}) {
    Tensor x = leaf();
    Ref<Toy> two =
        node({gradient_edge(x)}, [](Grads in, Grads out) { out[0] = times(in[0], first(in[1])); }, {.inputs = 2});
    Ref<Toy> top = node({edge(two, 0), edge(two, 1), edge(two, 0), edge(two, 1)}, scale(1));
    ExecuteOptions options{.accumulate_grad = false};
    options.aggregation = how;
    CHECK(first(run(top, vec(1), options, {gradient_edge(x)})[0]) == 4);
  }
}

static void test_nothing_waits_after_a_failure() {
  Tensor x = leaf();
  Ref<Toy> a = node({gradient_edge(x)}, [](Grads, Grads) { UT_FAIL("broken"); });
  Ref<Toy> top = sends(edge(a), {1, 2, 3});
  ExecuteOptions options{.keep_graph = true, .accumulate_grad = false};
  options.aggregation = Aggregation::AddN;
  CHECK(throws([&] { run(top, vec(1), options, {gradient_edge(x)}); }, "broken"));
  CHECK(slot_is_free(a) && slot_is_free(top));
}

static void test_a_sink_is_told_inside_the_pass_and_between_nodes() {
  std::vector<std::string> log;
  Tensor x = leaf(), y = leaf(), z = leaf();
  auto noting = [&](const char* name) {
    return [&log, name](Grads in, Grads out) {
      log.push_back(name);
      scale(1)(in, out);
    };
  };
  Ref<Toy> early = node({gradient_edge(z)}, noting("early"));
  Ref<Toy> late = node({gradient_edge(x), gradient_edge(y)}, noting("late"));
  Ref<Toy> top = node({edge(early), edge(late)}, noting("top"));
  Notes notes(log);
  ExecuteOptions options{.accumulate_grad = false};
  options.sink = &notes;
  options.one_thread = true;
  run(top, vec(1), options, {gradient_edge(z), gradient_edge(x), gradient_edge(y)});
  CHECK((log == std::vector<std::string>{"-", "top", "-", "late", "captured 1", "captured 2", "-", "early",
                                         "captured 0", "-"}));
  CHECK(!grad_of(x).defined());
}

static void test_a_stop_is_captured_and_goes_no_further() {
  for (int workers : {1, 3}) {
    engine::set_num_workers(workers);
    Tensor x = leaf();
    Ref<Toy> below = node({gradient_edge(x)}, scale(7)), stop = node({edge(below)}, scale(5));
    Ref<Toy> beside = node({edge(below)}, scale(2));
    Ref<Toy> top = node({edge(stop), edge(beside), gradient_edge(x)}, scale(1));
    std::vector<Edge> stops{edge(stop)};
    ExecuteOptions options{.keep_graph = true, .accumulate_grad = false};
    options.stops = stops;
    std::vector<Tensor> got = run(top, vec(1), options, {gradient_edge(x), edge(stop)});
    CHECK(first(got[0]) == 15 && first(got[1]) == 1 && stop->runs == 0);  // 1 + 2 * 7
    std::vector<Edge> all{edge(stop), edge(beside)};
    options.stops = all;
    got = run(top, vec(1), options, {gradient_edge(x)});
    CHECK(first(got[0]) == 1 && below->runs == 1);  // nothing reached it this time
    std::vector<Edge> root{edge(top)};
    options.stops = root;
    CHECK(!run(top, vec(1), options, {gradient_edge(x)})[0].defined());
    CHECK(slot_is_free(below) && slot_is_free(stop) && slot_is_free(top));
  }
  engine::set_num_workers(1);
}

int main() {
  test_terms_are_summed_in_the_way_chosen();
  test_each_input_of_a_node_has_its_own_sum();
  test_nothing_waits_after_a_failure();
  test_a_sink_is_told_inside_the_pass_and_between_nodes();
  test_a_stop_is_captured_and_goes_no_further();
  CHECK(Toy::alive == 0);
  return report("test_engine_options");
}
