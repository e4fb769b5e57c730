"""Corners of operators on sparse tensors: dtypes, sizes without elements, what the caller does with the parts, and errors."""

from __future__ import annotations

import pytest

import undertow as ut


def matrix(lib):
    return lib.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse()


def duplicates(lib):
    return lib.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 2))


def test_one_element_of_a_vector_has_the_dtype_of_the_vector(same_as_torch):
    def scenario(lib):
        x = lib.tensor([100, 0, 3], dtype=lib.int8).to_sparse()
        return [x[0], x[1], lib.sparse_coo_tensor([[0, 0]], [100, 100], (1,), dtype=lib.int8)[0]]

    same_as_torch(scenario)


def test_changes_of_the_given_parts_sizes_leave_the_tensor_alone(same_as_torch):
    def scenario(lib):
        indices, values = lib.tensor([[0], [1]]), lib.tensor([[3.0, 4.0, 5.0]])
        x = lib.sparse_coo_tensor(indices, values, (1, 2, 3))
        indices.resize_(2, 3)
        values.resize_(4, 5)
        values.set_(lib.zeros(2))
        return list(x._indices().shape), x.to_dense()

    same_as_torch(scenario)


def test_a_sparse_mask_restricts_a_gradient_that_has_other_values():
    x = ut.sparse_coo_tensor([[0, 1, 2]], [1.0, 2.0, 3.0], (4,)).coalesce().requires_grad_()
    mask = ut.sparse_coo_tensor([[1, 3]], [1.0, 1.0], (4,)).coalesce()
    x.sparse_mask(mask).to_dense(masked_grad=False).backward(ut.tensor([1.0, 2.0, 3.0, 4.0]))
    assert x.grad.to_dense().tolist() == [0, 2, 0, 4]


def test_a_product_of_batches_without_elements_has_its_shape(same_as_torch):
    def scenario(lib):
        shapes = []
        for n, i, j, k in ((2, 0, 3, 4), (2, 3, 0, 4), (0, 2, 3, 4), (2, 3, 4, 0)):
            shapes.append(tuple(lib.bmm(lib.zeros(n, i, j).to_sparse(), lib.zeros(n, j, k)).shape))
        return shapes

    same_as_torch(scenario)


def test_a_tensor_with_dense_dimensions_is_multiplied_by_a_sparse_number(same_as_torch):
    def scenario(lib):
        x = lib.tensor([[1.0, 2.0], [0.0, 3.0]]).to_sparse(1)
        number = lib.tensor(3.0).to_sparse()
        return (x * number).to_dense(), (number * x).to_dense()

    same_as_torch(scenario)


def test_a_half_product_is_rounded_once():
    a, b = ut.full((1, 300), 0.01, dtype=ut.bfloat16), ut.full((300, 1), 1.0, dtype=ut.bfloat16)
    assert ut.equal(a.to_sparse() @ b, (a.float() @ b.float()).to(ut.bfloat16))


def test_random_values_stand_at_the_indices_of_a_compressed_tensor():
    x = ut.eye(3).to_sparse_csr()
    for function in (ut.rand_like, ut.randn_like, lambda t: ut.randint_like(t, 1, 9)):
        y = function(x)
        assert y.layout is ut.sparse_csr and y.dtype is x.dtype and y.shape == x.shape
        assert ut.equal(y.crow_indices(), x.crow_indices()) and ut.equal(y.col_indices(), x.col_indices()) and y.values().any()
    with pytest.raises(NotImplementedError, match="randn_like has no sparse rule"):
        ut.randn_like(matrix(ut))


def test_new_creates_a_coo_tensor(same_as_torch):
    def scenario(lib):
        x, indices, values = matrix(lib), lib.tensor([[0], [1]]), lib.tensor([1.0])
        made = [x.new(), x.new(2, 3), x.new(lib.Size([2, 3])), x.new(device="cpu"), x.new(indices, values), x.new(indices, values, lib.Size([3, 3]))]
        return [(str(t.layout), tuple(t.shape), t.sparse_dim(), t._nnz()) for t in made]

    same_as_torch(scenario)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_coo"])
def test_operators_give_a_sparse_factor_the_gradient_that_pytorch_gives(layout, same_as_torch):
    def scenario(lib):
        b, c = lib.ones(2, 2), lib.ones(2, 2)
        calls = [lambda a: lib.addmm(c, a, b), lambda a: lib.mm(a, b), lambda a: a.mv(b[0]), lambda a: lib.sparse.mm(a, b), lambda a: lib.mm(b, a)]
        found = []
        for call in [*calls, lambda a: b + a, lambda a: (a * 2).to_dense()]:
            a = lib.tensor([[1.0, 0.0], [0.0, 3.0]]).to_sparse(layout=getattr(lib, layout)).requires_grad_()
            call(a).sum().backward()
            found.append((str(a.grad.layout), a.grad.to_dense() if a.grad.layout is not lib.strided else a.grad))
        return found

    same_as_torch(scenario)


def test_zeros_are_written_to_a_sparse_out(same_as_torch):
    def scenario(lib):
        out = matrix(lib)
        returned = lib.zeros(3, 2, out=out, requires_grad=True)
        return returned is out, str(out.layout), tuple(out.shape), out._nnz(), out.requires_grad

    same_as_torch(scenario)


def test_a_tensor_may_be_said_to_be_uncoalesced(same_as_torch):
    def scenario(lib):
        x = lib.sparse_coo_tensor([[0]], [1.0], (2,))
        before = x.is_coalesced()
        return before, x._coalesced_(False).is_coalesced(), x.coalesce().is_coalesced()

    same_as_torch(scenario)


def test_sums_of_integers_over_dimensions_are_int64(same_as_torch):
    def scenario(lib):
        x = lib.tensor([[100, 100], [100, 0]], dtype=lib.int8)
        return [x.to_sparse().sum(0).to_dense(), x.to_sparse().sum((0, 1)), x.to_sparse_csr().sum(1, keepdim=True).to_dense(), x.to_sparse().sum()]

    same_as_torch(scenario)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_bsr"])
def test_on_the_meta_device_a_sparse_tensor_has_no_values(layout, same_as_torch):
    def scenario(lib):
        blocks = {"blocksize": (2, 2)} if layout == "sparse_bsr" else {}
        x = lib.eye(4).to_sparse(layout=getattr(lib, layout), **blocks)
        made = [x.to("meta"), lib.zeros_like(x, device="meta"), lib.zeros_like(x.to("meta"))]
        if layout != "sparse_bsr":
            made.append(x.to("meta") + x.to("meta"))
        return [(str(t.device), str(t.layout), tuple(t.shape), t._nnz(), tuple(t.values().shape), repr(t)) for t in made]

    same_as_torch(scenario)


def test_a_compressed_tensor_whose_values_have_no_elements_can_be_converted():
    x = ut.zeros(2, 3, 0).to_sparse_csr(dense_dim=1)
    y = ut.sparse_csr_tensor([0, 1, 2], [2, 0], ut.zeros(2, 0), (2, 3, 0))
    for t in (x, y):
        assert t.to_dense().shape == (2, 3, 0) and t.to_sparse()._nnz() == t._nnz()
    assert y.to_sparse()._indices().tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize("case", ["layout", "dense", "count", "shape", "blocks"])
def test_a_compressed_tensor_is_copied_only_to_one_with_the_same_parts(case, same_as_torch):
    def scenario(lib):
        x = lib.eye(4).to_sparse_csr()
        if case == "layout":
            return x.copy_(lib.eye(4).to_sparse())
        if case == "dense":
            return x.copy_(lib.eye(4))
        if case == "count":
            return x.copy_(lib.ones(4, 4).to_sparse_csr())
        if case == "shape":
            return lib.eye(4, 5).to_sparse_csr().copy_(lib.eye(5, 4).to_sparse_csr())
        return lib.eye(4).to_sparse_bsr((1, 2)).copy_(lib.eye(4).to_sparse_bsr((2, 1)))

    same_as_torch(scenario)


def test_a_template_gives_its_size_but_not_the_dtype_of_its_indices(same_as_torch):
    def scenario(lib):
        x = lib.sparse_csr_tensor(lib.tensor([0, 1, 1], dtype=lib.int32), lib.tensor([0], dtype=lib.int32), [1.0], (2, 2))
        x.resize_as_sparse_(lib.eye(3).to_sparse_csr())
        return tuple(x.shape), x.crow_indices(), x.col_indices()

    same_as_torch(scenario)


def test_one_pattern_samples_the_products_of_a_batch():
    c = ut.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
    a, b = ut.arange(12.0).reshape(3, 2, 2), ut.arange(12.0).reshape(3, 2, 2) - 4
    out = ut.sparse.sampled_addmm(c, a, b, beta=2)
    assert ut.equal(out.to_dense(), (a @ b) * (c.to_dense() != 0) + 2 * c.to_dense())


CALLS = {
    "relu_": lambda lib: duplicates(lib).relu_(),
    "log1p_": lambda lib: duplicates(lib).log1p_(),
    "narrow_copy_dim": lambda lib: matrix(lib).narrow_copy(-1, 0, 1),
    "narrow_copy_start": lambda lib: matrix(lib).narrow_copy(0, -1, 1),
    "narrow_copy_length": lambda lib: matrix(lib).narrow_copy(0, 0, 3),
    "mv": lambda lib: matrix(lib).mv(lib.ones(3)),
    "cat": lambda lib: lib.cat([matrix(lib), lib.ones(3, 3).to_sparse()]),
    "cat_dense_dims": lambda lib: lib.cat([matrix(lib), lib.ones(2, 2).to_sparse(1)]),
    "too_many_in_a_row": lambda lib: lib.sparse_csr_tensor([0, 4, 4], [0, 1, 0, 2], [1.0, 2.0, 3.0, 4.0], (2, 3), check_invariants=True),
    "mm": lambda lib: lib.sparse.mm(matrix(lib), matrix(lib).double()),
    "floor_divide": lambda lib: matrix(lib) // matrix(lib),
    "zeros_like": lambda lib: lib.zeros_like(matrix(lib), memory_format=lib.contiguous_format),
    "empty_like": lambda lib: lib.empty_like(matrix(lib), memory_format=lib.contiguous_format),
    "resize_dense": lambda lib: lib.ones(2).resize_as_sparse_(matrix(lib).to_sparse_csr()),
    "resize_as_dense": lambda lib: matrix(lib).to_sparse_csr().resize_as_sparse_(lib.ones(2)),
    "spdiags": lambda lib: lib.sparse.spdiags(lib.ones(2, 2), lib.tensor([[0, 1]]), (2, 2)),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_calls_that_are_not_defined_raise(call, same_as_torch):
    same_as_torch(CALLS[call])
