"""The operator tables as the property tests see them: entries, their Python functions, and which properties apply.

Run as a program it lists how many properties each entry has; with the argument `dtypes` it writes dtypes.txt.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import undertow as ut
from undertow._vmap._dispatch import OPERATORS

ROOT = Path(__file__).resolve().parents[2]
DTYPES_FILE = Path(__file__).with_name("dtypes.txt")
LETTERS = "?BbhilesfdFD"  # NumPy's letters, and s, for short, where it has no bfloat16


def _load_generator():
    """tools/opgen imported under its own name, so that the checkout's `undertow` does not hide the installed one."""
    folder = ROOT / "tools" / "opgen"
    spec = importlib.util.spec_from_file_location("opgen_for_tests", folder / "__init__.py", submodule_search_locations=[str(folder)])
    package = importlib.util.module_from_spec(spec)
    sys.modules["opgen_for_tests"] = package
    spec.loader.exec_module(package)
    names = ("schema", "formula", "emit_kernels")
    return tuple(importlib.import_module(f"opgen_for_tests.{name}") for name in names)


schema, formula, emit_kernels = _load_generator()


@cache
def entries() -> dict[str, object]:
    """Every entry by its id: name, name.overload, and a trailing `#scalar` where a number replaces a tensor."""
    found = {}
    for e in schema.load(ROOT / "ops"):
        found[identify(e)] = e
    return found


def identify(e) -> str:
    base = f"{e.name}.{e.overload}" if e.overload else e.name
    both = set(re.findall(r"(?:Tensor\|Scalar|Scalar\|Tensor)\s+(\w+)", e.spec["sig"]))
    numbers = [a.name for a in e.args if a.name in both and a.type == "Scalar"]
    return base + "".join(f"#{n}" for n in numbers)


def plain_id(key: str) -> str:
    return key.partition("#")[0]


def find(e, variant: str = "function"):
    """The Python function of an entry: from its module, or its method; an entry without a Python name is called by its key.
    None where the entry has no such variant."""
    if variant not in e.variants and variant != "function":
        return None
    if not e.python_names:
        return hidden(e, variant)
    if variant == "out":
        return find(e)
    module, public = e.python_names[0]
    name = public + ("_" if variant == "inplace" else "")
    if variant == "inplace" and module:
        return ut._C._ops.get(f"{module}.{name}")
    if variant == "function" and "function" in e.variants:
        return ut._C._ops.get(f"{module}.{name}" if module else name)
    if variant == "function" and "method" not in e.variants:
        name = public + "_"
    return getattr(ut.Tensor, name, None)


def is_hidden(e) -> bool:
    """Only formulas and composites call it: all arguments are positional, and types are not checked."""
    return not e.python_names


def hidden(e, variant: str):
    """An operator without a Python name, from the table that the core keeps for vmap. That calls no out= variants."""
    operator = OPERATORS.get(e.key + "_" * (variant == "inplace"))
    if operator is None or variant == "out":
        return None

    def function(*args, **kwargs):
        given = dict(zip(operator.names, args, strict=False)) | kwargs
        last = max(operator.names.index(name) for name in given)
        return operator(*[given.get(name, default_of(e, name)) for name in operator.names[: last + 1]])

    return function


def default_of(e, name: str):
    """The value in the signature; the binding uses its own defaults only after the last argument."""
    text = next(a.default for a in e.args if a.name == name)
    return None if text is None else ast.literal_eval(text)


def computes_in(e, dtype: str) -> bool:
    """Whether a pointwise entry has a loop for the dtype (after promotion)."""
    classes = emit_kernels.CLASSES[e.spec.get("dtypes", "all")]
    if e.spec.get("promote") == "float" and not dtype.startswith(("float", "bfloat", "complex")):
        dtype = "float32"
    if dtype == "bool":
        return "bool" in classes
    if dtype in ("float16", "bfloat16"):
        return "half" in classes
    for group, members in emit_kernels.GROUPS.items():
        if any(name.lower() == dtype for _, name in members):
            return group in classes
    raise ValueError(dtype)


@cache
def dtypes_listed() -> dict[str, str]:
    """dtypes.txt: for each entry a letter for every dtype that its first case works in, and a dot for every other."""
    lines = (line.rsplit(maxsplit=1) for line in DTYPES_FILE.read_text().splitlines() if not line.startswith("#"))
    return dict(lines)


def list_dtypes() -> None:
    """Rewrites dtypes.txt, after a table's dtypes have been changed on purpose."""
    import warnings

    from apply import attempt, cases_of, drawn
    from samples import DTYPES

    warnings.simplefilter("ignore")
    text = "# Which dtypes an entry's first case works in: " + ", ".join(f"{d} {c}" for d, c in zip(DTYPES, LETTERS, strict=True))
    text += ". Written by `python tests/ops/table.py dtypes`.\n"
    for key, e in entries().items():
        found = cases_of(key, e)
        if not found or find(e) is None:
            continue
        works = [attempt(find(e), *drawn(key, found[0], dtype), dtype) is not None for dtype in DTYPES]
        text += f"{key:40} {''.join(c if w else '.' for c, w in zip(LETTERS, works, strict=True))}\n"
    DTYPES_FILE.write_text(text)


def main() -> None:
    import checks

    total = 0
    for key, e in entries().items():
        names = checks.properties_of(key, e)
        total += len(names)
        print(f"{key:32} {len(names):3}  {' '.join(names)}")
    print(f"{len(entries())} entries, {total} properties")


if __name__ == "__main__":
    list_dtypes() if sys.argv[1:] == ["dtypes"] else main()
