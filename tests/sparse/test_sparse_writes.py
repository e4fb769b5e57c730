"""Sparse tensors that are written: by operators in place, with their gradients, and by functions with `out=`."""

from __future__ import annotations

import pytest

import undertow as ut

ELEMENTS = [[0.0, 0.5, 0.0], [-0.25, 0.0, 0.75]]


def matrix(lib, layout="sparse_coo", dtype="float32"):
    return lib.tensor(ELEMENTS).to(getattr(lib, dtype)).to_sparse(layout=getattr(lib, layout))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_functions_of_one_tensor_write_to_out(layout, same_as_torch):
    def scenario(lib):
        found = []
        for name in ("sin", "abs", "neg", "sqrt", "round", "sign", "log1p"):
            out = matrix(lib, layout) * 2
            returned = getattr(lib, name)(matrix(lib, layout), out=out)
            found.append((returned is out, out.to_dense(), str(out.layout)))
        return found

    same_as_torch(scenario)


def test_sums_and_products_write_to_out(same_as_torch):
    def scenario(lib):
        x, d = matrix(lib), lib.tensor(ELEMENTS)
        out = lib.zeros(5, 5).to_sparse()
        found = [lib.add(x, x, out=out).to_dense(), lib.mul(x, 3, out=out).to_dense(), lib.sub(x, x, alpha=3, out=out).to_dense()]
        found += [lib.add(d, x, out=lib.zeros(2, 3)), lib.mm(x, d.t(), out=lib.zeros(2, 2))]
        c = x.to_sparse_csr()
        found += [lib.add(c, c, out=lib.zeros(2, 3).to_sparse_csr()).to_dense(), lib.mm(c, c.t(), out=lib.zeros(2, 2))]
        found += [lib.addmm(lib.ones(2, 2), c, d.t(), alpha=2, out=lib.zeros(2, 2)), lib.addmv(lib.ones(2), c, d[0], out=lib.zeros(2))]
        found.append(lib.hspmm(x, d.t(), out=lib.zeros(2, 2).to_sparse(1)).to_dense())
        found.append(lib.sparse.sampled_addmm(c, d, lib.ones(3, 3), out=matrix(lib, "sparse_csr")).to_dense())
        return found

    same_as_torch(scenario)


@pytest.mark.parametrize("case", ["out", "in_place", "sum", "quotient"])
def test_a_result_that_the_written_dtype_cannot_hold_raises(case, same_as_torch):
    def scenario(lib):
        x = matrix(lib, dtype="int64")
        if case == "out":
            return lib.sin(x, out=x)
        if case == "in_place":
            return x.sin_()
        return x.add_(matrix(lib)) if case == "sum" else x.div_(2)

    same_as_torch(scenario)


@pytest.mark.parametrize("written", [False, True])
def test_out_is_refused_if_a_tensor_requires_grad(written, same_as_torch):
    def scenario(lib):
        x, out = matrix(lib), matrix(lib)
        (out if written else x).requires_grad_()
        lib.sin(x, out=out)

    same_as_torch(scenario)


def test_out_of_another_layout_than_the_result_is_refused():
    x = matrix(ut)
    for out in (ut.zeros(2, 3), matrix(ut, "sparse_csr")):
        with pytest.raises(RuntimeError, match="expected out to have the layout of the result, Sparse, got"):
            ut.sin(x, out=out)
    with pytest.raises(RuntimeError, match="expected out to have the layout of the result, Strided, got Sparse"):
        ut.mm(x, ut.ones(3, 2), out=x)


def test_a_copy_into_a_sparse_tensor_passes_the_gradient_to_its_source(same_as_torch):
    def scenario(lib):
        x, y = matrix(lib), matrix(lib).requires_grad_()
        x.copy_(y)
        (x * 2).backward(lib.ones(2, 3).to_sparse())
        return x.requires_grad, type(x.grad_fn).__name__, y.grad.to_dense()

    same_as_torch(scenario)


@pytest.mark.parametrize("name, arguments", [("mul_", (3,)), ("sin_", ()), ("add_", None), ("div_", (2,)), ("zero_", ())])
def test_an_operator_in_place_has_the_gradient_of_the_one_that_is_not(name, arguments):
    def written(x):
        y = x * 1
        y = getattr(y, name)(*([matrix(ut)] if arguments is None else arguments))
        assert y.requires_grad
        return y

    x = matrix(ut).requires_grad_()
    written(x).to_dense().sum().backward()
    z = matrix(ut).requires_grad_()
    if name == "zero_":
        assert x.grad is None or not x.grad.to_dense().any()
        return
    getattr(z, name[:-1])(*([matrix(ut)] if arguments is None else arguments)).to_dense().sum().backward()
    assert ut.equal(x.grad.to_dense(), z.grad.to_dense())


def test_a_value_that_a_backward_pass_needs_and_that_was_written_is_noticed():
    x = matrix(ut).requires_grad_()
    y = x * 1
    z = y * y
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.to_dense().sum().backward()


def test_a_sparse_leaf_that_requires_grad_is_not_written(same_as_torch):
    def scenario(lib):
        try:
            matrix(lib).requires_grad_().mul_(2)
        except RuntimeError as error:
            return str(error)[:74]

    same_as_torch(scenario)


def test_a_tensor_without_values_can_be_added_to_one_with_other_dense_dimensions(same_as_torch):
    def scenario(lib):
        x = lib.tensor([[1.0, 2.0], [0.0, 3.0]]).to_sparse(1)
        none = lib.sparse_coo_tensor((2, 2))
        return [(x + none).to_dense(), (none + x).to_dense(), lib.add(none, x, alpha=2).to_dense(), (x + none)._values()]

    same_as_torch(scenario)
