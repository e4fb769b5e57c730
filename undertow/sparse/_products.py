"""Rules of matrix products, and the functions mm, addmm and sampled_addmm of undertow.sparse.

torch has two kinds of product with a dense matrix. The operators (`mm`, `@`) give a sparse operand a dense gradient; the functions
of `undertow.sparse` give it a sparse one, which has values at the operand's own indices only.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._override import overridable
from undertow.sparse._convert import coalesce, compressed_from, coo_from, from_values, sparse_mask, to_coo, to_dense, to_layout, values
from undertow.sparse._dispatch import rule
from undertow.sparse._out_forms import call_out
from undertow.sparse._parts import COO, at_version_0, dtype_title, indices_of, is_sparse, make_coo, matches, record, values_of, with_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

_CHUNK = 1 << 23  # elements of the intermediate products that are in memory at a time


def _check_matrices(name: str, a: Tensor, b: Tensor) -> None:
    for t in (a, b):
        if t.dim() != 2 or is_sparse(t) and t.layout is COO and indices_of(t).shape[0] != 2:
            dims = indices_of(t).shape[0] if is_sparse(t) else t.dim()
            raise RuntimeError(f"{name}: matrices expected, got {dims}D tensor")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype and is_sparse(a) and is_sparse(b):
        raise RuntimeError(f"mat1 dtype {dtype_title(a)} does not match mat2 dtype {dtype_title(b)}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")


def _sparse_dense(a: Tensor, b: Tensor) -> Tensor:
    """a @ b without history: the rows of b, weighted, are added to the rows of the result."""
    if b.dtype in (undertow.float16, undertow.bfloat16):  # rounded once
        return _sparse_dense(with_values(a, values_of(a).float()), b.float()).to(b.dtype)
    (row, col), v = indices_of(a), values_of(a)
    out = b.new_zeros(a.shape[0], b.shape[1])
    step = max(1, _CHUNK // max(1, b.shape[1]))
    for start in range(0, v.shape[0], step):
        part = slice(start, start + step)
        out.index_add_(0, row[part], b[col[part]] * v[part, None])
    return at_version_0(out)


def _sparse_sparse(a: Tensor, b: Tensor) -> Tensor:
    """a @ b without history, for coalesced tensors: every pair of a value in column k and one in row k."""
    (row, k), (start, col) = indices_of(a), indices_of(b)
    left, right = matches(start, k)
    product = values_of(a)[left] * values_of(b)[right]
    return coalesce(make_coo(undertow.stack([row[left], col[right]]), product, (a.shape[0], b.shape[1])))


def _product(a: Tensor, b: Tensor) -> Tensor:
    if not is_sparse(a):
        return _sparse_dense(b.t(), a.t()).t().contiguous()
    return _sparse_sparse(coalesce(a), coalesce(b)) if is_sparse(b) else _sparse_dense(a, b)


def _adjoint(t: Tensor) -> Tensor:
    return t.t().conj() if t.is_complex() else t.t()


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of two matrices, of which at least one is COO, with the gradients of the operator."""
    _check_matrices("addmm", a, b)
    return record("MmBackward0", _product, lambda g, x, y: (lambda: g @ _adjoint(y), lambda: _adjoint(x) @ g), a, b)


def _sampled(g: Tensor, b: Tensor, like: Tensor) -> Tensor:
    """Return g @ b^H at the indices of `like`."""
    like = coalesce(like.detach())
    row, col = indices_of(like)
    if is_sparse(g) or is_sparse(b):
        return sparse_mask(g @ _adjoint(b), like)
    return coo_from(indices_of(like), (g[row] * b[col].conj()).sum(-1), like.shape, True)


def _masked(g: Tensor, like: Tensor) -> Tensor:
    return sparse_mask(g, coalesce(like.detach()))


def masked_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of a COO matrix and a dense one, with a sparse gradient."""
    _check_matrices("addmm", a, b)
    return record("SparseAddmmBackward0", _product, lambda g, x, y: (lambda: _sampled(g, y, x), lambda: _adjoint(x) @ g), a, b)


def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """Multiply a sparse matrix by a dense or sparse one. The gradient of a sparse operand is sparse.

    >>> import undertow as ut
    >>> ut.sparse.mm(ut.eye(2).to_sparse(), ut.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    if reduce is not None:
        return _reduced(sparse, dense, reduce)
    if is_sparse(sparse) and is_sparse(dense):
        a, b = to_coo(sparse), to_coo(dense)
        _check_matrices("addmm", a, b)
        out = record(
            "SparseSparseMatmulBackward0",
            _product,
            lambda g, x, y: (lambda: _masked(g @ _adjoint(y), x), lambda: _masked(_adjoint(x) @ g, y)),
            a,
            b,
        )
        return out if sparse.layout is COO else to_layout(out, sparse.layout, sparse)
    if not is_sparse(sparse):
        return masked_product(to_coo(dense).t(), sparse.t()).t() if is_sparse(dense) else undertow.mm(sparse, dense)
    return masked_product(to_coo(sparse), dense)


def _reduced(sparse: Tensor, dense: Tensor, reduce: Any) -> Tensor:
    """sparse @ dense with another reduction than the sum: mean, amax or amin over the values of each row."""
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    a = coalesce(to_coo(sparse))
    row, col = indices_of(a)
    terms = dense[col] * values(a)[:, None]
    out = dense.new_zeros(a.shape[0], dense.shape[1])
    if reduce == "sum":
        return out.index_add(0, row, terms)
    return out.scatter_reduce(0, row[:, None].expand_as(terms), terms, reduce, include_self=False)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2), where mat1 is sparse. The gradient of mat1 is sparse."""
    return _sum(input, mm(mat1, mat2), beta, alpha)


def _sum(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    input = input if beta == 1 else input * beta
    if is_sparse(product) and not is_sparse(input):
        return input.expand(product.shape) + product
    return product + input if not is_sparse(input) else input + product


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2) at the indices of `input`, a sparse matrix in CSR layout."""
    if out is not None:
        return call_out(sampled_addmm, (input, mat1, mat2), {"beta": beta, "alpha": alpha, "out": out})
    if input.layout is not _C.sparse_csr:
        raise RuntimeError("sampled_addmm: Expected self to have sparse csr layout.")
    if is_sparse(mat1) or is_sparse(mat2):
        raise RuntimeError("sampled_addmm: Expected mat1 and mat2 to have strided layout")
    batch = tuple(mat1.shape[:-2])
    if tuple(mat2.shape[:-2]) != batch or tuple(input.shape[:-2]) not in ((), batch):
        shapes = f"{list(input.shape)}, {list(mat1.shape)} and {list(mat2.shape)}"
        raise RuntimeError(f"sampled_addmm: Expected self, mat1 and mat2 to have the same batch dimensions, got {shapes}")
    if mat1.shape[-1] != mat2.shape[-2]:
        sizes = f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied {sizes}")
    if tuple(input.shape[-2:]) != (mat1.shape[-2], mat2.shape[-1]):
        product = f"got mat1.shape[-2] = {mat1.shape[-2]} and mat2.shape[-1] = {mat2.shape[-1]} for {list(input.shape)}"
        raise RuntimeError(f"sampled_addmm: the size of self must be that of mat1 @ mat2, {product}")
    if batch and input.dim() == 2:  # one pattern for the whole batch
        size = (*batch, *input.shape)
        first, second, old = (part.expand(*batch, part.shape[0]) for part in (input.crow_indices(), input.col_indices(), values(input)))
        input = compressed_from(input.layout, first, second, old, size)
    *which, row, col = indices_of(to_coo(input.detach()))
    picked = (mat1[(*which, row)] * mat2.mT[(*which, col)]).sum(-1) * alpha
    picked = picked.reshape(values_of(input).shape)
    return from_values(input, picked + values(input) * beta if beta else picked)


@rule("mm")
def mm_rule(op: Any, args: list[Any]) -> Any:
    return matmul(args[0], args[1])


@rule("addmm")
def addmm_rule(op: Any, args: list[Any]) -> Any:
    input, a, b, beta, alpha = args
    if not is_sparse(a) and not is_sparse(b):
        return undertow.addmm(to_dense(input), a, b, beta=beta, alpha=alpha)
    out = _sum(input, matmul(a, b), beta, alpha)
    return input.copy_(out) if op.inplace and not is_sparse(input) else out


@rule("mv")
def mv_rule(op: Any, args: list[Any]) -> Any:
    a, v = args
    if is_sparse(v):
        v = to_dense(v)
    if not is_sparse(a):
        return a @ v

    if a.dim() != 2 or v.dim() != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {a.dim()}, Tensor Dim: {v.dim()}")
    if a.shape[1] != v.shape[0]:
        raise RuntimeError(f"mv: expected self.size(-1) == vec.size(-1), got {a.shape[1]} and {v.shape[0]}")

    def compute(x: Tensor, y: Tensor) -> Tensor:
        _check_matrices("mv", x, y[:, None])
        return _sparse_dense(x, y[:, None])[:, 0].clone()  # a view made here could not be written later

    return record("MvBackward0", compute, lambda g, x, y: (lambda: g.outer(y.conj()), lambda: _adjoint(x) @ g), a, v)


@rule("addmv")
def addmv_rule(op: Any, args: list[Any]) -> Any:
    input, a, v, beta, alpha = args
    return _sum(input, a @ v, beta, alpha)


@rule("bmm")
def bmm_rule(op: Any, args: list[Any]) -> Any:
    a, b = args
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm: expected two batches of matrices that can be multiplied, got {list(a.shape)} and {list(b.shape)}")
    if is_sparse(b):
        if is_sparse(a):
            b = to_dense(b)
        else:
            return bmm_rule(op, [b.transpose(1, 2), a.transpose(1, 2)]).transpose(1, 2)

    def compute(x: Tensor, y: Tensor) -> Tensor:
        n, rows, inner = x.shape
        batch, row, col = indices_of(x)
        flat = make_coo(undertow.stack([batch * rows + row, batch * inner + col]), values_of(x), (n * rows, n * inner))
        return _sparse_dense(flat, y.reshape(n * inner, y.shape[2])).reshape(n, rows, y.shape[2])

    def adjoint(t: Tensor) -> Tensor:
        t = t.transpose(1, 2)
        return t.conj() if t.is_complex() else t

    return record("BmmBackward0", compute, lambda g, x, y: (lambda: g @ adjoint(y), lambda: undertow.bmm(adjoint(x), g)), a, b)


@rule("solve_triangular")
def solve_triangular_rule(op: Any, args: list[Any]) -> Any:
    """Solve with a sparse triangular matrix, which torch has for triangular_solve; computed densely."""
    a, b, *options = args
    return op(to_dense(a) if is_sparse(a) else a, to_dense(b) if is_sparse(b) else b, *options)


@overridable
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one, with a sparse result: `input @ mat`, of which all rows that `input` has."""
    return sspaddmm(make_coo(indices_of(to_coo(input))[:, :0], values_of(to_coo(input))[:0], (input.shape[0], mat.shape[1])), input, mat)


@overridable
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2) as a sparse matrix; input and mat1 are sparse."""
    if out is not None:
        return call_out(sspaddmm, (input, mat1, mat2), {"beta": beta, "alpha": alpha, "out": out})
    a = to_coo(mat1).detach()
    rows = undertow.unique(indices_of(a)[0])
    product = _sparse_dense(a, mat2.detach())[rows] * alpha
    columns = undertow.arange(mat2.shape[1], device=rows.device)
    indices = undertow.stack([rows.repeat_interleave(columns.shape[0]), columns.repeat(rows.shape[0])])
    return to_coo(input).detach() * beta + make_coo(indices, product.reshape(-1), (a.shape[0], mat2.shape[1]))


@overridable
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply a sparse matrix by a dense one, with a result that is sparse in its first dimension and dense in its second."""
    if out is not None:
        return call_out(hspmm, (mat1, mat2), {"out": out})
    a = to_coo(mat1).detach()
    rows = undertow.unique(indices_of(a)[0])
    return make_coo(rows[None], _sparse_dense(a, mat2.detach())[rows], (a.shape[0], mat2.shape[1]))


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices: an older name of `undertow.mm`."""
    return undertow.mm(input, mat2)


dsmm = spmm
hsmm = hspmm
saddmm = sspaddmm


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Return the solution x of `input @ x = other`, or of `x @ input = other`, for a square sparse matrix. It is computed densely.

    >>> import undertow as ut
    >>> ut.sparse.spsolve(ut.tensor([[2.0, 0.0], [0.0, 4.0]]).to_sparse_csr(), ut.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    if not is_sparse(input):
        raise RuntimeError("spsolve: expected a sparse matrix as the first argument; use linalg.solve for a dense one")
    return undertow.linalg.solve(to_dense(input), other, left=left)
