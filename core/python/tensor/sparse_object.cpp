// sparse_object.cpp: how undertow/sparse creates sparse tensors and reads and replaces their parts. The parts are
// ordinary tensors; everything that is computed with them is in Python. See Note [Sparse Tensors].
// build: small
#include "core/python/arguments/convert.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_attributes.h"
#include "core/python/types/dtype_object.h"
#include "core/tensor/sparse.h"

namespace undertow::core::python {

namespace {

// A part has no history: that of the sparse tensor is its own. It is an alias, which resize_ and set_ of the tensor
// that the user gave leave alone.
Tensor part_arg(PyObject* o) {
  if (o == Py_None) return {};
  UT_CHECK_TYPE(is_tensor(o), "a part of a sparse tensor is a tensor, got ", Py_TYPE(o)->tp_name);
  const Tensor& t = tensor_of(o);
  UT_CHECK(!t.impl()->has(kDelegated), "a part of a sparse tensor is strided, and not under vmap");
  return alias(t);
}
const Tensor& sparse_arg(PyObject* o) {
  UT_CHECK_TYPE(is_tensor(o) && tensor_of(o).is_sparse(), "expected a sparse tensor");
  return tensor_of(o);
}
// (layout, indices, plain_indices, values, coalesced)
SparseParts parts_arg(PyObject* const* args) {
  UT_CHECK_TYPE(args[1] != Py_None && args[3] != Py_None, "a sparse tensor has indices and values");
  return {layout_from(args[0]), PyObject_IsTrue(args[4]) == 1, part_arg(args[1]), part_arg(args[2]), part_arg(args[3])};
}

// _make_sparse(layout, indices, plain_indices, values, coalesced, size)
PyObject* make(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 6 && Py_TYPE(args[0]) == layout_type,
                  "_make_sparse() takes a layout, three parts, a bool and a size");
    Dims sizes = ints_arg(args[5]);
    return wrap(make_sparse(parts_arg(args), sizes));
  });
}
// _sparse_parts(t): (layout, indices, plain_indices, values, coalesced)
PyObject* parts(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    const SparseParts& p = sparse_parts(sparse_arg(o));
    PyRef indices(check(wrap(p.indices))), plain(check(wrap(p.plain_indices))), values(check(wrap(p.values)));
    return PyTuple_Pack(5, layout_object(p.layout), indices.get(), plain.get(), values.get(),
                        p.coalesced ? Py_True : Py_False);
  });
}
// _set_sparse(t, layout, indices, plain_indices, values, coalesced, size): in place.
PyObject* set_parts(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    UT_CHECK_TYPE(n == 7 && Py_TYPE(args[1]) == layout_type, "_set_sparse() takes a sparse tensor and its parts");
    const Tensor& t = sparse_arg(args[0]);
    Dims sizes = ints_arg(args[6]);
    SparseParts p = parts_arg(args + 1);
    t.impl()->dtype = p.values.dtype();
    t.impl()->set_sizes(sizes);
    sparse_parts(t) = std::move(p);
    t.bump_version("an in-place operation on a sparse tensor");
    return new_ref(args[0]);
  });
}
// _sparse_alias(t): the same parts without history.
PyObject* alias_of(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(alias(sparse_arg(o))); });
}

PyMethodDef functions[] = {{"_make_sparse", reinterpret_cast<PyCFunction>(make), METH_FASTCALL, nullptr},
                           {"_sparse_parts", parts, METH_O, nullptr},
                           {"_set_sparse", reinterpret_cast<PyCFunction>(set_parts), METH_FASTCALL, nullptr},
                           {"_sparse_alias", alias_of, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool init_sparse_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace undertow::core::python
