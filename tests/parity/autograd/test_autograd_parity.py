"""Whole programs compared with torch: random graphs with views, in-place writes and hooks; and our own tests, run on torch."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")

import undertow as ut

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1]
FILES = ("accumulate", "double_backward", "engine", "errors", "gradcheck", "hooks", "lifetime_graph", "reentrant", "saved", "threads", "validation")
FUNC_FILES = ("function_vmap", "functional", "transforms", "vmap", "vmap_indexing", "vmap_inplace", "vmap_random")


def test_our_tests_pass_on_torch():
    paths = [str(next((TESTS / "autograd").rglob(f"test_{name}.py"))) for name in FILES] + [str(TESTS / "func" / f"test_{name}.py") for name in FUNC_FILES]
    options = ["-q", "-p", "as_torch", "-p", "no:cacheprovider", "-m", "not slow", "--tb=short"]
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    env.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *paths], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


class Program:
    """A random sequence of recorded operations, the same for both libraries."""

    def __init__(self, seed: int, steps: int = 30) -> None:
        rng = random.Random(seed)
        self.values = [[rng.uniform(-1, 1) for _ in range(6)] for _ in range(3)]
        self.steps = [(rng.choice(self.KINDS), rng.randrange(10**6), rng.randrange(10**6), rng.uniform(0.3, 1.2)) for _ in range(steps)]

    KINDS = ("mul", "add", "exp", "scale", "view", "select", "mul_", "add_view_", "detach", "sum", "hook", "retain")

    def run(self, L, create_graph: bool):
        leaves = [L.tensor(v, dtype=L.float64).view(2, 3).detach().requires_grad_() for v in self.values]
        pool, log, retained = [x * 1 for x in leaves], [], []
        for kind, i, j, c in self.steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            if kind == "mul":
                pool.append(a * b)
            elif kind == "add":
                pool.append(a + b * c)
            elif kind == "exp":
                pool.append((a * 0.2).exp())
            elif kind == "scale":
                pool.append(a * c)
            elif kind == "view":
                pool.append((a.view(3, 2) * c).view(2, 3))
            elif kind == "select":
                pool.append(b * a.select(0, i % 2))
            elif kind == "mul_":
                t = a + b
                t.mul_(c)
                pool.append(t)
            elif kind == "add_view_":
                t = a * c
                t.select(1, j % 3).add_(b.select(1, i % 3))
                pool.append(t)
            elif kind == "detach":
                pool.append(a * b.detach())
            elif kind == "sum":
                pool.append(a * b.sum())
            elif kind == "hook":
                t = a * c
                number = len(pool)
                t.register_hook(lambda g, c=c, n=number: log.append(n) or g * c)
                pool.append(t)
            elif kind == "retain":
                t = a * b
                t.retain_grad()
                retained.append(t)
                pool.append(t)
        root = pool[-1].sum()
        for t in pool[-6:-1]:
            root = root + (t * 0.3).sum()
        grads = L.autograd.grad(root, leaves, create_graph=create_graph, allow_unused=True)
        found = [None if g is None else g.tolist() for g in grads]
        if create_graph:
            parts = [(g * g).sum() for g in grads if g is not None and g.requires_grad]
            if parts:
                again = L.autograd.grad(sum(parts[1:], parts[0]), leaves, allow_unused=True)
                found += [None if g is None else g.tolist() for g in again]
        found += [None if t.grad is None else t.grad.tolist() for t in retained]
        return found, log


def flat(x) -> list[float]:
    if x is None:
        return [0.0]
    return [v for y in x for v in flat(y)] if isinstance(x, list) else [x]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("seed", range(25))
def test_a_random_program_has_torchs_gradients(seed: int, create_graph: bool):
    program = Program(seed)
    want, want_log = program.run(torch, create_graph)
    got, got_log = program.run(ut, create_graph)
    assert [w is None for w in want] == [g is None for g in got]
    assert got_log == want_log  # hooks ran in the same order
    for w, g in zip(want, got, strict=True):
        assert flat(g) == pytest.approx(flat(w), rel=1e-9, abs=1e-12)
