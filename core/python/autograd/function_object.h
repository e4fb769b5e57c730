// function_object.h: `_C._FunctionBase`: the ctx of a custom Function, which is also the Python object of its node.
// See Note [Who Owns Whom In Functions] in function_node.h.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

#include "core/python/autograd/function_node.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"

namespace undertow::core::python {

// Flags of one argument of apply.
enum ArgumentBit : uint8_t { kIsTensorArgument = 1, kNeedsGrad = 2 };

struct FunctionObject {
  // The members of NodeObject come first. `node` has no reference of its own while the node owns this object.
  PyObject_HEAD Ref<Node> node;
  PyObject* weakrefs;

  PyObject* dict;
  PyTypeObject* forward_cls;  // the user's class
  // Set by the user through ctx, to any object; checked after forward has returned.
  PyObject *to_save, *non_differentiable, *dirty_tensors, *saved_for_forward, *needs_input_grad;
  SmallVector<uint8_t, 8> arguments;  // ArgumentBits
  bool materialize_grads, materialize_non_diff_grads, clear_on_access, accessed;

  FunctionNode* function_node() const { return static_cast<FunctionNode*>(node.get()); }
};
static_assert(offsetof(FunctionObject, node) == offsetof(NodeObject, node) &&
              offsetof(FunctionObject, weakrefs) == offsetof(NodeObject, weakrefs));

// What apply and backward need to know about a Function's class. Looking it up costs more than the rest of apply, so it
// is cached until the class changes.
struct FunctionPlan {
  PyRef forward;
  PyRef setup_context;  // null: forward itself takes ctx
  PyRef backward;       // backward or vjp; null: the class defines both
  PyTypeObject* backward_cls = nullptr;
  bool clear_on_access = false, boxed_grads = false;
};
FunctionPlan plan_for(PyTypeObject* cls);
bool init_function_plans(PyObject* module);

PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

FunctionObject* new_function_object(PyTypeObject* type);
// Makes the objects of a class created by FunctionMeta use our dealloc, traverse and clear, which can reverse
// ownership.
void prepare_backward_class(PyTypeObject* type);
// A new reference to the node's ctx.
PyObject* wrap_function(FunctionNode* node);
// Gives a ctx that is not part of a graph its own node, when it is used as one.
void give_function_node(PyObject* ctx);
PyObject* unpack_saved_tensors(FunctionObject* ctx);

// For the garbage collector: visits what only `node` keeps alive, through nodes that nothing else owns.
int visit_owned_graph(Node* node, visitproc visit, void* arg);
// Visits a tensor if its owner, one of our objects, has the only reference.
int visit_owned_tensor(TensorImpl* t, visitproc visit, void* arg);

bool init_function_type(PyObject* module);
bool init_function_nodes(PyObject* module);

}  // namespace undertow::core::python
