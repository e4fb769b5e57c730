"""Stored answers of PyTorch: a test gives a scenario, a function of a library, whose outcome here must be the same as on PyTorch.

The outcomes are in data/torch_answers, one file per test file; data/make_references.py writes them with PyTorch.
Where PyTorch is installed, the fixture `same_as_torch` also runs the scenario there: our outcome is compared element by element,
and a stored answer that has become wrong is found. Nothing here imports torch unless it is installed.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import re
import warnings
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "data" / "torch_answers"
WHOLE = 16  # tensors up to this size are stored whole, larger ones as a fingerprint
_OF_TORCH_ALONE = r"oneDNN|torch\.jit|Sparse CSR tensor support is in beta|Sparse invariant checks are implicitly disabled"
LONGEST = 300  # characters of a message that are kept


class Array:
    """A tensor without its library: the name of its dtype, and its values."""

    def __init__(self, dtype: str, values: np.ndarray):
        self.dtype, self.values = dtype, values

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.values.shape)}"

    def flat(self) -> np.ndarray:
        values = np.ascontiguousarray(self.values).reshape(-1)
        return (values.view(values.real.dtype) if np.iscomplexobj(values) else values).astype(np.float64)


def neutral(text: str) -> str:
    """A text without the libraries' names."""
    return re.sub(r"\b(torch|undertow|ut)\b", "lib", text)


def plain(value):
    """A result as plain data: numbers, texts, lists, dictionaries, and Arrays for tensors."""
    if hasattr(value, "detach") and hasattr(value, "dtype"):
        if "Uninitialized" in type(value).__name__:
            return neutral(repr(value))
        d = value.detach()
        name = str(d.dtype).rpartition(".")[2]
        return Array(name, np.array(d.float().numpy() if name == "bfloat16" else d.resolve_conj().numpy()))
    if isinstance(value, np.ndarray):
        return Array(str(value.dtype), value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, int, float, type(None))):
        return value
    return neutral(str(value))


def first_clause(text: str) -> str:
    """The part that people search for: the first line, up to the first mark after which details follow."""
    line = neutral(text).split("\n")[0]
    return re.split(r"[;:] |\. |, got|, but got| \(", line)[0].rstrip(".")


def ending(scenario, library, seed: int) -> dict:
    """The result of the scenario, or the class and message of its error; and its warnings."""
    library.manual_seed(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            end = {"value": plain(scenario(library))}
        except Exception as error:
            end = {"error": [type(error).__name__, neutral(str(error))[:LONGEST]]}
    # oneDNN and torch.jit are parts of torch; what they say when torch itself uses them does not concern us, nor what torch says
    # once per process about the state of its own sparse tensors.
    heard = {(w.category.__name__, first_clause(str(w.message))) for w in caught if not re.search(_OF_TORCH_ALONE, str(w.message))}
    return {**end, "warnings": [list(w) for w in sorted(heard)]}


# A large array is stored as its products with two fixed vectors, and its length. A change of any element changes the products.
def _directions(n: int) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(n, dtype=np.float64)
    return np.cos(1.7 * k), np.cos(0.31 * k + 2.0)


def encode(value):
    """Plain data as JSON holds it; an array is {"float32[2, 3]": its values, or its two products and its length}."""
    if isinstance(value, Array):
        flat = value.flat()
        digits = 12 if value.dtype in ("float64", "complex128", "int64") else 8
        number = lambda x: int(x) if float(x).is_integer() and abs(x) < 1e9 else float(f"%.{digits}g" % x)
        whole = flat.size <= WHOLE or not np.isfinite(flat).all()
        kept = flat if whole else [*(d @ flat for d in _directions(flat.size)), np.linalg.norm(flat)]
        return {str(value): [number(x) for x in kept]}
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    return [encode(v) for v in value] if isinstance(value, list) else value


def _array_differences(ours: Array, other, rtol: float, atol: float, at: str) -> list[str]:
    if isinstance(other, Array):
        other = {str(other): other.flat()}
    if not isinstance(other, dict) or list(other) != [str(ours)]:
        return [f"{at}: {ours} and {other!r}"]
    flat, wanted = ours.flat(), np.asarray(other[str(ours)], dtype=np.float64)
    if wanted.size == flat.size:
        same = np.allclose(flat, wanted, rtol=rtol, atol=atol, equal_nan=True)
        return [] if same else [f"{at}: differ by up to {np.abs(flat - wanted).max()}"]
    # Independent errors of the tolerated size in each element add up as a random walk does.
    bound = 4 * (atol * math.sqrt(flat.size) + rtol * wanted[2])
    found = np.abs([*(d @ flat for d in _directions(flat.size)), np.linalg.norm(flat)] - wanted).max()
    return [] if found <= bound else [f"{at}: the products with fixed vectors differ by {found}, more than {bound}"]


def differences(ours, other, rtol: float, atol: float, at: str = "") -> list[str]:
    """The differences between our plain data and other data, which may be encoded."""
    if isinstance(ours, Array):
        return _array_differences(ours, other, rtol, atol, at)
    if isinstance(ours, dict) and isinstance(other, dict):
        if list(ours) != list(other):
            return [f"{at}: keys {list(ours)} and {list(other)}"]
        return [d for k in ours for d in differences(ours[k], other[k], rtol, atol, f"{at}[{k!r}]")]
    if isinstance(ours, list) and isinstance(other, list):
        if len(ours) != len(other):
            return [f"{at}: {len(ours)} and {len(other)} items: {ours!r} and {other!r}"]
        return [d for i, (a, b) in enumerate(zip(ours, other, strict=True)) for d in differences(a, b, rtol, atol, f"{at}[{i}]")]
    if isinstance(ours, float) and isinstance(other, (int, float)):
        same = math.isclose(ours, other, rel_tol=rtol, abs_tol=atol) or (math.isnan(ours) and math.isnan(other))
        return [] if same else [f"{at}: {ours!r} and {other!r}"]
    return [] if type(ours) is type(other) and ours == other else [f"{at}: {ours!r} and {other!r}"]


def _unlike(mine: dict, other: dict, rtol: float, atol: float, whole_messages: bool, characters: int | None = None) -> list[str]:
    """The differences between two outcomes. Of a message the first clause counts, or all of it; our details may follow."""
    if "error" in other:
        if "error" not in mine or mine["error"][0] != other["error"][0]:
            return [f"{mine!r} and {other['error']}"]
        words, wanted = mine["error"][1], other["error"][1]
        same = words.startswith(wanted.rstrip(".")) if whole_messages else first_clause(words)[:characters] == first_clause(wanted)[:characters]
        found = [] if same else [f"the words {words!r} and {wanted!r}"]
    else:
        found = [f"{mine['error']} and a value"] if "error" in mine else differences(mine["value"], other["value"], rtol, atol)
    return found or differences(mine["warnings"], other["warnings"], 0, 0, "warnings")


@functools.cache
def stored(stem: str) -> dict:
    path = FOLDER / f"{stem}.json"
    return json.loads(path.read_text()) if path.exists() else {"torch": "", "answers": {}}


@functools.cache
def installed(version: str):
    """PyTorch, if the version that gave the answers is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.__version__.split("+")[0] == version else None


class Answers:
    """The stored answers that one test requests, in order; the object behind the fixture `same_as_torch`."""

    def __init__(self, stem: str, test: str, written: dict | None):
        self.stem, self.test, self.written, self.asked = stem, test, written, 0

    def __call__(self, scenario, *, rtol: float = 1e-5, atol: float = 1e-6, whole_messages: bool = False, characters: int | None = None, seed: int = 0):
        """Fails unless the scenario has the same outcome as on PyTorch; returns our plain result, or [class, message] of the error.

        Of a message its first clause is compared, or the first `characters` of that, or all of it with `whole_messages`.
        """
        import undertow as ut

        if self.written is not None:
            import torch

            self.written.setdefault(self.stem, {}).setdefault(self.test, []).append(encode(ending(scenario, torch, seed)))
        mine, self.asked = ending(scenario, ut, seed), self.asked + 1
        known = stored(self.stem) if self.written is None else {"torch": "", "answers": self.written[self.stem]}
        answers = known["answers"].get(self.test, [])
        assert len(answers) >= self.asked, f"no stored answer for {self.test} of {self.stem}: run tests/data/make_references.py, which needs torch"
        found = _unlike(mine, answers[self.asked - 1], rtol, atol, whole_messages, characters)
        assert not found, "ours and the stored answer of torch: " + "; ".join(found[:5])
        if (torch := installed(known["torch"])) is not None:
            theirs = ending(scenario, torch, seed)
            found = _unlike(mine, theirs, rtol, atol, whole_messages, characters)
            assert not found, "ours and torch's: " + "; ".join(found[:5])
            found = _unlike(theirs, answers[self.asked - 1], rtol, atol, whole_messages=False)
            assert not found, "torch and its stored answer (run tests/data/make_references.py): " + "; ".join(found[:5])
        return mine.get("value", mine.get("error"))


def write(answers: dict, version: str) -> None:
    """Stores the answers, one line per test, so that a diff shows changes line by line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stem, tests in answers.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(tests[name], separators=(',', ':'))}" for name in sorted(tests)]
        text = f'{{"torch": {json.dumps(version)}, "answers": {{\n' + ",\n".join(lines) + "\n}}\n"
        (FOLDER / f"{stem}.json").write_text(text)
