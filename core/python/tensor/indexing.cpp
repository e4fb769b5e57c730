// indexing.cpp: see indexing.h. The common indices (an int, a slice, a tuple of them) allocate only the result.
//
// Note [Items Of An Index]
// The items of an index are processed once, from left to right. `dim` is the dimension of the current view to which the
// next item applies. An int selects and leaves dim unchanged; a slice, None and a bool advance it by one; an ellipsis
// skips the dimensions that no item names. Tensors are collected, each with its dim, and applied at the end by one
// index or index_put.
#include "core/python/tensor/indexing.h"

#include "core/autograd/delegated/delegated.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/python/arguments/args.h"
#include "core/python/arguments/convert.h"
#include "core/python/arguments/safe_read.h"
#include "core/python/errors.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "generated/ops.h"

namespace undertow::core::python {

namespace {

int64_t integer(PyObject* o) {
  if (UT_LIKELY(PyLong_CheckExact(o))) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    UT_CHECK_VALUE(!overflow, "Overflow when unpacking long long");
    return v;
  }
  PyRef i(check(PyNumber_Index(o)));
  return integer(i.get());
}

// `position`: the position of the item in the index, for torch's error message.
Tensor select_item(const Tensor& t, int64_t dim, int64_t index, int64_t position) {
  UT_CHECK_INDEX(t.dim() > 0,
                 "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                 "convert a 0-dim tensor to a number");
  int64_t n = t.size(dim);
  UT_CHECK_INDEX(index >= -n && index < n, "index ", index, " is out of bounds for dimension ", position, " with size ",
                 n);
  return ops::select(t, dim, index);
}

struct SliceBounds {
  Py_ssize_t start, stop, step;
  explicit SliceBounds(PyObject* slice) {
    auto* s = reinterpret_cast<PySliceObject*>(slice);
    if (s->start == Py_None && s->stop == Py_None && s->step == Py_None) {
      start = 0;
      stop = PY_SSIZE_T_MAX;
      step = 1;
      return;
    }
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
    UT_CHECK_VALUE(step > 0, "step must be greater than zero; got ", step);
  }
  bool takes_all(int64_t n) const { return start == 0 && stop >= n && step == 1; }
};
Tensor slice_item(const Tensor& t, int64_t dim, const SliceBounds& b) {
  UT_CHECK_INDEX(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  return ops::slice(t, dim, b.start, b.stop, b.step);
}

// Python's True and False, and zero-dimensional masks: a new dimension with one element or none.
Tensor bool_as_index(bool b) {
  int64_t n = b ? 1 : 0;
  return fwd::zeros(IntSpan(&n, 1), DType::Int64, kCpu);
}
bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

class Walk {
 public:
  explicit Walk(const Tensor& self) : now_(&self), self_(&self) {}

  const Tensor& view() const { return *now_; }
  bool is_whole() const { return now_ == self_; }
  bool has_tensors() const { return !tensors_.empty(); }
  TensorSpan tensors() const { return {tensors_.data(), tensors_.size()}; }

  void tuple(PyObject* const* items, Py_ssize_t n) {
    int64_t named = 0;
    for (Py_ssize_t i = 0; i < n; i++) named += dims_named_by(items[i]);
    UT_CHECK_INDEX(named <= self_->dim(), "too many indices for tensor of dimension ", self_->dim());
    for (Py_ssize_t i = 0; i < n; i++) item(items[i], i, named);
  }

 private:
  static int64_t dims_named_by(PyObject* o) {
    if (PyLong_CheckExact(o) || PySlice_Check(o)) return 1;
    if (o == Py_Ellipsis || o == Py_None || PyBool_Check(o)) return 0;
    if (is_tensor(o) && is_mask(tensor_of(o))) return tensor_of(o).dim();
    return 1;
  }
  void set(Tensor t) {
    held_ = std::move(t);
    now_ = &held_;
  }
  void record(Tensor t) {
    int64_t covers = is_mask(t) ? t.dim() : 1;
    for (; covered_ < dim_; covered_++) tensors_.push_back(Tensor());
    tensors_.push_back(std::move(t));
    covered_ += covers;
    dim_ += covers;
  }
  void tensor(const Tensor& t, Py_ssize_t position) {
    if (t.dim() == 0 && is_integral(t.dtype()) && !t.impl()->has(kDelegated | kDispatched)) {
      if (!is_mask(t)) return set(select_item(*now_, dim_, ops::item(t).to_int(), position));
      bool on = ops::item(t).to<bool>();
      set(ops::unsqueeze(*now_, dim_));
      return record(bool_as_index(on));
    }
    record(t);
  }
  void item(PyObject* o, Py_ssize_t position, int64_t named) {
    if (PyLong_CheckExact(o)) return set(select_item(*now_, dim_, integer(o), position));
    if (PySlice_Check(o)) {
      SliceBounds b(o);
      if (!b.takes_all(now_->size(dim_))) set(slice_item(*now_, dim_, b));
      dim_++;
      return;
    }
    if (o == Py_Ellipsis) {
      dim_ += self_->dim() - named;
      return;
    }
    if (o == Py_None) {
      set(ops::unsqueeze(*now_, dim_));
      dim_++;
      return;
    }
    if (PyBool_Check(o)) {
      set(ops::unsqueeze(*now_, dim_));
      return record(bool_as_index(o == Py_True));
    }
    if (is_tensor(o)) return tensor(tensor_of(o), position);
    if (is_integer_like(o)) return set(select_item(*now_, dim_, integer(o), position));
    if (PySequence_Check(o)) return tensor(index_from_data(o), position);
    raise_invalid_index(o);
  }

  const Tensor *now_, *self_;
  Tensor held_;
  SmallVector<Tensor, 4> tensors_;  // undefined for a dimension that is taken whole
  int64_t dim_ = 0, covered_ = 0;
};

// Any index, as the items of a tuple.
class Items {
 public:
  explicit Items(PyObject* index) {
    if (PyTuple_Check(index)) {
      data_ = &PyTuple_GET_ITEM(index, 0);
      size_ = PyTuple_GET_SIZE(index);
    } else if (is_disguised_tuple(index)) {
      list_ = snapshot(index, "not a sequence");
      data_ = &PyTuple_GET_ITEM(list_.get(), 0);
      size_ = PyTuple_GET_SIZE(list_.get());
    } else {
      one_ = index;
      data_ = &one_;
      size_ = 1;
    }
  }
  PyObject* const* data() const { return data_; }
  Py_ssize_t size() const { return size_; }

 private:
  PyObject* const* data_;
  PyObject* one_ = nullptr;
  Py_ssize_t size_;
  PyRef list_;
};

// Passes the call to a subclass or a mode.
PyObject* overridden(const char* method, PyObject* self, PyObject* index, PyObject* value) {
  static PyObject* const names[] = {PyUnicode_InternFromString("__getitem__"),
                                    PyUnicode_InternFromString("__setitem__")};
  PyRef f(check(PyObject_GetAttr(reinterpret_cast<PyObject*>(tensor_type), names[method[2] == 's'])));
  PyObject* args[] = {self, index, value};
  return call_override(f.get(), args, value ? 3 : 2, nullptr);
}
bool is_overridden(PyObject* self, PyObject* index, PyObject* value) {
  if (UT_LIKELY(!mode_is(kOverrides))) {
    if (mode_is(kNoOverrides)) return false;
    auto takes_over = [](PyObject* o) {
      return !is_plain_tensor(o) && !PyLong_CheckExact(o) && !PySlice_Check(o) && has_override(o);
    };
    if (!is_plain_tensor(self) && has_override(self)) return true;
    if (value && takes_over(value)) return true;
    if (PyTuple_Check(index) || PyList_Check(index)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(index); i++)
        if (takes_over(PySequence_Fast_GET_ITEM(index, i))) return true;
      return false;
    }
    return takes_over(index);
  }
  return true;
}

Tensor apply_tensors(const Walk& walk) {
  LongOp unlocked(walk.view());
  return ops::index(walk.view(), walk.tensors());
}

// Under a __torch_dispatch__ mode, a number that is assigned is a tensor, which the mode sees first; as in torch.
Tensor lifted_number(const Tensor& t, PyObject* value) {
  if (UT_LIKELY(!mode_is(kDispatchMode)) || !is_number_value(value)) return {};
  return delegated::call<Tensor>("aten::lift_fresh", {value_from_data(value, t)});
}

// A value may have leading dimensions of size one; without them it broadcasts, and so does its gradient.
Tensor without_leading_ones(Tensor src, int64_t dims) {
  IntSpan sizes = src.sizes();
  size_t ones = 0;
  while (static_cast<int64_t>(sizes.size() - ones) > dims && sizes[ones] == 1) ones++;
  return ones ? ops::reshape(src, sizes.subspan(ones)) : src;
}

// dst[...] = value, where dst is the view that the index selected.
void assign(const Tensor& dst, PyObject* value, const Tensor& lifted) {
  if (is_number_value(value)) {
    Scalar number = scalar_arg(value);
    fwd::check_fits(number, dst.dtype());
    check_no_internal_overlap(dst);  // as for a tensor; fill_ itself takes expanded tensors
    if (UT_UNLIKELY(lifted.defined()))
      ops::fill_(dst, lifted);
    else
      ops::fill_(dst, number);
    return;
  }
  Tensor src = without_leading_ones(value_from_data(value, dst), dst.dim());
  if (!same(src.sizes(), dst.sizes())) src = ops::expand(src, dst.sizes(), false);
  LongOp unlocked(dst);
  ops::copy_(dst, src, false);
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* index) {
  if (UT_LIKELY(PyLong_CheckExact(index) && is_plain_tensor(self) && !mode_is(kOverrides)))
    return wrap(select_item(tensor_of(self), 0, integer(index), 0));
  if (UT_UNLIKELY(is_overridden(self, index, nullptr))) return overridden("__getitem__", self, index, nullptr);
  const Tensor& t = tensor_of(self);
  if (PyLong_CheckExact(index)) return wrap(select_item(t, 0, integer(index), 0));
  if (PySlice_Check(index)) return wrap(slice_item(t, 0, SliceBounds(index)));
  if (index == Py_Ellipsis) return wrap(ops::view_alias(t));
  if (index == Py_None) return wrap(ops::unsqueeze(t, 0));
  Items items(index);
  Walk walk(t);
  walk.tuple(items.data(), items.size());
  if (!walk.has_tensors()) return wrap(walk.is_whole() ? ops::view_alias(t) : walk.view());
  return wrap(apply_tensors(walk));
}

void set_item(PyObject* self, PyObject* index, PyObject* value) {
  if (UT_UNLIKELY(is_overridden(self, index, value))) {
    PyRef ignored(check(overridden("__setitem__", self, index, value)));
    return;
  }
  const Tensor& t = tensor_of(self);
  UT_CHECK_TYPE(!t.is_sparse(), "Cannot assign to a sparse tensor");
  if (index == Py_False) return;
  const Tensor lifted = lifted_number(t, value);
  if (PyLong_CheckExact(index)) return assign(select_item(t, 0, integer(index), 0), value, lifted);
  if (index == Py_Ellipsis) return assign(t, value, lifted);
  Items items(index);
  Walk walk(t);
  walk.tuple(items.data(), items.size());
  if (!walk.has_tensors()) return assign(walk.view(), value, lifted);
  Tensor src = without_leading_ones(lifted.defined() ? lifted : value_from_data(value, t), 0);
  LongOp unlocked(walk.view(), src);
  ops::index_put_(walk.view(), walk.tensors(), src, false);
}

bool contains(PyObject* self, PyObject* element) {
  const Tensor& t = tensor_of(self);
  if (is_tensor(element)) return ops::item(ops::any(ops::eq(t, tensor_of(element)))).to<bool>();
  if (is_number_value(element)) return ops::item(ops::any(ops::eq(t, scalar_arg(element)))).to<bool>();
  UT_FAIL("Tensor.__contains__ only supports Tensor or scalar, but you passed in a ",
          shown(PyRef(check(PyObject_Repr(reinterpret_cast<PyObject*>(Py_TYPE(element))))).get()), ".");
}

}  // namespace undertow::core::python
