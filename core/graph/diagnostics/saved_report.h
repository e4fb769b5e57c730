// saved_report.h: what a graph keeps in memory for its backward pass, one row per saved tensor.
// Read only: runs no hook, unpacks nothing, changes no node. The Python package renders it.
#pragma once
#include <string>
#include <vector>

#include "core/graph/node.h"

namespace undertow::core {

struct SavedRow {
  enum class State : uint8_t {
    Held,    // the tensor itself
    Packed,  // packed by hooks; if the packed value is a tensor, the row describes it
  };
  const Node* node;  // alive as long as the roots are
  std::string name;  // after `_saved_`
  State state;
  bool known;  // shape, dtype and bytes are valid; false if hooks packed the tensor into another kind of object
  bool first;  // the first row of its storage: its bytes are counted here
  bool alone;  // for a first row: only saved tensors own the storage
  DType dtype;
  Dims shape;
  size_t tensor_bytes;
  const Storage* storage;
};

struct SavedReport {
  std::vector<SavedRow> rows;  // earlier operations first
  size_t nodes = 0;
  size_t freed = 0;  // saved tensors that a backward pass has freed
};

SavedReport report_saved(std::span<const Edge> roots);

// Every reachable node, once.
std::vector<Node*> nodes_below(std::span<const Edge> roots);

}  // namespace undertow::core
