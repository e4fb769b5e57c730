"""What a node saves decides what may be overwritten later: no write breaks the backward of an operator here that does not in torch.

Each tensor that goes into an operator or comes out of it counts as written, one at a time, after the call and before the
backward pass. Where torch goes through with the pass, so does Undertow.
"""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")
pytest.importorskip("expecttest", reason="torch's operator database needs expecttest, which is not installed")

sys.path.insert(0, str(Path(__file__).resolve().parent))
from carry import Untranslatable, tensors_in, to_ut
from test_opcheck import ORACLE, WRAPPED, infos, operators, ours, samples_of

import undertow as ut

pytestmark = [pytest.mark.filterwarnings("ignore")]


OVERWRITTEN = re.compile("modified by an inplace operation|is a view and its base or another view of its base has been modified inplace")

# A write that torch allows and that raises here, with the reason. See docs/why.md.
RAISES_HERE = {
    "addbmm": "torch's addbmm_ gives a self that is broadcast a new shape; an operation in place keeps its shape here",
    "kron": "torch reads the overwritten elements and returns a wrong gradient",
    "special.ndtr": "torch computes it in steps and saves one of them; ours is one step, exact in the tails",
    "nn.functional.rms_norm": "torch runs it in steps where the weight alone requires grad",
    "nn.functional.batch_norm": "torch has another path for an empty batch",
}


def copied(x, library, chosen: list[bool]):
    """The arguments with every tensor copied, so that it may be written; those chosen require a gradient."""
    left = iter(chosen)

    def walk(v):
        if isinstance(v, library.Tensor):
            wanted = next(left)
            return v.detach().clone().requires_grad_().clone() if wanted else v.detach().clone()
        if isinstance(v, (list, tuple)):
            made = [walk(u) for u in v]
            return made if isinstance(v, list) else tuple(made)
        return {k: walk(u) for k, u in v.items()} if isinstance(v, dict) else v

    return walk(x)


def breaking(library, function, sample, chosen: list[bool]) -> list[str] | None:
    """Which writes break the backward pass: "input 1", "result 0". None where there is no pass."""
    broken, place = [], 0
    while True:
        first, args, kwargs = arguments = copied(sample, library, chosen)
        inputs = tensors_in(arguments, library.Tensor)
        try:
            outputs = tensors_in(function(first, *args, **kwargs), library.Tensor)
        except RuntimeError:  # in place: the result has another shape or dtype
            return None
        leading = [o for o in outputs if o.requires_grad]
        if not leading:
            return None
        named = [(f"input {i}", t) for i, t in enumerate(inputs)] + [(f"result {i}", t) for i, t in enumerate(outputs)]
        if place == len(named) + 1:
            return broken
        cotangents = [library.ones_like(o) for o in leading]
        wanted = [t for t in inputs if t.requires_grad]
        if place:
            library.autograd.graph.increment_version(named[place - 1][1])
        try:
            library.autograd.grad(leading, wanted, cotangents, allow_unused=True)
        except RuntimeError as error:
            if not place:
                return None  # there is no derivative
            if not OVERWRITTEN.search(str(error)):
                raise
            broken.append(named[place - 1][0])
        place += 1


def choices(sample) -> list[list[bool]]:
    """Which of the tensors require a gradient: all that can, and each of them alone."""
    able = [t.requires_grad for t in tensors_in(sample, torch.Tensor)]
    alone = [[i == k for i in range(len(able))] for k, yes in enumerate(able) if yes]
    return [able, *(alone if len(alone) > 1 else [])]


def forms(op, oracle, function) -> list[tuple]:
    """The operator out of place, and in place where it has such a method in both."""
    method = getattr(op.inplace_variant, "__name__", None) if op.inplace_variant else None
    here = getattr(ut.Tensor, method, None) if method else None
    return [("", oracle, function), *([("_", getattr(torch.Tensor, method), here)] if here and hasattr(torch.Tensor, method) else [])]


def differences(name: str, limit: int | None) -> tuple[int, list[str], list[str]]:
    """How often both were asked, and where a write raises here but not in torch, and where in torch but not here."""
    ran, more, less = 0, [], []
    function = ours(name)
    for op in infos(name):
        if torch.float64 not in op.dtypes or not op.supports_autograd:
            continue
        wrap = WRAPPED.get(f"{name}.{op.variant_test_name}")
        for number, sample in enumerate(samples_of(op, torch.float64, True, limit)):
            theirs = (sample.input, list(sample.args), dict(sample.kwargs))
            try:
                here = to_ut(theirs)
            except Untranslatable:
                continue
            for (form, oracle, mine), chosen in product(forms(op, ORACLE.get(name, op.op), wrap(function) if wrap else function), choices(theirs)):
                want = breaking(torch, oracle, theirs, chosen)
                if want is None:
                    continue
                got = breaking(ut, mine, here, chosen)
                ran += 1
                label = f"{op.name}{form} {op.variant_test_name} sample {number}, gradients of {chosen}: torch rejects a write to {want}, here {got}"
                if got is None or set(got) - set(want):
                    more.append(label)
                elif got != want:
                    less.append(label)
    return ran, more, less


def compare(name: str, limit: int) -> None:
    """Torch often saves more than the derivative needs and then rejects a harmless write; that difference is not checked."""
    ran, more, _ = differences(name, limit)
    if not ran:
        pytest.skip("no sample has a gradient in torch")
    assert not more or name in RAISES_HERE, more[0]


@pytest.mark.parametrize("name", sorted({*operators()[::4], *RAISES_HERE, "erfinv", "take_along_dim", "tanh", "sin", "mul", "div"}))
def test_no_write_raises_that_torch_allows(name: str):
    """On one sample of some operators; the slow form takes all of them."""
    compare(name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", operators())
def test_no_write_raises_that_torch_allows_on_more_samples(name: str):
    compare(name, 12)
