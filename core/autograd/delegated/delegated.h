// delegated.h: calls that Python computes instead of a forward function: on batched, sparse and dispatched tensors.
// Passes on the operator's key and its arguments; does not know the rules. See Note [Batched Tensors] (batched.h), Note
// [Sparse Tensors] (tensor/sparse.h) and Note [Dispatched Tensors] (dispatched.h).
#pragma once
#include <initializer_list>
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::delegated {

// One argument of a call, as a pointer or a small value; the caller owns what it points to.
struct Boxed {
  enum class Kind : uint8_t {
    Tensor,
    Tensors,
    Scalar,
    Int,
    Float,
    Bool,
    Ints,
    DType,
    Str,
    Generator,
    MemoryFormat,
    Layout,
    Device,
    None
  };
  Kind kind;
  uint32_t size = 0;
  union {
    const void* pointer;
    int64_t integer;
    double real;
  };
  Boxed(const core::Tensor& t) : kind(Kind::Tensor), pointer(&t) {}
  Boxed(TensorSpan list) : kind(Kind::Tensors), size(static_cast<uint32_t>(list.size())), pointer(list.data()) {}
  Boxed(const core::Scalar& s) : kind(Kind::Scalar), pointer(&s) {}
  Boxed(const std::optional<core::Scalar>& s) : kind(s ? Kind::Scalar : Kind::None), pointer(s ? &*s : nullptr) {}
  Boxed(int64_t v) : kind(Kind::Int), integer(v) {}
  Boxed(double v) : kind(Kind::Float), real(v) {}
  Boxed(bool v) : kind(Kind::Bool), integer(v) {}
  Boxed(std::true_type) : Boxed(true) {}
  Boxed(std::false_type) : Boxed(false) {}
  Boxed(IntSpan v) : kind(Kind::Ints), size(static_cast<uint32_t>(v.size())), pointer(v.data()) {}
  Boxed(core::DType t) : kind(Kind::DType), integer(static_cast<int64_t>(t)) {}
  Boxed(std::string_view s) : kind(Kind::Str), size(static_cast<uint32_t>(s.size())), pointer(s.data()) {}
  Boxed(core::Generator* g) : kind(g ? Kind::Generator : Kind::None), pointer(g) {}
  Boxed(core::MemoryFormat m) : kind(Kind::MemoryFormat), integer(static_cast<int64_t>(m)) {}
  Boxed(core::Layout l) : kind(Kind::Layout), integer(static_cast<int64_t>(l)) {}
  Boxed(core::Device d) : kind(Kind::Device), integer(static_cast<int>(d.type) << 8 | static_cast<uint8_t>(d.index)) {}
  template <class T>
  Boxed(const std::optional<T>& v) : Boxed(v ? Boxed(*v) : Boxed(static_cast<core::Generator*>(nullptr))) {}
};

struct Results {
  std::vector<Tensor> tensors;
  Scalar number;
};

// Computes `key`. Installed by the binding layer, because the rules are in Python. The keys are those of Entry.key in
// tools/opgen/schema.py.
extern void (*handler)(const char* key, std::span<const Boxed> args, Results& out);

void call(const char* key, std::initializer_list<Boxed> args, Tensor& out);
void call(const char* key, std::initializer_list<Boxed> args, std::vector<Tensor>& out);
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor>& out);
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor>& out);
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor, Tensor>& out);
void call(const char* key, std::initializer_list<Boxed> args, Scalar& out);
void call(const char* key, std::initializer_list<Boxed> args, bool& out);
void call(const char* key, std::initializer_list<Boxed> args);  // in place: the result is an argument
template <class R>
R call(const char* key, std::initializer_list<Boxed> args) {
  R out;
  call(key, args, out);
  return out;
}

// For calls with out=, which have no rules; `flags` are those of the arguments.
[[noreturn]] void raise_out_delegated(const char* name, uint32_t flags);

}  // namespace undertow::core::delegated
