// function_apply.cpp: MyFunction.apply(...): calls the user's forward and records its results in the graph.
#include <algorithm>

#include "core/autograd/custom_function.h"
#include "core/autograd/recording.h"
#include "core/graph/diagnostics/profile.h"
#include "core/python/arguments/convert.h"
#include "core/python/autograd/function_object.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

// `_bind_arguments(cls, args, kwargs, has_setup_context)` of undertow.autograd.function.
PyRef bind_in_python(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, bool has_setup) {
  PyRef positional(check(PyTuple_New(nargs))), keywords(check(PyDict_New()));
  for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(positional.get(), i, new_ref(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0) throw PythonError();
  PyRef module(check(PyImport_ImportModule("undertow.autograd._function_arguments")));
  PyRef bound(check(PyObject_CallMethod(module.get(), "bind_arguments", "OOOO", cls, positional.get(), keywords.get(),
                                        has_setup ? Py_True : Py_False)));
  UT_ASSERT(PyTuple_Check(bound.get()));
  return bound;
}

// The arguments by position. With a separate setup_context they include defaults, as in torch.
class Arguments {
 public:
  Arguments(PyObject* cls, const FunctionPlan& plan, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
      : args_(args), size_(static_cast<size_t>(nargs)) {
    bool has_setup = plan.setup_context.get();
    if (UT_LIKELY(!kwnames && (!has_setup || are_complete(plan.forward.get(), nargs)))) return;
    if (kwnames || !append_defaults(plan.forward.get(), args, nargs))
      bound_ = bind_in_python(cls, args, nargs, kwnames, has_setup);
    args_ = &PyTuple_GET_ITEM(bound_.get(), 0);
    size_ = static_cast<size_t>(PyTuple_GET_SIZE(bound_.get()));
  }
  size_t size() const { return size_; }
  PyObject* operator[](size_t i) const { return args_[i]; }
  PyRef tuple() const {
    if (bound_) return PyRef::borrow(bound_.get());
    PyRef t(check(PyTuple_New(static_cast<Py_ssize_t>(size_))));
    for (size_t i = 0; i < size_; i++) PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), new_ref(args_[i]));
    return t;
  }

 private:
  // The number of parameters of a plain function with only positional ones; -1 for any other callable.
  static int count_of(PyObject* forward) {
    if (!PyFunction_Check(forward)) return -1;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(forward));
    if ((code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) || code->co_kwonlyargcount) return -1;
    return code->co_argcount;
  }
  static bool are_complete(PyObject* forward, Py_ssize_t n) { return count_of(forward) == n; }
  bool append_defaults(PyObject* forward, PyObject* const* args, Py_ssize_t n) {
    Py_ssize_t count = count_of(forward);
    PyObject* defaults = count >= 0 ? PyFunction_GET_DEFAULTS(forward) : nullptr;
    if (!defaults || n >= count || count - n > PyTuple_GET_SIZE(defaults)) return false;
    bound_ = PyRef(check(PyTuple_New(count)));
    Py_ssize_t first = count - PyTuple_GET_SIZE(defaults);
    for (Py_ssize_t i = 0; i < count; i++)
      PyTuple_SET_ITEM(bound_.get(), i, new_ref(i < n ? args[i] : PyTuple_GET_ITEM(defaults, i - first)));
    return true;
  }
  PyObject* const* args_;
  size_t size_;
  PyRef bound_;
};

// Looks into containers as vmap does, so that a Function may be given its tensors in tuples, lists and dicts; not
// forever into a list that contains itself.
bool holds_batched(PyObject* o, int depth = 0) {
  if (is_tensor(o)) return tensor_of(o).impl()->has(kBatched);
  if (depth > 50) return false;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(o); i++)
      if (holds_batched(PyTuple_CheckExact(o) ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i), depth + 1)) return true;
  } else if (PyDict_CheckExact(o)) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
      if (holds_batched(value, depth + 1)) return true;
  }
  return false;
}
bool any_batched(const Arguments& args) {
  for (size_t i = 0; i < args.size(); i++) {
    if (is_tensor(args[i])) {
      if (UT_UNLIKELY(tensor_of(args[i]).impl()->has(kBatched))) return true;
    } else if (UT_UNLIKELY(mode_is(kTransform)) && holds_batched(args[i])) {
      return true;
    }
  }
  return false;
}
// Lets vmap handle the call; see undertow/_vmap/_function.py.
PyObject* apply_batched(PyObject* cls, const Arguments& args) {
  PyRef module(check(PyImport_ImportModule("undertow._vmap._function"))), all = args.tuple();
  return check(PyObject_CallMethod(module.get(), "apply", "OO", cls, all.get()));
}

using TensorPointers = SmallVector<const Tensor*, 6>;

// Collects the tensor arguments and their flags. Returns true if one of them requires grad.
bool examine(const Arguments& args, FunctionObject* ctx, TensorPointers& inputs) {
  bool any = false;
  ctx->arguments.reserve(args.size());
  for (size_t i = 0; i < args.size(); i++) {
    uint8_t bits = 0;
    if (is_tensor(args[i])) {
      const Tensor& t = tensor_of(args[i]);
      inputs.push_back(&t);
      bits = t.requires_grad() ? kIsTensorArgument | kNeedsGrad : kIsTensorArgument;
      any |= (bits & kNeedsGrad) != 0;
    }
    ctx->arguments.push_back(bits);
  }
  return any;
}

// Returns the node's only reference. ctx->node has none of its own: see Note [Who Owns Whom In Functions].
Ref<Node> give_node(FunctionObject* ctx, const TensorPointers& inputs) {
  auto* node = new FunctionNode(inputs.size(), ctx);
  Ref<Node> owner = Ref<Node>::adopt(node);
  node->owns_object = true;
  Py_INCREF(ctx);
  ctx->node = Ref<Node>::adopt(node);
  for (size_t i = 0; i < inputs.size(); i++) ops::set_edge(node->edges()[i], *inputs[i], ops::flags_of(*inputs[i]));
  node->finish_recording();
  if (UT_UNLIKELY(origins_wanted())) ops::attach_origin(node);
  return owner;
}

PyRef call_forward(const FunctionPlan& plan, FunctionObject* ctx, const Arguments& args) {
  NoGradGuard no_grad;
  ModeGuard no_tangents(kNoTangents, true);
  ModeGuard in_function(kInFunction, true);
  auto* ctx_object = reinterpret_cast<PyObject*>(ctx);
  if (UT_UNLIKELY(plan.setup_context.get() != nullptr)) {
    PyRef inputs = args.tuple();
    PyRef output(check(PyObject_Call(plan.forward.get(), inputs.get(), nullptr)));
    PyObject* to_setup[] = {ctx_object, inputs.get(), output.get()};
    PyRef nothing(check(PyObject_Vectorcall(plan.setup_context.get(), to_setup, 3, nullptr)));
    return output;
  }
  SmallVector<PyObject*, 8> all;
  all.push_back(ctx_object);
  for (size_t i = 0; i < args.size(); i++) all.push_back(args[i]);
  return PyRef(check(PyObject_Vectorcall(plan.forward.get(), all.data(), all.size(), nullptr)));
}

// The tensors that the user marked through ctx.
struct Marked {
  SmallVector<Tensor, 2> non_differentiable, dirty, saved_in_setup;
};

PyObject* require_tuple(PyObject* o, const char* name) {
  UT_CHECK(PyTuple_Check(o), "autograd internal error: ", name, " attribute is expected to be a tuple but is ",
           Py_TYPE(o)->tp_name);
  return o;
}

void note_saved_in_setup(FunctionObject* ctx, Marked& marked) {
  for (PyObject* list : {ctx->saved_for_forward, ctx->to_save}) {
    if (!list) continue;
    require_tuple(list, list == ctx->to_save ? "to_save" : "saved_for_forward");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++)
      if (is_tensor(PyTuple_GET_ITEM(list, i))) marked.saved_in_setup.push_back(tensor_of(PyTuple_GET_ITEM(list, i)));
  }
}
void check_saved(FunctionObject* ctx) {
  if (!ctx->to_save) return;
  require_tuple(ctx->to_save, "to_save");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ctx->to_save); i++) {
    PyObject* o = PyTuple_GET_ITEM(ctx->to_save, i);
    UT_CHECK_TYPE(o == Py_None || is_tensor(o), "save_for_backward can only save variables, but argument ", i,
                  " is of type ", Py_TYPE(o)->tp_name, "; keep other values as attributes of ctx");
  }
}
void read_marks(FunctionObject* ctx, Marked& marked) {
  if (PyObject* list = ctx->non_differentiable) {
    require_tuple(list, "non_differentiable");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
      PyObject* o = PyTuple_GET_ITEM(list, i);
      UT_CHECK(is_tensor(o), "mark_non_differentiable only accepts variable arguments, but got ", Py_TYPE(o)->tp_name);
      marked.non_differentiable.push_back(tensor_of(o));
    }
  }
  if (PyObject* list = ctx->dirty_tensors) {
    require_tuple(list, "dirty_tensors");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); i++) {
      PyObject* o = PyTuple_GET_ITEM(list, i);
      UT_CHECK(is_tensor(o), "mark_dirty can only accept variables, but argument ", i, " is of type ",
               Py_TYPE(o)->tp_name);
      marked.dirty.push_back(tensor_of(o));
    }
  }
}

// Call it after the results have their history: a result is saved without it (Note [Saved Outputs]).
void save(FunctionObject* ctx, const TensorPointers& inputs, std::span<const Tensor> results) {
  FunctionNode* node = ctx->function_node();
  if (!ctx->to_save || !node) return;
  Py_ssize_t n = PyTuple_GET_SIZE(ctx->to_save);
  node->saved.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    SavedTensor& s = node->saved.emplace_back();
    PyObject* o = PyTuple_GET_ITEM(ctx->to_save, i);
    if (o == Py_None) continue;
    const Tensor& t = tensor_of(o);
    bool is_result = std::any_of(results.begin(), results.end(), [&](const Tensor& r) { return r.is_same(t); });
    if (is_result && t.impl()->grad_fn) {
      s.save_output(t, node);
      if (UT_UNLIKELY(t.impl()->has(kHasTangent))) s.share_tangent(t);
    } else {
      s.save(t, node);
    }
    if (UT_UNLIKELY(t.impl()->has(kDependent)) && !is_result && !t.requires_grad() &&
        std::none_of(inputs.begin(), inputs.end(), [&](const Tensor* in) { return in->is_same(t); }))
      node->intermediates.push_back(static_cast<uint32_t>(i));
  }
}

// Records tensor results without a derivative: backward receives zeros of their shape.
void note_plain_results(FunctionNode* node, std::span<const Tensor> results) {
  for (uint32_t i = 0; i < results.size(); i++)
    if (results[i].defined() && !node->input_meta(i).defined())
      node->plain_results.emplace_back(i, InputMeta(results[i]));
}

// Calls the method view_as, which a subclass may override.
Tensor whole_view(const Tensor& t) {
  if (!t.impl()->has(kPySubclass)) return ops::_alias(t);
  PyRef o(check(wrap(t)));
  PyRef view(check(PyObject_CallMethod(o.get(), "view_as", "O", o.get())));
  UT_CHECK_TYPE(is_tensor(view.get()), "view_as returned ", Py_TYPE(view.get())->tp_name);
  return tensor_of(view.get());
}

std::vector<Tensor> call_jvp(FunctionObject* ctx, const TensorPointers& inputs, std::span<const Tensor> tangents) {
  PyRef args(check(PyTuple_New(static_cast<Py_ssize_t>(ctx->arguments.size()))));
  size_t k = 0;
  for (size_t i = 0; i < ctx->arguments.size(); i++) {
    Tensor tangent;
    if (ctx->arguments[i] & kIsTensorArgument) {
      tangent = tangents[k];
      if (!tangent.defined() && ctx->materialize_grads && is_differentiable(inputs[k]->dtype()))
        tangent = fwd::zeros_on_device_of(*inputs[k], inputs[k]->sizes(), inputs[k]->dtype());
      k++;
    }
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(tangent))));
  }
  PyRef method(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(ctx), "apply_jvp")));
  PyRef returned(check(PyObject_Call(method.get(), args.get(), nullptr)));
  bool is_tuple = PyTuple_Check(returned.get());
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_GET_SIZE(returned.get()) : 1); i++) {
    PyObject* o = is_tuple ? PyTuple_GET_ITEM(returned.get(), i) : returned.get();
    UT_CHECK(o == Py_None || is_tensor(o), "expected Variable or None (got ", Py_TYPE(o)->tp_name, ") for grad output ",
             i, ".");
    out.push_back(opt_tensor_arg(o));
  }
  return out;
}

// The return value of apply: forward's own objects, except for results that record_results replaced.
PyRef to_python(PyRef output, std::span<const Tensor> raw, std::span<const Tensor> results, bool recorded) {
  bool is_tuple = PyTuple_Check(output.get()), as_it_is = true;
  for (size_t i = 0; i < raw.size(); i++) as_it_is &= raw[i].is_same(results[i]);
  auto finished = [&](size_t i, PyObject* original) {
    PyRef o = raw[i].is_same(results[i]) ? PyRef::borrow(original) : PyRef(check(wrap(results[i])));
    // A result refers to its ctx, so `ctx.y = y` closes a cycle that the collector must see.
    if (recorded && results[i].defined()) track(o.get());
    return o;
  };
  if (!is_tuple) return finished(0, output.get());
  PyRef t = as_it_is && PyTuple_CheckExact(output.get())
                ? PyRef::borrow(output.get())
                : PyRef(check(PyTuple_New(static_cast<Py_ssize_t>(raw.size()))));
  for (size_t i = 0; i < raw.size(); i++) {
    PyRef o = finished(i, PyTuple_GET_ITEM(output.get(), static_cast<Py_ssize_t>(i)));
    if (t.get() != output.get()) PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), o.release());
  }
  return t;
}

// What forward marked is dropped when the call ends, also by an error of a pack hook: a result refers to its ctx
// through its node, so a result among the marks would keep itself alive.
struct MarksOf {
  FunctionObject* ctx;
  ~MarksOf() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_CLEAR(ctx->to_save);
    Py_CLEAR(ctx->non_differentiable);
    Py_CLEAR(ctx->dirty_tensors);
    Py_CLEAR(ctx->saved_for_forward);
    PyErr_Restore(type, value, trace);
  }
};

PyObject* finish(FunctionObject* ctx, const FunctionPlan& plan, const TensorPointers& inputs, PyRef output) {
  Marked marked;
  SmallVector<Tensor, 2> raw;
  if (PyTuple_Check(output.get()))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(output.get()); i++) {
      PyObject* o = PyTuple_GET_ITEM(output.get(), i);
      raw.push_back(is_tensor(o) ? tensor_of(o) : Tensor());
    }
  else
    raw.push_back(is_tensor(output.get()) ? tensor_of(output.get()) : Tensor());
  SmallVector<Tensor, 2> results(raw.size());

  FunctionNode* node = ctx->function_node();
  bool recorded = node && node->num_edges() > 0;
  MarksOf marks{ctx};
  if (recorded) check_saved(ctx);
  if (plan.setup_context) note_saved_in_setup(ctx, marked);
  read_marks(ctx, marked);
  autograd::CustomCall call{.inputs = inputs,
                            .raw = raw,
                            .results = results,
                            .non_differentiable = marked.non_differentiable,
                            .dirty = marked.dirty,
                            .saved_in_setup = marked.saved_in_setup,
                            .node = recorded ? ctx->node : Ref<Node>(),
                            .whole_view = whole_view};
  autograd::record_results(call);
  if (UT_UNLIKELY(autograd::carries_tangents(inputs)))
    autograd::carry_tangents(call, [&](std::span<const Tensor> tangents) { return call_jvp(ctx, inputs, tangents); });
  if (recorded) {
    save(ctx, inputs, results);
    note_plain_results(node, results);
  }
  return to_python(std::move(output), raw, results, recorded).release();
}

}  // namespace

namespace {

// The event of a call for the profiler; its name is that of the class.
class ProfiledCall {
 public:
  ProfiledCall(PyTypeObject* cls, FunctionObject* ctx, const TensorPointers& inputs) : on_(mode_is(kProfile)) {
    if (UT_LIKELY(!on_)) return;
    std::vector<Dims> shapes;
    for (const Tensor* t : inputs) shapes.emplace_back(t->sizes());
    profile::begin(profile::kPlainName + std::string(cls->tp_name), std::move(shapes),
                   ctx->node ? static_cast<int64_t>(ctx->node->sequence_nr()) : -1);
  }
  ~ProfiledCall() {
    if (UT_UNLIKELY(on_)) profile::end();
  }
  ProfiledCall(const ProfiledCall&) = delete;
  ProfiledCall& operator=(const ProfiledCall&) = delete;

 private:
  bool on_;
};

}  // namespace

PyObject* function_apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    FunctionPlan plan = plan_for(type);
    Arguments arguments(cls, plan, args, nargs, kwnames);
    if (UT_UNLIKELY(any_batched(arguments))) return apply_batched(cls, arguments);
    FunctionObject* ctx = new_function_object(plan.backward_cls);
    PyRef ctx_owner(reinterpret_cast<PyObject*>(ctx));
    ctx->forward_cls = reinterpret_cast<PyTypeObject*>(new_ref(cls));
    ctx->clear_on_access = plan.clear_on_access;
    TensorPointers inputs;
    Ref<Node> node;
    if (examine(arguments, ctx, inputs) && grad_enabled()) node = give_node(ctx, inputs);
    ProfiledCall profiled(type, ctx, inputs);
    PyRef output = call_forward(plan, ctx, arguments);
    return finish(ctx, plan, inputs, std::move(output));
  });
}

}  // namespace undertow::core::python
