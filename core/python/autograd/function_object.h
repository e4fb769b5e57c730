// function_object.h: `_C._FunctionBase`: the ctx of a custom Function, which is its node's object too.
// See Note [Who Owns Whom In Functions] in function_node.h.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>

#include "core/python/autograd/function_node.h"
#include "core/python/autograd/node_object.h"
#include "core/python/errors.h"

namespace undertow::python {

// What is known of one argument of apply.
enum ArgumentBit : uint8_t { kIsTensorArgument = 1, kNeedsGrad = 2 };

struct FunctionObject {
  PyObject_HEAD  // these are NodeObject's members
      Ref<Node>
          node;  // without a count while the node owns us
  PyObject* weakrefs;

  PyObject* dict;
  PyTypeObject* forward_cls;  // the user's class
  // Set by the user through ctx, as any object; looked at when forward has returned.
  PyObject *to_save, *non_differentiable, *dirty_tensors, *saved_for_forward, *needs_input_grad;
  SmallVector<uint8_t, 8> arguments;  // ArgumentBits
  bool materialize_grads, materialize_non_diff_grads, clear_on_access, accessed;

  FunctionNode* function_node() const { return static_cast<FunctionNode*>(node.get()); }
};
static_assert(offsetof(FunctionObject, node) == offsetof(NodeObject, node) &&
              offsetof(FunctionObject, weakrefs) == offsetof(NodeObject, weakrefs));

// What apply and backward need to know of a Function's class. Looking it all up costs more than the rest of apply, so
// results are remembered for as long as the class does not change.
struct FunctionPlan {
  PyRef forward;
  PyRef setup_context;  // null: forward takes ctx itself
  PyRef backward;       // backward or vjp; null: the class has both
  PyTypeObject* backward_cls = nullptr;
  bool clear_on_access = false, boxed_grads = false;
};
FunctionPlan plan_for(PyTypeObject* cls);
bool init_function_plans(PyObject* module);

// MyFunction.apply(...).
PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

FunctionObject* new_function_object(PyTypeObject* type);
// Lets objects of a class that FunctionMeta made turn ownership round.
void prepare_backward_class(PyTypeObject* type);
// A new reference to the node's ctx.
PyObject* wrap_function(FunctionNode* node);
// A ctx that is in no graph gets a node of its own when someone looks at it as one.
void give_function_node(PyObject* ctx);
PyObject* unpack_saved_tensors(FunctionObject* ctx);

// For the garbage collector: what `node` alone keeps alive, through nodes that nobody else holds.
int visit_owned_graph(Node* node, visitproc visit, void* arg);
// A tensor that its only holder, one of ours, keeps.
int visit_owned_tensor(TensorImpl* t, visitproc visit, void* arg);

bool init_function_type(PyObject* module);
bool init_function_nodes(PyObject* module);

}  // namespace undertow::python
