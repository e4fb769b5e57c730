// function_node.cpp: see function_node.h.
#include "core/python/autograd/function_node.h"

#include "core/forward/copy/copy.h"
#include "core/graph/structural.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/function_object.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {
Tensor zeros_like_input(const InputMeta& meta) { return fwd::zeros(meta.sizes(), meta.dtype(), meta.device()); }
}  // namespace

FunctionNode::FunctionNode(size_t num_edges, FunctionObject* o)
    : Node(static_cast<uint32_t>(num_edges), num_edges > kInlineEdges), object(o) {
  UT_CHECK(num_edges < 65536, "an operation takes at most 65,535 differentiable inputs, got ", num_edges);
  is_function_ = true;
  if (heap_edges_)
    edge_storage_.heap = new Edge[num_edges];
  else
    for (size_t i = 0; i < num_edges; i++) new (&edge_storage_.inlined[i]) Edge;
}

FunctionNode::~FunctionNode() {
  if (heap_edges_)
    delete[] edge_storage_.heap;
  else
    std::destroy_n(edge_storage_.inlined, num_edges_);
}

void FunctionNode::delete_self() {
  if (!owns_object) {
    delete this;
    return;
  }
  if (!Py_IsInitialized()) return;  // at exit: the object can only be leaked
  WithGil gil;
  owns_object = false;  // the object now owns the last reference
  Py_DECREF(object);    // if nobody else owns the object, it is freed and frees us
}

std::string FunctionNode::name() const { return Py_TYPE(reinterpret_cast<PyObject*>(object))->tp_name; }

void FunctionNode::release_variables() {
  for (SavedTensor& s : saved) s.release();
  mark_released();
}

void FunctionNode::visit_kept(KeptVisitor visit, void* context) const {
  for (const SavedTensor& s : saved) visit(context, "tensors", s);
}

Tensor FunctionNode::zeros_for(uint32_t result) const {
  if (input_meta(result).defined()) return zeros_like_input(input_meta(result));
  if (!object->materialize_non_diff_grads) return {};
  for (auto& [i, meta] : plain_results)
    if (i == result) return zeros_like_input(meta);
  return {};  // not a tensor
}

namespace {

[[noreturn]] void raise_gradient_count(const FunctionNode& node, size_t expected, Py_ssize_t got) {
  UT_FAIL("function ", node.name(), " returned an incorrect number of gradients (expected ", expected, ", got ", got,
          "). backward must return one value per argument of forward, None for those without a gradient.");
}

// Takes what backward returned, one value per argument of forward; additional values must be None.
void take_gradients(FunctionNode& node, PyObject* returned, std::span<Tensor> grad_inputs) {
  const auto& arguments = node.object->arguments;
  bool is_tuple = PyTuple_Check(returned);
  Py_ssize_t got = is_tuple ? PyTuple_GET_SIZE(returned) : 1, expected = static_cast<Py_ssize_t>(arguments.size());
  auto item = [&](Py_ssize_t i) { return is_tuple ? PyTuple_GET_ITEM(returned, i) : returned; };
  if (got < expected) raise_gradient_count(node, arguments.size(), got);
  for (Py_ssize_t i = expected; i < got; i++)
    if (item(i) != Py_None) raise_gradient_count(node, arguments.size(), got);
  size_t edge = 0;
  for (Py_ssize_t i = 0; i < expected; i++) {
    PyObject* grad = item(i);
    if (!(arguments[static_cast<size_t>(i)] & kIsTensorArgument)) {
      UT_CHECK(grad == Py_None, "function ", node.name(), " returned a gradient different than None at position ",
               i + 1, ", but the corresponding forward input was not a Variable");
      continue;
    }
    Tensor& to = grad_inputs[edge++];
    if (grad == Py_None) continue;
    UT_CHECK(is_tensor(grad), "expected Variable or None (got ", Py_TYPE(grad)->tp_name, ") as gradient ", i + 1,
             " of ", node.name());
    to = tensor_of(grad);
  }
}

// _delayed_error(message, outputs, args): the outputs with a new history that raises when a pass goes through it to the
// history of args. For @once_differentiable.
PyObject* delayed_error(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char* message;
    PyObject *outputs, *args;
    if (!PyArg_ParseTuple(arguments, "sO!O!", &message, &PyTuple_Type, &outputs, &PyTuple_Type, &args))
      throw PythonError();
    std::vector<Edge> edges;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
      if (is_tensor(PyTuple_GET_ITEM(args, i)) && tensor_of(PyTuple_GET_ITEM(args, i)).requires_grad())
        edges.push_back(gradient_edge(tensor_of(PyTuple_GET_ITEM(args, i))));
    auto* error = new ErrorNode(message);
    Ref<Node> node = Ref<Node>::adopt(error);
    error->set_num_edges(edges.size());
    std::move(edges.begin(), edges.end(), error->edges());
    error->finish_recording();
    PyRef results(check(PyTuple_New(PyTuple_GET_SIZE(outputs))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) {
      PyObject* o = PyTuple_GET_ITEM(outputs, i);
      PyRef result = PyRef::borrow(o);
      if (is_tensor(o) && is_differentiable(tensor_of(o).dtype())) {
        Tensor t = ops::detach(tensor_of(o));
        set_history(t, node);
        result = PyRef(check(wrap(std::move(t))));
      }
      PyTuple_SET_ITEM(results.get(), i, result.release());
    }
    return results.release();
  });
}
PyMethodDef functions[] = {{"_delayed_error", delayed_error, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_function_nodes(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

void FunctionNode::apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) {
  WithGil gil;
  UT_CHECK(object->forward_cls, name(), " was created by hand and is not part of a graph: it has nothing to run");
  SmallVector<PyRef, 6> args;  // ctx, then the gradients
  args.emplace_back(wrap_function(this));
  FunctionPlan plan = plan_for(object->forward_cls);
  UT_CHECK(plan.backward.get(),
           "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
           "of them.");
  for (uint32_t i = 0; i < num_inputs(); i++) {
    Tensor grad = std::move(grad_outputs[i]);
    if (UT_UNLIKELY(!grad.defined()) && object->materialize_grads) grad = zeros_for(i);
    args.emplace_back(wrap(std::move(grad)));
  }
  if (UT_UNLIKELY(plan.boxed_grads)) {
    PyRef list(check(PyList_New(static_cast<Py_ssize_t>(args.size() - 1))));
    for (size_t i = 1; i < args.size(); i++)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i - 1), args[i].release());
    while (args.size() > 1) args.pop_back();
    args.emplace_back(std::move(list));
  }
  static_assert(sizeof(PyRef) == sizeof(PyObject*));
  PyRef returned(check(
      PyObject_Vectorcall(plan.backward.get(), reinterpret_cast<PyObject* const*>(args.data()), args.size(), nullptr)));
  args.clear();  // so that the memory of a gradient can be reused
  take_gradients(*this, returned.get(), grad_inputs);
}

}  // namespace undertow::core::python
