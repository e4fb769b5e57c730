// graph_draws.cpp: what a captured graph draws from a generator; see Note [Random Numbers In Graphs].
#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/random/philox_stream.h"
#include "core/kernels/cuda/runtime/allocator.h"
#include "core/kernels/cuda/runtime/graph.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate set_range("random/graph_draws.cuh", "set_range<>");

class GraphDraws final : public ReplayInput {
 public:
  // The memory belongs to the graph's pool until the graph is gone.
  GraphDraws(std::shared_ptr<PhiloxState> state, int device)
      : state_(std::move(state)), device_(device), range_(static_cast<uint64_t*>(allocate(16, device))) {}
  ~GraphDraws() override { deallocate(range_, device_); }
  void before_replay() override {
    const undertow::PhiloxRange range = state_->reserve(blocks_);
    Launcher(device_).run(set_range, {}, {.threads = 1}, range_, range.seed, range.offset);
  }
  bool is_of(const PhiloxState* state) const { return state_.get() == state; }
  undertow::PhiloxRange reserve(int64_t blocks) {
    undertow::PhiloxRange range{0, blocks_, range_};
    blocks_ += static_cast<uint64_t>(blocks);
    return range;
  }

 private:
  std::shared_ptr<PhiloxState> state_;
  int device_;
  uint64_t* range_;      // on the device: seed, first counter
  uint64_t blocks_ = 0;  // counters of one replay
};

}  // namespace

undertow::PhiloxRange reserve(Generator& g, int64_t blocks, int device) {
  std::lock_guard lock(g.mutex);
  const std::shared_ptr<PhiloxState>& state = static_cast<PhiloxStream&>(*g.stream).state();
  CapturedGraph* graph = graph_under_capture(device);
  if (!graph) return state->reserve(static_cast<uint64_t>(blocks));
  for (const auto& input : graph->inputs)
    if (auto* draws = dynamic_cast<GraphDraws*>(input.get()); draws && draws->is_of(state.get()))
      return draws->reserve(blocks);
  auto draws = std::make_unique<GraphDraws>(state, device);
  GraphDraws& added = *draws;
  graph->inputs.push_back(std::move(draws));
  return added.reserve(blocks);
}

}  // namespace undertow::core::cuda
