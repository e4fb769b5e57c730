// test_trace.cpp: the trace of passes on toy nodes: what is counted, and that threads may record while another reads.
#include <atomic>
#include <map>
#include <thread>

#include "core/graph/diagnostics/trace_reader.h"
#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

// A diamond: four nodes and a leaf, four edges between nodes and one to the leaf.
static Ref<Toy> diamond(const Tensor& x) {
  Ref<Toy> bottom = node({gradient_edge(x)}, scale(1), {.name = "bottom"});
  Ref<Toy> left = node({edge(bottom)}, scale(2)), right = node({edge(bottom)}, scale(3));
  return node({edge(left), edge(right)}, scale(1), {.name = "top"});
}

static std::map<TraceEvent, int> counted(const trace::Batch& b) {
  std::map<TraceEvent, int> found;
  for (const trace::EventInfo& e : b.events) found[e.event]++;
  return found;
}

static void test_a_pass_has_each_event_once_per_node_and_edge() {
  Tensor x = leaf();
  int recording = trace::start({});
  run(diamond(x), vec(1));
  trace::Batch b = trace::read(recording, {.end = true});
  CHECK(b.nodes.size() == 5 && b.edges.size() == 5 && b.passes.size() == 1);
  auto found = counted(b);
  CHECK(found[TraceEvent::Started] == 5 && found[TraceEvent::Finished] == 5 && found[TraceEvent::Ready] == 5);
  CHECK(found[TraceEvent::Arrived] == 5 && found[TraceEvent::Accumulated] == 1);
  CHECK(b.nodes[static_cast<size_t>(b.passes[0].root)].name->compare("top") == 0);
  for (size_t i = 1; i < b.events.size(); i++) CHECK(b.events[i - 1].time_ns <= b.events[i].time_ns);
  CHECK(!trace::on() && trace::read(recording, {.end = true}).events.empty());
}

static void test_reading_in_parts_gives_each_event_once() {
  Tensor x = leaf();
  int recording = trace::start({});
  run(diamond(x), vec(1));
  trace::Batch first = trace::read(recording, {});
  Ref<Toy> again = diamond(x);
  run(again, vec(1));
  trace::Batch second = trace::read(recording, {}), rest = trace::read(recording, {.end = true});
  CHECK(first.events.size() == second.events.size() && rest.events.empty());
  CHECK(second.nodes.size() == 4);  // the leaf is known
  auto accumulated = [](const trace::Batch& b) {
    for (const trace::EventInfo& e : b.events)
      if (e.event == TraceEvent::Accumulated) return e.node;
    return -1;
  };
  CHECK(accumulated(first) >= 0 && accumulated(first) == accumulated(second));
}

static void test_each_recording_sees_what_comes_after_its_start() {
  Tensor x = leaf();
  int first = trace::start({});
  run(diamond(x), vec(1));
  int second = trace::start({});
  run(diamond(x), vec(1));
  CHECK(trace::read(first, {.end = true}).passes.size() == 2);  // they may end in any order
  run(diamond(x), vec(1));
  CHECK(trace::read(second, {.end = true}).passes.size() == 2);
}

static void test_a_full_recording_drops_what_comes_later() {
  Tensor x = leaf();
  int recording = trace::start({.most_events = 4});
  run(diamond(x), vec(1));
  run(diamond(x), vec(1));
  trace::Batch b = trace::read(recording, {.end = true});
  CHECK(b.events.size() == 4 && b.dropped && b.passes.size() == 1);
}

// Threads record passes while this one reads: every event is read once, and belongs to a node that is known.
static void test_threads_record_while_another_reads() {
  constexpr int kThreads = 4, kPasses = 50;
  int recording = trace::start({});
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&running] {
      Tensor x = leaf();
      for (int i = 0; i < kPasses; i++) run(diamond(x), vec(1));
      running--;
    });
  size_t passes = 0, nodes = 0;
  std::map<TraceEvent, int> found;
  auto take = [&](bool end) {
    trace::Batch b = trace::read(recording, {.end = end});
    passes += b.passes.size();
    nodes += b.nodes.size();
    for (const trace::EventInfo& e : b.events) {
      found[e.event]++;
      CHECK(e.node >= 0 && static_cast<size_t>(e.node) < nodes);
    }
  };
  while (running > 0) take(false);
  for (auto& t : threads) t.join();
  take(true);
  CHECK(passes == kThreads * kPasses);
  CHECK(found[TraceEvent::Finished] == 5 * kThreads * kPasses && found[TraceEvent::Arrived] == 5 * kThreads * kPasses);
}

int main() {
  test_a_pass_has_each_event_once_per_node_and_edge();
  test_reading_in_parts_gives_each_event_once();
  test_each_recording_sees_what_comes_after_its_start();
  test_a_full_recording_drops_what_comes_later();
  test_threads_record_while_another_reads();
  CHECK(Toy::alive == 0);
  return report("test_trace");
}
