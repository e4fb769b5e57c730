// saved_report.h: what a graph keeps in memory for its backward pass, one row for each saved tensor.
// Looks only: runs no hook, unpacks nothing, changes no node. Rendering belongs to the Python package.
#pragma once
#include <string>
#include <vector>

#include "core/graph/node.h"

namespace undertow {

struct SavedRow {
  enum class State : uint8_t {
    Held,    // as it was
    Packed,  // by hooks, into something; if that is a tensor, the row describes it
  };
  const Node* node;  // alive as long as the roots are
  std::string name;  // after `_saved_`
  State state;
  bool known;  // shape, dtype and bytes mean something: not so for what hooks packed into other objects
  bool first;  // the first row of its storage: its bytes count
  bool alone;  // of a first row: nothing but saved tensors holds the storage
  DType dtype;
  Dims shape;
  size_t tensor_bytes;
  const Storage* storage;
};

struct SavedReport {
  std::vector<SavedRow> rows;  // earlier operations first
  size_t nodes = 0;
  size_t freed = 0;  // saved tensors that a backward pass has let go
};

SavedReport report_saved(std::span<const Edge> roots);

// Every node that can be reached, each once.
std::vector<Node*> nodes_below(std::span<const Edge> roots);

}  // namespace undertow
