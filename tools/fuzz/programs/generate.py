"""Makes random programs: statements are chosen one by one and kept if their values stay moderate."""

from __future__ import annotations

import math
import random
import warnings
from typing import TYPE_CHECKING, Any

from tools.fuzz.programs import statements
from tools.fuzz.programs.execute import Program, Session, leaf_values, version

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SHAPES = [(2, 2), (3,), (2, 3), (1, 3), (2, 1, 2), (4,), (3, 3), ()]


class Unfit(Exception):
    """A placeholder has no possible value here."""


class Filler:
    """Fills the placeholders of one template. The first variable determines shapes and dimensions."""

    def __init__(self, rng: random.Random, tensors: dict[str, Any]) -> None:
        self.rng, self.tensors = rng, tensors
        self.first: Any = None

    def __getitem__(self, key: str) -> str:
        found: Callable[[], str] = getattr(self, f"_{key}")
        return found()

    def _pick(self, names: list[str]) -> str:
        if not names:
            raise Unfit
        name = self.rng.choice(names[-6:] if self.rng.random() < 0.6 else names)  # recent values more often: programs become deep
        if self.first is None:
            self.first = self.tensors[name]
        return name

    def _floats(self) -> list[str]:
        return [n for n, t in self.tensors.items() if t.is_floating_point() and t.numel()]

    def _a(self) -> str:
        return self._pick(self._floats())

    def _w(self) -> str:
        return self._pick([n for n in self._floats() if n[0] == "v"])

    def _z(self) -> str:
        return self._pick([n for n, t in self.tensors.items() if t.is_complex() and t.numel()])

    def _s(self) -> str:
        return self._pick([n for n in self._floats() if self.tensors[n].shape == self.first.shape])

    def _b(self) -> str:
        fitting = [n for n in self._floats() if _broadcast(self.tensors[n].shape, self.first.shape)]
        return self._pick(fitting) if self.rng.random() < 0.7 else self._c()

    def _m(self) -> str:
        return f"({self._s()} > {self._c()})"

    def _c(self) -> str:
        return self.rng.choice(["0.3", "-0.7", "1.5", "2", "-1", "0.5"])

    def _d(self) -> str:
        if not self.first.dim():
            raise Unfit
        self.dim = self.rng.randrange(self.first.dim())
        return str(self.dim if self.rng.random() < 0.7 else self.dim - self.first.dim())

    _e = _d

    def _i(self) -> str:
        return str(self.rng.randrange(self.first.shape[self.dim]))

    _lo = _hi = _i

    def _shape(self) -> str:
        n = self.first.numel()
        return self.rng.choice([f"{n}", "-1, 1", f"1, {n}", f"{n}, 1, 1"] + [f"{k}, {n // k}" for k in (2, 3) if n % k == 0])

    def _perm(self) -> str:
        order = list(range(self.first.dim()))
        self.rng.shuffle(order)
        return ", ".join(map(str, order)) or "()"

    def _index(self) -> str:
        if not self.first.dim():
            return "..."
        n = self.first.shape[0]
        common = ["0", "-1", "1:", ":1", "::2", "..., 0", "None", "..., -1:", f"{n // 2}:", ":, None", "[0, 0]", "..., ::2"]
        rare = ["::-1", "None, ..., None", "0:0", "1:, ..., 0", "lib.tensor([[0], [0]])", "lib.tensor(0)", "lib.tensor(True)", "True", "..., [0]"]
        mask = [True] + [False] * (n - 1)
        rare += ["[0], ..., [0]", ":, [0, 0]", "0, ..., None, 0", "[0, -1], None", f"{mask}", f"lib.tensor({mask})"]
        return self.rng.choice(common if self.rng.random() < 0.7 else rare)


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(one) <= len(other) and all(a in (1, b) for a, b in zip(reversed(one), reversed(other)))


def _template(rng: random.Random, true_derivatives: bool) -> str:
    kind = rng.random()
    if kind < 0.02:
        return "with packed(): {new} = " + rng.choice(rng.choice(statements.RECORDED))
    if kind < 0.68:
        return "{new} = " + rng.choice(rng.choice(statements.VALUES))
    if kind < 0.92 or true_derivatives:
        return rng.choice(statements.COMPLEX_WRITES if kind < 0.74 else statements.WRITES)
    if kind < 0.922:
        return "with lib.inference_mode(): {new} = " + rng.choice(rng.choice(statements.RECORDED))
    if kind < 0.95:
        return "{new} = " + rng.choice(statements.MODES)
    if kind < 0.97:
        return "with no_grad(): " + rng.choice(statements.UNDER_NO_GRAD)
    return rng.choice(statements.EFFECTS)


def _moderate(t: Any) -> bool:
    if not (t.is_floating_point() or t.is_complex()) or not t.numel():
        return t.numel() <= 64
    size = t.detach().abs().max().item()
    return t.numel() <= 64 and math.isfinite(size) and size < 30


def generate(lib: ModuleType, seed: int, true_derivatives: bool = False) -> Program:
    """A program of 5 to 30 statements. Rejected statements are tried first: an error in one library only is a finding too."""
    rng = random.Random(seed)
    shapes = tuple(rng.choice(SHAPES) for _ in range(rng.randint(1, 3)))
    program = Program(seed, shapes, ())
    length = rng.randint(5, 30)
    lines: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(lib, [lib.from_numpy(v).requires_grad_() for v in leaf_values(program)])
        count = 0
        for _ in range(3 * length):
            if len(lines) == length:
                break
            tensors = session.tensors()
            try:
                line = _fill(_template(rng, true_derivatives), Filler(rng, tensors), f"v{count}")
            except Unfit:
                continue
            before = {n: version(t) for n, t in tensors.items()}
            session.run(line)
            new = session.names.get(f"v{count}")
            if new is not None and not (isinstance(new, lib.Tensor) and _moderate(new)):
                del session.names[f"v{count}"]
                continue
            lines.append(line)
            count += new is not None
            if new is None and not all(_moderate(t) for n, t in session.tensors().items() if version(t) != before[n]):
                break  # a write made values huge: the program ends here
    return Program(seed, shapes, tuple(lines))


def _fill(template: str, filler: Filler, new: str) -> str:
    """The first variable is the same everywhere in a statement; every other placeholder is chosen independently."""
    first_key = next(key for key in "wza" if f"{{{key}}}" in template)
    first = filler[first_key]
    parts = template.split("{")
    text = parts[0]
    for part in parts[1:]:
        key, _, rest = part.partition("}")
        text += (new if key == "new" else first if key == first_key else filler[key]) + rest
    return text
