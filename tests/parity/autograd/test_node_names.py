"""The graphs of products have torch's nodes: the same names along every edge."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

PRODUCTS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)), ((7, 5, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((7, 1, 2, 3), (5, 3, 4)),
]


def names(library, result) -> list[str]:
    """The nodes below a tensor's, with their depth, in the order of their edges."""
    found = []

    def walk(node, depth: int) -> None:
        if node is None:
            found.append(f"{depth} nothing")
            return
        found.append(f"{depth} {node.name().rpartition('::')[2]}")
        for below, _ in node.next_functions:
            walk(below, depth + 1)

    walk(result.grad_fn, 0)
    return found


def leaf(library, shape, requires_grad: bool = True):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    return library.from_numpy(x).requires_grad_(requires_grad)


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)], ids=["both", "left", "right"])
@pytest.mark.parametrize(("a", "b"), PRODUCTS, ids=str)
def test_matmul_has_torchs_nodes(a: tuple[int, ...], b: tuple[int, ...], needs: tuple[bool, bool]):
    ours, theirs = (names(library, leaf(library, a, needs[0]) @ leaf(library, b, needs[1])) for library in (ut, torch))
    assert ours == theirs


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3), (4, 5, 2, 3)], ids=str)
def test_linear_has_torchs_nodes(shape: tuple[int, ...], bias: bool):
    def run(library):
        return library.nn.functional.linear(leaf(library, shape), leaf(library, (7, 3)), leaf(library, (7,)) if bias else None)

    assert names(ut, run(ut)) == names(torch, run(torch))


def test_linear_of_a_transposed_input_has_torchs_nodes():
    def run(library):
        return library.nn.functional.linear(leaf(library, (2, 4, 3)).transpose(0, 1), leaf(library, (7, 3)), leaf(library, (7,)))

    assert names(ut, run(ut)) == names(torch, run(torch))


OTHERS = {
    "outer": lambda m: m.outer(leaf(m, (3,)), leaf(m, (4,))),
    "tensordot": lambda m: m.tensordot(leaf(m, (2, 3)), leaf(m, (3, 4)), 1),
    "multi_dot": lambda m: m.linalg.multi_dot([leaf(m, (2, 3)), leaf(m, (3, 4)), leaf(m, (4, 5))]),
    "vecdot": lambda m: m.linalg.vecdot(leaf(m, (2, 3)), leaf(m, (2, 3))),
    "matrix_power": lambda m: m.matrix_power(leaf(m, (3, 3)), 4),
    "inv": lambda m: m.linalg.inv(leaf(m, (3, 3))),
    "inverse": lambda m: m.inverse(leaf(m, (3, 3))),
    "solve": lambda m: m.linalg.solve(leaf(m, (3, 3)), leaf(m, (3,))),
    "solve_triangular": lambda m: m.linalg.solve_triangular(leaf(m, (3, 3)), leaf(m, (3, 3)), upper=True),
    "det": lambda m: m.linalg.det(leaf(m, (3, 3))),
    "slogdet": lambda m: m.linalg.slogdet(leaf(m, (3, 3))).logabsdet,
    "lu_factor": lambda m: m.linalg.lu_factor(leaf(m, (3, 3))).LU,
    "cholesky": lambda m: m.linalg.cholesky(m.eye(3).requires_grad_()),
    "qr": lambda m: m.linalg.qr(leaf(m, (3, 3))).Q,
    "svdvals": lambda m: m.linalg.svdvals(leaf(m, (3, 4))),
    "eigvalsh": lambda m: m.linalg.eigvalsh(leaf(m, (3, 3))),
    "eig": lambda m: m.linalg.eig(leaf(m, (3, 3))).eigenvalues,
    "pinv": lambda m: m.linalg.pinv(leaf(m, (3, 4))),
    "matrix_exp": lambda m: m.linalg.matrix_exp(leaf(m, (3, 3))),
    "as_subclass": lambda m: (leaf(m, (3,)) * 2).as_subclass(type("Sub", (m.Tensor,), {})),
    "cdist": lambda m: m.cdist(leaf(m, (3, 2)), leaf(m, (4, 2)), 1.0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_products_and_factors_have_torchs_nodes(name: str):
    assert names(ut, OTHERS[name](ut)) == names(torch, OTHERS[name](torch))
