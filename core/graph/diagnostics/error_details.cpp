// error_details.cpp: see error_details.h.
// build: small
#include "core/graph/diagnostics/error_details.h"

#include <mutex>
#include <unordered_map>

#include "core/graph/engine/graph_task.h"

namespace undertow::core {

std::string (*current_line)() = nullptr;
void (*note_pass)(uint64_t) = nullptr;
std::string (*caller_of_pass)(uint16_t) = nullptr;

namespace {

// Lines of in-place writes, kept while lines are recorded. An entry is valid only for the version it was recorded for,
// because the address of a freed storage is reused.
struct Write {
  uint32_t version;
  std::string line;
};
constexpr size_t kMaxWrites = 1 << 16;
std::mutex writes_mutex;  // guards writes
std::unordered_map<const Storage*, Write>& writes() {
  static auto* map = new std::unordered_map<const Storage*, Write>;  // leaked: threads may write during exit
  return *map;
}

void note_line_of_write(const Storage* storage) {
  std::string line = current_line ? current_line() : "";
  std::lock_guard lock(writes_mutex);
  if (writes().size() >= kMaxWrites) writes().clear();
  writes()[storage] = {storage->version(), std::move(line)};
}
[[maybe_unused]] const bool installed = (note_write = note_line_of_write, true);

}  // namespace

namespace error_details {

std::string freed_by_text(const Node& node) {
  if (!node.released() || !node.freed_by()) return "";
  std::string line = caller_of_pass ? caller_of_pass(node.freed_by()) : "";
  return line.empty() ? str(", freed by backward pass number ", node.freed_by())
                      : str(", freed by the backward pass called at ", line);
}

std::string line_of(const Node& node) {
  NodeOrigin* origin = node.extra() ? node.extra()->origin.get() : nullptr;
  return origin ? origin->line() : "";
}

std::string recorded_at_text(const Node& node) {
  std::string line = line_of(node);
  return line.empty() ? "" : str(", recorded at ", line);
}

std::string path_to(const Node* node) {
  GraphTask* task = current_graph_task;
  if (!task || !task->root) return "";
  std::unordered_map<const Node*, const Node*> from{{task->root, nullptr}};
  std::vector<const Node*> order{task->root};
  for (size_t i = 0; i < order.size() && !from.contains(node); i++)
    for (const Edge& e : order[i]->next_edges())
      if (e && from.emplace(e.node.get(), order[i]).second) order.push_back(e.node.get());
  if (!from.contains(node)) return "";
  std::vector<const Node*> way;
  for (const Node* n = node; n; n = from[n]) way.push_back(n);
  constexpr size_t kShown = 4;  // nodes shown at each end
  std::string text;
  for (size_t i = way.size(); i-- > 0;) {
    size_t at = way.size() - 1 - i;
    if (way.size() > 2 * kShown && at == kShown) text += str(" -> (", way.size() - 2 * kShown, " more)");
    if (way.size() > 2 * kShown && at >= kShown && i >= kShown) continue;
    if (!text.empty()) text += " -> ";
    text += way[i]->name();
  }
  return text;
}

std::string last_write_text(const Storage& storage) {
  const char* op = storage.writer();
  if (!op) return "";
  std::lock_guard lock(writes_mutex);
  auto found = writes().find(&storage);
  bool known = found != writes().end() && found->second.version == storage.version() && !found->second.line.empty();
  return known ? str(", last changed by ", op, " at ", found->second.line) : str(", last changed by ", op);
}

}  // namespace error_details
}  // namespace undertow::core
