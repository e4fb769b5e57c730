// tensor_protocols.cpp: see tensor_protocols.h. The arithmetic slots are the hottest code in the binding layer.
#include "core/python/tensor/tensor_protocols.h"

#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/overridable.h"
#include "core/python/cpython_versions.h"
#include "core/python/errors.h"
#include "core/python/tensor/indexing.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/mode.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

bool is_number(PyObject* o) {
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

// Operators whose Python method is the slot itself: the table operator that computes them, which side self is on, and
// the method that __torch_function__ receives if it is a different one, as in torch.
struct SlotMethod {
  std::string_view method;
  const char* op;
  bool self_first;
  const char* reported_as = nullptr;
};
constexpr SlotMethod kSlotMethods[] = {{"__radd__", "add", true, "add"},
                                       {"__rmul__", "mul", true, "mul"},
                                       {"__rsub__", "rsub", true},
                                       {"__pow__", "pow", true},
                                       {"__rpow__", "pow", false},
                                       {"__floordiv__", "floor_divide", true},
                                       {"__rfloordiv__", "floor_divide", false},
                                       {"__rmod__", "remainder", false},
                                       {"__rmatmul__", "matmul", false},
                                       {"__eq__", "eq", true},
                                       {"__and__", "bitwise_and", true},
                                       {"__rand__", "bitwise_and", true, "bitwise_and"},
                                       {"__or__", "bitwise_or", true},
                                       {"__ror__", "bitwise_or", true, "bitwise_or"},
                                       {"__xor__", "bitwise_xor", true},
                                       {"__rxor__", "bitwise_xor", true, "bitwise_xor"},
                                       {"__lshift__", "bitwise_left_shift", true},
                                       {"__rlshift__", "bitwise_left_shift", false},
                                       {"__rshift__", "bitwise_right_shift", true},
                                       {"__rrshift__", "bitwise_right_shift", false},
                                       {"__ipow__", "pow_", true},
                                       {"__iand__", "bitwise_and_", true},
                                       {"__ior__", "bitwise_or_", true},
                                       {"__ixor__", "bitwise_xor_", true},
                                       {"__ilshift__", "bitwise_left_shift_", true},
                                       {"__irshift__", "bitwise_right_shift_", true}};
const SlotMethod* slot_method(std::string_view method) {
  for (const SlotMethod& m : kSlotMethods)
    if (m.method == method) return &m;
  return nullptr;
}

PyObject* table_function(const char* name) {
  static PyObject* table = [] {
    PyRef module(check(PyImport_ImportModule("undertow._C")));
    return check(PyObject_GetAttrString(module.get(), "_ops"));
  }();
  return PyDict_GetItemString(table, name);  // borrowed
}

bool overrides_apply(PyObject* self, PyObject* other) {
  return is_overridden(self) || (!mode_is(kNoOverrides) && has_override(other));
}

PyObject* try_method(PyObject* self, const char* method, PyObject* other) {
  const SlotMethod* slot = slot_method(method);
  if (overrides_apply(self, other))
    return override_method(slot && slot->reported_as ? slot->reported_as : method, self, &other, 1);
  if (std::string_view(method) == "__rtruediv__") {  // other / self
    PyRef reciprocal(check(PyObject_CallMethod(self, "reciprocal", nullptr)));
    return PyNumber_Multiply(reciprocal.get(), other);
  }
  if (slot) {
    if (std::string_view(method).starts_with("__i")) return PyObject_CallMethod(self, slot->op, "O", other);
    PyObject* f = table_function(slot->op);
    if (!f) Py_RETURN_NOTIMPLEMENTED;
    PyObject* args[] = {slot->self_first ? self : other, slot->self_first ? other : self};
    return PyObject_Vectorcall(f, args, 2, nullptr);
  }
  PyRef f(check(PyObject_GetAttrString(self, method)));
  return PyObject_CallOneArg(f.get(), other);
}

// All cases other than tensor with tensor and tensor with number: overrides, other types.
PyObject* by_method(PyObject* self, const char* method, PyObject* other, const char* reflected = nullptr) {
  PyRef r(try_method(self, method, other));
  if (r) return r.release();
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  // An operand of another type: let Python try its reflected method.
  if (!is_tensor(other)) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  if (!reflected || !overrides_apply(self, other)) throw PythonError();
  // No override has computed it: they are asked for the reflected method too. Python does not do that, because both
  // classes have the same slot.
  PythonError first;
  r = PyRef(try_method(other, reflected, self));
  if (r) return r.release();
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  throw first;
}

using TT = Tensor (*)(const Tensor&, const Tensor&);
using TS = Tensor (*)(const Tensor&, const Scalar&);
using ST = Tensor (*)(const Scalar&, const Tensor&);

// a op b, with a tensor on at least one side.
template <TT tt, TS ts, ST st>
PyObject* binary(PyObject* a, PyObject* b, const char* method, const char* reflected) {
  try {
    if (UT_LIKELY(!mode_is(kOverrides))) {
      bool ta = is_plain_tensor(a), tb = is_plain_tensor(b);
      if (UT_LIKELY(ta && tb)) {
        const Tensor &x = tensor_of(a), &y = tensor_of(b);
        Tensor r = [&] {
          LongOp unlocked(x, y);
          return tt(x, y);
        }();
        return wrap(std::move(r));
      }
      if (ta && is_number(b)) return wrap(ts(tensor_of(a), scalar_arg(b)));
      if (tb && is_number(a)) return wrap(st(scalar_arg(a), tensor_of(b)));
    }
    if (is_tensor(a)) return by_method(a, method, b, reflected);
    return by_method(b, reflected, a);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// The operators as functions, so that they can be template arguments.
Tensor add_tt(const Tensor& a, const Tensor& b) { return ops::add(a, b, Scalar(1)); }
Tensor add_ts(const Tensor& a, const Scalar& b) { return ops::add(a, b, Scalar(1)); }
Tensor add_st(const Scalar& a, const Tensor& b) { return ops::add(b, a, Scalar(1)); }
Tensor sub_tt(const Tensor& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }
Tensor sub_ts(const Tensor& a, const Scalar& b) { return ops::sub(a, b, Scalar(1)); }
Tensor sub_st(const Scalar& a, const Tensor& b) { return ops::rsub(b, a, Scalar(1)); }
Tensor mul_tt(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor mul_ts(const Tensor& a, const Scalar& b) { return ops::mul(a, b); }
Tensor mul_st(const Scalar& a, const Tensor& b) { return ops::mul(b, a); }
Tensor div_tt(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor div_ts(const Tensor& a, const Scalar& b) { return ops::div(a, b); }
Tensor div_st(const Scalar& a, const Tensor& b) { return ops::mul(ops::reciprocal(b), a); }

PyObject* nb_add(PyObject* a, PyObject* b) { return binary<add_tt, add_ts, add_st>(a, b, "add", "__radd__"); }
PyObject* nb_subtract(PyObject* a, PyObject* b) { return binary<sub_tt, sub_ts, sub_st>(a, b, "sub", "__rsub__"); }
PyObject* nb_multiply(PyObject* a, PyObject* b) { return binary<mul_tt, mul_ts, mul_st>(a, b, "mul", "__rmul__"); }
PyObject* nb_true_divide(PyObject* a, PyObject* b) {
  return binary<div_tt, div_ts, div_st>(a, b, "div", "__rtruediv__");
}

Tensor floordiv_tt(const Tensor& a, const Tensor& b) { return ops::floor_divide(a, b); }
Tensor floordiv_ts(const Tensor& a, const Scalar& b) { return ops::floor_divide(a, b); }
Tensor floordiv_st(const Scalar& a, const Tensor& b) { return ops::floor_divide(a, b); }
Tensor mod_tt(const Tensor& a, const Tensor& b) { return ops::remainder(a, b); }
Tensor mod_ts(const Tensor& a, const Scalar& b) { return ops::remainder(a, b); }
Tensor mod_st(const Scalar& a, const Tensor& b) { return ops::remainder(a, b); }
Tensor pow_tt(const Tensor& a, const Tensor& b) { return ops::pow(a, b); }
Tensor pow_ts(const Tensor& a, const Scalar& b) { return ops::pow(a, b); }
Tensor pow_st(const Scalar& a, const Tensor& b) { return ops::pow(a, b); }

PyObject* nb_floor_divide(PyObject* a, PyObject* b) {
  return binary<floordiv_tt, floordiv_ts, floordiv_st>(a, b, "__floordiv__", "__rfloordiv__");
}
PyObject* nb_remainder(PyObject* a, PyObject* b) {
  return binary<mod_tt, mod_ts, mod_st>(a, b, "remainder", "__rmod__");
}
PyObject* nb_power(PyObject* a, PyObject* b, PyObject*) {
  return binary<pow_tt, pow_ts, pow_st>(a, b, "__pow__", "__rpow__");
}

// For a number on the left of a comparison, Python calls the reflected method: a is always the tensor.
#define UT_COMPARISON(name, reflected, method)                                        \
  Tensor name##_tt(const Tensor& a, const Tensor& b) { return ops::name(a, b); }      \
  Tensor name##_ts(const Tensor& a, const Scalar& b) { return ops::name(a, b); }      \
  Tensor name##_st(const Scalar& a, const Tensor& b) { return ops::reflected(b, a); } \
  PyObject* compare_##name(PyObject* a, PyObject* b) {                                \
    return binary<name##_tt, name##_ts, name##_st>(a, b, method, #reflected);         \
  }
UT_COMPARISON(lt, gt, "lt")
UT_COMPARISON(le, ge, "le")
UT_COMPARISON(eq, eq, "__eq__")
UT_COMPARISON(ne, ne, "ne")
UT_COMPARISON(gt, lt, "gt")
UT_COMPARISON(ge, le, "ge")
#undef UT_COMPARISON

// a op= b, with a plain tensor on the left and a tensor or number on the right.
using InplaceTT = void (*)(const Tensor&, const Tensor&);
using InplaceTS = void (*)(const Tensor&, const Scalar&);
template <InplaceTT tt, InplaceTS ts>
PyObject* inplace(PyObject* a, PyObject* b, const char* method) {
  return guarded([&]() -> PyObject* {
    if (UT_LIKELY(!mode_is(kOverrides) && is_plain_tensor(a))) {
      if (is_plain_tensor(b)) {
        LongOp unlocked(tensor_of(a));
        tt(tensor_of(a), tensor_of(b));
      } else if (is_number(b)) {
        LongOp unlocked(tensor_of(a));
        ts(tensor_of(a), scalar_arg(b));
      } else {
        return by_method(a, method, b);
      }
      return new_ref(a);
    }
    return by_method(a, method, b);
  });
}
#define UT_INPLACE(name, ...)                                                                          \
  void name##_itt(const Tensor& a, const Tensor& b) { ops::name##_(a, b __VA_OPT__(, ) __VA_ARGS__); } \
  void name##_its(const Tensor& a, const Scalar& b) { ops::name##_(a, b __VA_OPT__(, ) __VA_ARGS__); } \
  PyObject* nb_inplace_##name(PyObject* a, PyObject* b) { return inplace<name##_itt, name##_its>(a, b, #name "_"); }
UT_INPLACE(add, Scalar(1))
UT_INPLACE(sub, Scalar(1))
UT_INPLACE(mul)
UT_INPLACE(div)
#undef UT_INPLACE

// Less frequent operators call the method of that name on the left tensor, or the reflected one on the right.
template <const char* method, const char* reflected>
PyObject* by_name(PyObject* a, PyObject* b) {
  try {
    if (is_tensor(a)) return by_method(a, method, b, reflected);
    return by_method(b, reflected, a);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
#define UT_NAMES(id, m, r) constexpr char m_##id[] = m, r_##id[] = r
UT_NAMES(matmul, "matmul", "__rmatmul__");
UT_NAMES(and_, "__and__", "__rand__");
UT_NAMES(or_, "__or__", "__ror__");
UT_NAMES(xor_, "__xor__", "__rxor__");
UT_NAMES(lshift, "__lshift__", "__rlshift__");
UT_NAMES(rshift, "__rshift__", "__rrshift__");
UT_NAMES(ifloordiv, "floor_divide_", "floor_divide_");
UT_NAMES(imod, "remainder_", "remainder_");
UT_NAMES(iand, "__iand__", "__iand__");
UT_NAMES(ior, "__ior__", "__ior__");
UT_NAMES(ixor, "__ixor__", "__ixor__");
UT_NAMES(ilshift, "__ilshift__", "__ilshift__");
UT_NAMES(irshift, "__irshift__", "__irshift__");
#undef UT_NAMES

PyObject* nb_ipow(PyObject* a, PyObject* b, PyObject*) {
  return guarded([&] { return by_method(a, "__ipow__", b); });
}

PyObject* nb_matmul(PyObject* a, PyObject* b) {
  if (UT_LIKELY(is_plain_tensor(a) && is_plain_tensor(b) && !mode_is(kOverrides))) {
    return guarded([&] {
      const Tensor &x = tensor_of(a), &y = tensor_of(b);
      Tensor r = [&] {
        LongOp unlocked(x, y);
        return ops::matmul(x, y);
      }();
      return wrap(std::move(r));
    });
  }
  return by_name<m_matmul, r_matmul>(a, b);
}

// Unary protocols: tests whether a subclass or a mode overrides them, and calls the override.
bool has_unary_override(PyObject* self) { return may_be_overridden(self) && is_overridden(self); }
PyObject* call_unary_override(const char* method, PyObject* self) { return override_method(method, self, &self, 0); }

PyObject* nb_negative(PyObject* a) {
  if (is_plain_tensor(a) && !mode_is(kOverrides)) return guarded([&] { return wrap(ops::neg(tensor_of(a))); });
  return PyObject_CallMethod(a, "neg", nullptr);
}
PyObject* nb_positive(PyObject* a) { return PyObject_CallMethod(a, "positive", nullptr); }
PyObject* nb_absolute(PyObject* a) { return PyObject_CallMethod(a, "abs", nullptr); }
PyObject* nb_invert(PyObject* a) {
  if (has_unary_override(a)) return call_unary_override("__invert__", a);
  if (!is_integral(tensor_of(a).dtype())) {
    PyErr_SetString(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return PyObject_CallMethod(a, "bitwise_not", nullptr);
}

// Conversion to a Python number: for one element, else torch's error.
Scalar one_element(PyObject* self) {
  UT_CHECK_VALUE(tensor_of(self).numel() == 1,
                 "only one element tensors can be converted to Python scalars, but this one has ",
                 tensor_of(self).numel());
  return ops::item(tensor_of(self));
}
int nb_bool(PyObject* self) {
  if (has_unary_override(self)) {
    PyRef answer(call_unary_override("__bool__", self));
    return answer ? PyObject_IsTrue(answer.get()) : -1;
  }
  try {
    const Tensor& t = tensor_of(self);
    UT_CHECK(!t.impl()->has(kBatched),
             "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow: its truth "
             "value differs from sample to sample; use "
             "where() in place of if");
    UT_CHECK(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    UT_CHECK(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return one_element(self).to<bool>();
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* nb_int(PyObject* self) {
  if (has_unary_override(self)) return call_unary_override("__int__", self);
  return guarded([&]() -> PyObject* {
    Scalar s = one_element(self);
    if (s.kind() == Scalar::Kind::UInt) return wrap(s);
    if (s.is_integral()) return wrap(s.to_int());
    UT_CHECK(!s.is_complex(), "value cannot be converted to type int64_t without overflow");
    return check(PyLong_FromDouble(s.to_double()));
  });
}
PyObject* nb_float(PyObject* self) {
  if (has_unary_override(self)) return call_unary_override("__float__", self);
  return guarded([&]() -> PyObject* {
    Scalar s = one_element(self);
    UT_CHECK(!s.is_complex() || s.to_complex().imag() == 0,
             "value cannot be converted to type double without overflow");
    return wrap(s.to_double());
  });
}
PyObject* nb_index(PyObject* self) {
  if (has_unary_override(self)) return call_unary_override("__index__", self);
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(is_integral(tensor_of(self).dtype()) && tensor_of(self).numel() == 1,
                  "only integer tensors of a single element can be converted to an index");
    Scalar s = one_element(self);
    return s.kind() == Scalar::Kind::UInt ? wrap(s) : wrap(s.to_int());
  });
}

PyObject* richcompare(PyObject* a, PyObject* b, int op) {
  if (op == Py_EQ || op == Py_NE) {
    // Comparison with None and other foreign objects is by identity, as in torch.
    if (!is_tensor(b) && !is_number(b) && !PyNumber_Check(b) && !has_override(b)) Py_RETURN_NOTIMPLEMENTED;
  }
  switch (op) {
    case Py_LT:
      return compare_lt(a, b);
    case Py_LE:
      return compare_le(a, b);
    case Py_EQ:
      return compare_eq(a, b);
    case Py_NE:
      return compare_ne(a, b);
    case Py_GT:
      return compare_gt(a, b);
    default:
      return compare_ge(a, b);
  }
}

Py_ssize_t length(PyObject* self) {
  if (has_unary_override(self)) {
    PyRef answer(call_unary_override("__len__", self));
    return answer ? PyLong_AsSsize_t(answer.get()) : -1;
  }
  const Tensor& t = tensor_of(self);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return t.size(0);
}
PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&] { return get_item(self, index); });
}
int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  try {
    UT_CHECK_TYPE(value, "Tensor does not support deleting items");
    set_item(self, index, value);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}
int has_element(PyObject* self, PyObject* element) {
  try {
    return contains(self, element);
  } catch (...) {
    set_python_error();
    return -1;
  }
}
PyObject* iterate(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    UT_CHECK_TYPE(t.dim() > 0, "iteration over a 0-d tensor");
    PyRef parts(PyObject_CallMethod(self, "unbind", "i", 0));
    if (!parts) throw PythonError();
    return check(PyObject_GetIter(parts.get()));
  });
}
Py_hash_t hash(PyObject* self) { return hash_of_address(self); }

}  // namespace

void add_tensor_protocols(std::vector<PyType_Slot>& slots) {
  auto add = [&](int id, auto* f) { slots.push_back({id, reinterpret_cast<void*>(f)}); };
  add(Py_nb_add, nb_add);
  add(Py_nb_subtract, nb_subtract);
  add(Py_nb_multiply, nb_multiply);
  add(Py_nb_true_divide, nb_true_divide);
  add(Py_nb_floor_divide, nb_floor_divide);
  add(Py_nb_remainder, nb_remainder);
  add(Py_nb_power, nb_power);
  add(Py_nb_inplace_power, nb_ipow);
  add(Py_nb_matrix_multiply, nb_matmul);
  add(Py_nb_and, by_name<m_and_, r_and_>);
  add(Py_nb_or, by_name<m_or_, r_or_>);
  add(Py_nb_xor, by_name<m_xor_, r_xor_>);
  add(Py_nb_lshift, by_name<m_lshift, r_lshift>);
  add(Py_nb_rshift, by_name<m_rshift, r_rshift>);
  add(Py_nb_inplace_add, nb_inplace_add);
  add(Py_nb_inplace_subtract, nb_inplace_sub);
  add(Py_nb_inplace_multiply, nb_inplace_mul);
  add(Py_nb_inplace_true_divide, nb_inplace_div);
  add(Py_nb_inplace_floor_divide, by_name<m_ifloordiv, r_ifloordiv>);
  add(Py_nb_inplace_remainder, by_name<m_imod, r_imod>);
  add(Py_nb_inplace_and, by_name<m_iand, r_iand>);
  add(Py_nb_inplace_or, by_name<m_ior, r_ior>);
  add(Py_nb_inplace_xor, by_name<m_ixor, r_ixor>);
  add(Py_nb_inplace_lshift, by_name<m_ilshift, r_ilshift>);
  add(Py_nb_inplace_rshift, by_name<m_irshift, r_irshift>);
  add(Py_nb_negative, nb_negative);
  add(Py_nb_positive, nb_positive);
  add(Py_nb_absolute, nb_absolute);
  add(Py_nb_invert, nb_invert);
  add(Py_nb_bool, nb_bool);
  add(Py_nb_int, nb_int);
  add(Py_nb_float, nb_float);
  add(Py_nb_index, nb_index);
  add(Py_tp_richcompare, richcompare);
  add(Py_tp_hash, hash);
  add(Py_tp_iter, iterate);
  add(Py_mp_length, length);
  add(Py_sq_length, length);
  add(Py_sq_contains, has_element);
  add(Py_mp_subscript, subscript);
  add(Py_mp_ass_subscript, assign_subscript);
}

}  // namespace undertow::core::python
