// trace_reader.cpp: see trace_reader.h.
// build: small
#include "core/graph/diagnostics/trace_reader.h"

#include <algorithm>
#include <map>

#include "core/graph/diagnostics/trace_lists.h"

namespace undertow::core::trace {

namespace {

struct Key {  // what identifies a node while it may have been freed; see Note [Recording A Pass]
  const Node* node;
  uint64_t sequence;
  uint64_t leaf_or_depth;  // the leaf's number, or the topological number
  bool operator==(const Key&) const = default;
};
struct HashKey {
  size_t operator()(const Key& k) const {
    return reinterpret_cast<size_t>(k.node) * 0x9E3779B97F4A7C15u ^
           (k.sequence * 0xC2B2AE3D27D4EB4Fu + k.leaf_or_depth);
  }
};
struct Made {  // a Recorded event
  int32_t place, module;
  int64_t time_ns, thread;
};

// The new events of all threads in order of time. See EventList: nothing is copied, and no lock is held.
class NewEvents {
 public:
  // Continues at `next`, the number of events that were read of each lane.
  NewEvents(Lists& all, std::vector<size_t>& next, bool& dropped) {
    next.resize(all.lanes.size(), 0);
    for (size_t i = 0; i < all.lanes.size(); i++) {
      Lane& lane = *all.lanes[i];
      std::lock_guard lock(lane.mutex);
      dropped |= lane.dropped;
      size_t end = lane.events.size();
      if (next[i] < end) parts_.push_back({lane.events.chunks(), next[i], end, static_cast<uint32_t>(lane.thread)});
      count_ += end - next[i];
      next[i] = end;
    }
  }
  size_t count() const { return count_; }
  template <class Fn>
  void for_each(Fn fn) const {
    std::vector<Part> left = parts_;
    while (!left.empty()) {
      Part* first = &left[0];  // there are as many as threads that recorded since the last read: few
      for (Part& part : left)
        if (part.now().time_ns < first->now().time_ns) first = &part;
      fn(first->now(), first->thread);
      if (++first->next == first->end) left.erase(left.begin() + (first - left.data()));
    }
  }

 private:
  struct Part {
    std::vector<const RawEvent*> chunks;
    size_t next, end;
    uint32_t thread;
    const RawEvent& now() const { return chunks[next / EventList::kChunk][next % EventList::kChunk]; }
  };
  std::vector<Part> parts_;
  size_t count_ = 0;
};

class Reader {
 public:
  Batch update(Lists& all, const Lists::Start& start, ReadOptions options) {
    Batch out;
    if (is_first_) {
      next_event_ = start.events;
      next_pass_ = start.passes;
      is_first_ = false;
    }
    NewEvents fresh(all, next_event_, out.dropped);
    fresh.for_each([&](const RawEvent& e, uint32_t thread) {
      if (e.event == TraceEvent::Recorded)
        made_[{e.node, e.other, 0}] = {e.dependencies, e.slot, static_cast<int64_t>(e.time_ns), thread};
    });
    read_passes(all, out);
    std::vector<Waiting> waiting = std::move(waiting_);
    waiting_.clear();
    out.events.reserve(waiting.size() + fresh.count());
    auto take = [&](const RawEvent& e, uint32_t thread) {
      if (!resolve(e, thread, options.forward, out)) waiting_.push_back({e, thread});
    };
    for (const Waiting& w : waiting) take(w.raw, w.thread);
    fresh.for_each(take);
    if (options.end) out.unused_nodes = waiting_.size();
    for (RawPass& p : all.passes)
      if (!p.error.empty() && numbers_.contains(static_cast<uint32_t>(p.id))) out.errors.emplace_back(p.id, p.error);
    return out;
  }
  int32_t number(uint64_t pass, const Node* node) {
    Recent& recent = recent_[reinterpret_cast<size_t>(node) / 64 % std::size(recent_)];
    if (recent.node == node && recent.pass == pass) return recent.number;
    auto in = numbers_.find(static_cast<uint32_t>(pass));
    if (in == numbers_.end()) return -1;
    auto found = in->second.find(node);
    if (found == in->second.end()) return -1;
    recent = {node, pass, found->second};
    return found->second;
  }

 private:
  struct Waiting {  // a recorded operation whose node no pass has shown yet
    RawEvent raw;
    uint32_t thread;
  };
  struct Recent {  // the events of a node follow each other
    const Node* node = nullptr;
    uint64_t pass = 0;
    int32_t number = -1;
  };

  void read_passes(Lists& all, Batch& out) {
    for (; next_pass_ < all.passes.size(); next_pass_++) {
      const RawPass& p = all.passes[next_pass_];
      auto& numbers = numbers_[static_cast<uint32_t>(p.id)];
      numbers.reserve(p.nodes.size());
      known_.reserve(known_.size() + p.nodes.size());
      out.nodes.reserve(out.nodes.size() + p.nodes.size());
      std::vector<const RawNode*> fresh;
      for (const RawNode& n : p.nodes) {
        Key key{n.node, n.sequence, n.leaf ? n.leaf : n.topological};
        auto [at, is_new] = known_.emplace(key, count_);
        numbers.emplace(n.node, at->second);
        if (!made_.empty()) by_recording_.insert_or_assign(Key{n.made, n.made_sequence, 0}, at->second);
        if (is_new) {
          count_++;
          fresh.push_back(&n);
        }
      }
      storages_.clear();
      for (const RawNode* n : fresh) describe(p, *n, numbers, out);
      for (const auto& [node, function] : p.hooks) out.hooks.push_back({number(p.id, node), function});
      PassInfo info{p.id, p.outer, p.thread, p.depth, p.keep_graph, p.create_graph, p.accumulates, number(p.id, p.root),
                    {},   p.error};
      for (auto [node, nr] : p.captures) info.captures.emplace_back(number(p.id, node), nr);
      out.passes.push_back(std::move(info));
    }
  }

  void describe(const RawPass& p, const RawNode& n, const std::unordered_map<const Node*, int32_t>& numbers,
                Batch& out) {
    NodeInfo info;
    info.name = n.name;
    info.origin = n.origin;
    info.is_accumulate = n.leaf != 0;
    info.is_function = n.is_function;
    info.sequence = n.sequence;
    info.leaf = n.leaf;
    if (auto made = made_.find(Key{n.made, n.made_sequence, 0}); made != made_.end()) {
      info.place = made->second.place;
      info.module = made->second.module;
      info.time_ns = made->second.time_ns;
      info.thread = made->second.thread;
    }
    const uint64_t* at = p.data.data() + n.data;
    auto shape = [&at] {
      Shape s;
      uint64_t dtype = *at++;
      s.known = dtype != UINT64_MAX;
      if (s.known) s.dtype = static_cast<DType>(dtype);
      for (uint64_t i = *at++; i > 0; i--) s.sizes.push_back(static_cast<int64_t>(*at++));
      return s;
    };
    for (uint64_t i = *at++; i > 0; i--) info.inputs.push_back(shape());
    int32_t self = numbers.at(n.node);
    int32_t edges = static_cast<int32_t>(*at++);
    for (int32_t i = 0; i < edges; i++, at += 2) {
      auto next = numbers.find(reinterpret_cast<const Node*>(at[0]));
      if (next != numbers.end()) out.edges.push_back({self, i, next->second, static_cast<int32_t>(at[1])});
    }
    for (uint64_t i = *at++; i > 0; i--) {
      SavedTensorInfo s;
      s.name = reinterpret_cast<const char*>(*at++);
      s.shape = shape();
      s.bytes = *at++;
      uint64_t storage = *at++;
      s.storage = storage ? storages_.emplace(storage, storage_count_).first->second : -1;
      storage_count_ += s.storage == storage_count_;
      info.saved.push_back(std::move(s));
    }
    out.nodes.push_back(std::move(info));
  }

  // False if the event belongs to a node that no pass has shown yet.
  bool resolve(const RawEvent& e, uint32_t thread, bool forward, Batch& out) {
    if (e.event == TraceEvent::Recorded) {
      auto found = by_recording_.find({e.node, e.other, 0});
      if (found == by_recording_.end()) return false;
      if (forward)
        out.events.push_back({e.time_ns, e.memory, e.pass, thread, found->second, -1, -1, 0, TraceEvent::Recorded});
      return true;
    }
    int32_t other = -1;
    if (e.event == TraceEvent::Arrived)
      other = number(e.pass, reinterpret_cast<const Node*>(e.other));
    else if (e.event >= TraceEvent::Ready && e.event <= TraceEvent::PostHook && e.event != TraceEvent::Started)
      other = static_cast<int32_t>(e.other);
    int32_t node = e.node ? number(e.pass, e.node) : -1;
    out.events.push_back({e.time_ns, e.memory, e.pass, thread, node, other, e.slot, e.dependencies, e.event});
    return true;
  }

  bool is_first_ = true;
  std::vector<size_t> next_event_;  // per lane
  size_t next_pass_ = 0;
  int32_t count_ = 0;  // nodes
  int64_t storage_count_ = 0;
  std::unordered_map<Key, int32_t, HashKey> known_, by_recording_;
  std::unordered_map<Key, Made, HashKey> made_;
  std::unordered_map<uint32_t, std::unordered_map<const Node*, int32_t>> numbers_;  // by pass
  std::unordered_map<uint64_t, int64_t> storages_;                                  // of one pass
  std::vector<Waiting> waiting_;
  Recent recent_[256];
};

// One for each recording that has been read. Guarded by lists().mutex.
std::map<int, Reader>& readers() {
  static auto* all = new std::map<int, Reader>;  // leaked, like lists()
  return *all;
}

void forget_everything(Lists& all) {
  set_switch(kRecord, false);
  if (!all.lines_before) process_mode.fetch_and(~static_cast<uint32_t>(kSourceLines));
  all.passes.clear();
  std::erase_if(all.lanes, [](const auto& lane) { return lane.use_count() == 1; });  // its thread has ended
  for (auto& lane : all.lanes) {
    std::lock_guard lock(lane->mutex);
    lane->events = {};
    lane->dropped = false;
  }
}

}  // namespace

Batch read(int recording, ReadOptions options) {
  Lists& all = lists();
  std::lock_guard lock(all.mutex);
  auto start = all.recordings.find(recording);
  if (start == all.recordings.end()) return {};
  Batch out = readers()[recording].update(all, start->second, options);
  if (options.end) {
    readers().erase(recording);
    all.recordings.erase(start);
    if (all.recordings.empty()) forget_everything(all);
  }
  return out;
}

int32_t number_in_pass(int recording, uint64_t pass, const Node* node) {
  std::lock_guard lock(lists().mutex);
  auto reader = readers().find(recording);
  return reader == readers().end() ? -1 : reader->second.number(pass, node);
}

}  // namespace undertow::core::trace
