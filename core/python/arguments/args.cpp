// args.cpp: see args.h.
#include "core/python/arguments/args.h"

#include <algorithm>
#include <string>

#include "core/autograd/formulas/pointwise/pointwise.h"
#include "core/python/arguments/accepts.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/mismatch.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_data.h"
#include "core/python/types/dtype_object.h"
#include "core/python/types/generator_object.h"
#include "core/tensor/mode.h"

namespace undertow::core::python {

namespace {

void make_ready(Function& f) {
  for (int k = 0; k < f.count; k++) {
    Overload& o = f.overloads[k];
    const auto& args = *new std::vector<ArgSpec>(parse_signature(o.text));  // lives as long as the interpreter
    o.args = args.data();
    o.count = static_cast<int>(args.size());
  }
  f.ready = true;
}

bool is_int_list(ArgKind kind) { return kind >= ArgKind::Ints && kind <= ArgKind::OptSizedInts; }
// The position of the first item of a list or tuple that is no int, or its length.
Py_ssize_t first_that_is_no_int(PyObject* list) {
  Py_ssize_t k = 0;
  while (k < PySequence_Fast_GET_SIZE(list) && is_int_like(PySequence_Fast_GET_ITEM(list, k))) k++;
  return k;
}

// Fills slots for one overload. `varargs` is set if the last positional list was given as separate ints; it then owns
// the tuple. If the arguments do not fit, `why` gets the reason as a message, unless it is null.
bool match(const Function& f, const Overload& o, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
           PyObject* kwnames, PyObject** slots, PyRef& varargs, std::string* why) {
  int given = self ? 1 : 0;
  if (self) slots[0] = self;
  for (int i = given; i < o.count; i++) slots[i] = nullptr;
  if (o.method_only && !self) return false;
  int positional = 0;
  for (int i = given; i < o.count; i++) positional += !o.args[i].kwonly;
  auto say = [&](auto&&... parts) {
    if (why) *why = str(f.name, parts...);
    return false;
  };
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  // x.view(2, 4): a list that is the only positional argument may be given as separate ints.
  bool lone_list =
      positional >= 1 && (positional == 1 || nargs > positional) && given < o.count && is_int_list(o.args[given].kind);
  if (lone_list && nargs >= 1 && positional == 1 && is_int_like(args[0])) {
    for (Py_ssize_t i = 1; i < nargs; i++)
      if (!is_int_like(args[i]))
        return say("(): argument '", shown_name(o.args[given], self),
                   "' must be tuple of ints, but found element of type ", shown_type(args[i]), " at pos ", i);
    PyObject* tuple = check(PyTuple_New(nargs));
    for (Py_ssize_t i = 0; i < nargs; i++) PyTuple_SET_ITEM(tuple, i, new_ref(args[i]));
    varargs = PyRef(tuple);
    slots[given] = tuple;
  } else if (nargs == 0 && lone_list && positional == 1 && nkw == 0 && !o.args[given].has_default && !self) {
    return say(missing_arguments(o, self, slots));
  } else {
    if (nargs > positional)
      return say("() takes ", positional, " positional argument", positional == 1 ? "" : "s", " but ", nargs,
                 nargs == 1 ? " was" : " were", " given");
    for (Py_ssize_t i = 0; i < nargs; i++) {
      const ArgSpec& a = o.args[given + i];
      if (!accepts(a, args[i])) {
        if (why && a.kind == ArgKind::TensorList && (PyTuple_Check(args[i]) || PyList_Check(args[i]))) {
          Py_ssize_t k = 0;
          while (is_tensor(PySequence_Fast_GET_ITEM(args[i], k))) k++;
          *why = str("expected Tensor as element ", k, " in argument ", i, ", but got ",
                     shown_type(PySequence_Fast_GET_ITEM(args[i], k)));
          return false;
        }
        if (why && is_int_list(a.kind) && (PyTuple_Check(args[i]) || PyList_Check(args[i])))
          if (Py_ssize_t k = first_that_is_no_int(args[i]); k < PySequence_Fast_GET_SIZE(args[i]))
            return say("(): argument '", shown_name(a, self), "' (position ", i + 1, ") must be ", kind_text(a.kind),
                       ", but found element of type ", shown_type(PySequence_Fast_GET_ITEM(args[i], k)), " at pos ", k);
        return say("(): argument '", shown_name(a, self), "' (position ", i + 1, ") must be ", kind_text(a.kind),
                   ", not ", shown_type(args[i]));
      }
      slots[given + i] = args[i];
    }
  }
  for (Py_ssize_t k = 0; k < nkw; k++) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    const int at = find_argument({o.args, static_cast<size_t>(o.count)}, key);
    if (at < 0 || (self && o.args[at].is_out())) return say("() got an unexpected keyword argument '", shown(key), "'");
    if (slots[at]) return say("() got multiple values for argument '", shown_name(o.args[at], self), "'");
    if (!accepts(o.args[at], args[nargs + k]))
      return say("(): argument '", shown_name(o.args[at], self), "' must be ", kind_text(o.args[at].kind), ", not ",
                 shown_type(args[nargs + k]));
    slots[at] = args[nargs + k];
  }
  for (int i = 0; i < o.count; i++)
    if (!slots[i] && !o.args[i].has_default) return say(missing_arguments(o, self, slots));
  return true;
}

// Torch's older order of arguments, still used by some programs: a number comes before the tensors it multiplies, as in
// x.add_(alpha, y), x.addcmul_(value, y, z), addmm(beta, x, alpha, y, z). Returns true for such arguments. `arranged`
// then contains the tensors, the keyword arguments and the numbers, with keyword names in `names`. Arguments are
// borrowed.
bool match_deprecated_order(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames, std::vector<PyObject*>& arranged, PyRef& names) {
  std::string_view name = f.name;
  if (name.ends_with('_')) name.remove_suffix(1);
  bool one = name == "add" || name == "sub" || name == "addcmul" ||
             name == "addcdiv";  // these take one number; the others take beta and alpha
  if (!one && name != "addmm" && name != "addmv" && name != "addr" && name != "addbmm" && name != "baddbmm")
    return false;
  const int given = self ? 1 : 0;
  std::vector<PyObject*> numbers;
  for (Py_ssize_t i = 0; i < nargs; i++) {
    const Py_ssize_t at = given + i;
    const bool here = one ? at == 1 : at == 2 ? numbers.size() == 1 : at == given;
    if (here && is_number_like(args[i]))
      numbers.push_back(args[i]);
    else if (is_tensor(args[i]))
      arranged.push_back(args[i]);
    else
      return false;
  }
  const bool enough = given + arranged.size() == (name == "add" || name == "sub" ? 2 : 3);
  if (numbers.empty() || !enough) return false;
  const Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  arranged.insert(arranged.end(), args + nargs, args + nargs + nkw);
  arranged.insert(arranged.end(), numbers.begin(), numbers.end());
  static const char* kNames[] = {"beta", "alpha"};
  names = PyRef(check(PyTuple_New(nkw + static_cast<Py_ssize_t>(numbers.size()))));
  for (Py_ssize_t k = 0; k < nkw; k++) PyTuple_SET_ITEM(names.get(), k, new_ref(PyTuple_GET_ITEM(kwnames, k)));
  for (size_t k = 0; k < numbers.size(); k++) {
    const char* text = !one ? kNames[k] : name.starts_with("addc") ? "value" : "alpha";
    PyTuple_SET_ITEM(names.get(), nkw + static_cast<Py_ssize_t>(k), check(PyUnicode_InternFromString(text)));
  }
  static bool said = false;  // warns once, like torch; guarded by the GIL
  if (!said && PyErr_WarnFormat(
                   PyExc_UserWarning, 1,
                   "This overload of %s is deprecated: numbers before tensors; pass %s= by keyword, after the tensors",
                   f.name, one ? (name.starts_with("addc") ? "value" : "alpha") : "beta= and alpha") < 0)
    throw PythonError();
  said = true;
  return true;
}

[[noreturn]] void no_match(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                           PyObject* kwnames) {
  // For a number that cannot be read, the error of item() is the reason.
  for (Py_ssize_t i = 0; i < nargs; i++)
    if (is_tensor(args[i]) && tensor_of(args[i]).dim() == 0 && !is_readable(tensor_of(args[i]))) scalar_arg(args[i]);
  const Overload* meant = overload_meant(f, self, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  if (!meant) UT_FAIL_AS(Type, f.name, "() ", invalid_combination(f, self, args, nargs, kwnames));
  PyObject* slots[kMaxArgs];
  PyRef varargs;
  std::string why;
  match(f, *meant, self, args, nargs, kwnames, slots, varargs, &why);
  UT_FAIL_AS(Type, why);
}

bool any_override(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (self && !is_plain_tensor(self) && has_override(self)) return true;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = args[i];
    if (is_plain_tensor(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || o == Py_None) continue;
    if (PyTuple_Check(o) || PyList_Check(o)) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); k++) {
        PyObject* x = PySequence_Fast_GET_ITEM(o, k);
        if (!is_plain_tensor(x) && has_override(x)) return true;
      }
    } else if (has_override(o)) {
      return true;
    }
  }
  return false;
}

// Which flags a call with out= has that Python must compute: kDispatched if a __torch_dispatch__ must see it, that of a
// mode or of the class of an argument, and kSparse if an argument is sparse. Operators have no recorder for this form,
// so it leaves here. See Note [Dispatched Tensors] and Note [Sparse Tensors].
uint32_t delegated_out(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  auto flags_in = [](PyObject* o) {
    return is_tensor(o) ? tensor_of(o).impl()->flags & (kDispatched | kSparse) : uint32_t{0};
  };
  const Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
  PyObject* out = nullptr;
  for (Py_ssize_t k = 0; k < n && !out; k++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), "out") == 0) out = args[nargs + k];
  if (!out || out == Py_None) return 0;
  uint32_t flags = (mode_is(kDispatchMode) ? kDispatched : uint32_t{0}) | (self ? flags_in(self) : 0);
  for (Py_ssize_t i = 0; i < nargs + n; i++) {
    flags |= flags_in(args[i]);
    if (PyTuple_Check(args[i]) || PyList_Check(args[i]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(args[i]); k++)
        flags |= flags_in(PySequence_Fast_GET_ITEM(args[i], k));
  }
  return flags;
}

// Functions whose first argument may be a number in every overload.
bool takes_number_first(std::string_view name) {
  constexpr std::string_view names[] = {"add",      "sub",         "mul",          "div",   "subtract",
                                        "multiply", "true_divide", "floor_divide", "divide"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

PyObject* invoke(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  try {
    if (UT_UNLIKELY(!f.ready)) make_ready(f);
    Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (UT_UNLIKELY(mode_is(kOverrides) || (!mode_is(kNoOverrides) && any_override(self, args, total)))) {
      if (!self) return call_override(f.public_function, args, nargs, kwnames);
      std::vector<PyObject*> all{self};
      all.insert(all.end(), args, args + total);
      PyRef method(check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), f.name)));
      return call_override(method.get(), all.data(), nargs + 1, kwnames);
    }
    if (UT_UNLIKELY(kwnames && f.public_function)) {
      if (uint32_t flags = delegated_out(self, args, nargs, kwnames)) {
        std::vector<PyObject*> all(self ? 1 : 0, self);
        all.insert(all.end(), args, args + total);
        const char* rules = flags & kDispatched ? "undertow._aten._out_forms" : "undertow.sparse._out_forms";
        return call_delegated_out(rules, f.public_function, all.data(), nargs + (self ? 1 : 0), kwnames);
      }
    }
    PyObject* slots[kMaxArgs];
    PyRef varargs;
    for (int k = 0; k < f.count; k++)
      if (match(f, f.overloads[k], self, args, nargs, kwnames, slots, varargs, nullptr))
        return f.overloads[k].call(slots);
    std::vector<PyObject*> arranged;
    PyRef names, first;
    // A number first, as in div(7, x, rounding_mode="floor"), becomes a tensor that is weak in promotion, as in torch.
    const bool copied = self && nargs >= 1 && std::string_view(f.name) == "copy_";
    if ((copied || (!self && nargs == 2 && takes_number_first(f.name))) && is_number_like(args[0]) &&
        !is_tensor(args[0])) {
      first = PyRef(wrap(copied || is_number_like(args[1]) ? tensor_from_data(args[0], std::nullopt)
                                                           : ops::as_number(scalar_arg(args[0]))));
      arranged.assign(args, args + total);
      arranged[0] = first.get();
      return invoke(f, self, arranged.data(), nargs, kwnames);
    }
    if (match_deprecated_order(f, self, args, nargs, kwnames, arranged, names)) {
      const Py_ssize_t positional = static_cast<Py_ssize_t>(arranged.size()) - PyTuple_GET_SIZE(names.get());
      for (int k = 0; k < f.count; k++)
        if (match(f, f.overloads[k], self, arranged.data(), positional, names.get(), slots, varargs, nullptr))
          return f.overloads[k].call(slots);
    }
    no_match(f, self, args, nargs, kwnames);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* call_slots(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject** slots,
                     PyObject* (*call)(PyObject**)) {
  if (UT_UNLIKELY(mode_is(kOverrides))) return invoke(f, self, args, n, nullptr);
  try {
    return call(slots);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* call_with_ints(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t n,
                         Tensor (*call)(const Tensor&, IntSpan)) {
  if (UT_UNLIKELY(mode_is(kOverrides) || n > 8)) return invoke(f, self, args, n, nullptr);
  try {
    int64_t ints[8];
    for (Py_ssize_t i = 0; i < n; i++) ints[i] = int_arg(args[i]);
    return wrap(call(tensor_of(self), IntSpan(ints, static_cast<size_t>(n))));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* call_fast(Function& f, PyObject* self, PyObject* (*call)(PyObject*)) {
  if (UT_UNLIKELY(mode_is(kOverrides))) return invoke(f, self, nullptr, 0, nullptr);
  try {
    return call(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace undertow::core::python
