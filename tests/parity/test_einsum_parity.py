"""Random equations compared with torch's einsum: values and gradients."""

from __future__ import annotations

import random

import pytest

import undertow as ut
from undertow._functions.einsum import einsum

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")


def random_term(rng: random.Random, sizes: dict[str, int], ellipsis: list[int]):
    letters = [rng.choice(list(sizes)) for _ in range(rng.choice((0, 1, 2, 3)))]
    own = {c: 1 if rng.random() < 0.15 else sizes[c] for c in letters}
    term, shape = "".join(letters), [own[c] for c in letters]
    if ellipsis and rng.random() < 0.7:
        covered = ellipsis[rng.randint(0, len(ellipsis)) :]
        place = rng.randint(0, len(letters))
        term = term[:place] + "..." + term[place:]
        shape[place:place] = [1 if rng.random() < 0.2 else size for size in covered]
    return term, shape


def random_equation(rng: random.Random):
    sizes = {c: rng.choice((1, 2, 3, 4)) for c in rng.sample("abcdXY", rng.choice((1, 2, 3, 4)))}
    ellipsis = [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 0, 1, 2)))]
    terms = [random_term(rng, sizes, ellipsis) for _ in range(rng.choice((1, 1, 2, 2, 2, 3, 4)))]
    equation = ",".join(term for term, _ in terms)
    if rng.random() < 0.7:
        used = sorted(set(equation) - set(".,"))
        output = rng.sample(used, rng.randint(0, len(used)))
        if "." in equation and rng.random() < 0.7:
            output.insert(rng.randint(0, len(output)), "...")
        equation += "->" + "".join(output)
    return equation, [shape for _, shape in terms]


@pytest.mark.parametrize("seed", range(200))
def test_random_equations_agree_with_torch(seed):
    rng = random.Random(seed)
    equation, shapes = random_equation(rng)
    theirs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    ours = [
        ut.tensor(t.detach().reshape(-1).tolist(), dtype=ut.float64).reshape(t.shape)
        for t in theirs
    ]
    ours = [t.requires_grad_() for t in ours]
    expected, result = torch.einsum(equation, *theirs), einsum(equation, *ours)
    assert tuple(result.shape) == tuple(expected.shape)
    flat = expected.reshape(-1).tolist()
    assert result.reshape(-1).tolist() == pytest.approx(flat, rel=1e-9, abs=1e-9)
    expected.sum().backward()
    result.sum().backward()
    for mine, other in zip(ours, theirs, strict=True):
        flat = other.grad.reshape(-1).tolist()
        assert mine.grad.reshape(-1).tolist() == pytest.approx(flat, rel=1e-9, abs=1e-9)
