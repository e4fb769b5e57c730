// saved_fields.h: a table of the values that a node saved, so that a binding layer can show them without knowing the
// node's class.
#pragma once
#include <cstddef>
#include <cstdint>

namespace undertow::core {

class Node;

enum class SavedKind : uint8_t {
  Tensor,
  TensorList,
  Scalar,
  OptScalar,
  Int,
  OptInt,
  Float,
  OptFloat,
  Bool,
  OptBool,
  Ints,
  OptInts,
  IntsList,
  DType,
  OptDType,
  DTypeList,
  Device,
  String,
  OptString
};
struct SavedField {
  const char* name;  // after `_saved_`
  ptrdiff_t offset;  // of the member, relative to the Node
  SavedKind kind;
};

// The offset of a member, relative to the Node subobject.
template <class N, class M>
ptrdiff_t offset_in(M N::* member) {
  alignas(N) static char space[sizeof(N)];
  auto* n = reinterpret_cast<N*>(space);
  return reinterpret_cast<char*>(&(n->*member)) - reinterpret_cast<char*>(static_cast<Node*>(n));
}
template <class M>
M& saved_member(Node* node, const SavedField& f) {
  return *reinterpret_cast<M*>(reinterpret_cast<char*>(node) + f.offset);
}

}  // namespace undertow::core
