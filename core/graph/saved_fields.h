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
  uint32_t offset;   // of the member, relative to the Node
  SavedKind kind;
};

// The offset of a member, relative to the Node: a class of nodes has one base class, so it is the offset in the class.
// A macro, because only offsetof is a constant, and a table of constants needs no code.
#define UT_OFFSET_IN(Class, member) static_cast<uint32_t>(offsetof(Class, member))

template <class M>
M& saved_member(Node* node, const SavedField& f) {
  return *reinterpret_cast<M*>(reinterpret_cast<char*>(node) + f.offset);
}

}  // namespace undertow::core
