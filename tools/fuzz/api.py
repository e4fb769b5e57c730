"""python -m tools.fuzz.api: calls all public functions, methods and layers with hostile arguments. See README.md."""

from __future__ import annotations

import argparse
import functools
import inspect
import random
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from tools.fuzz import children
from tools.fuzz.hostile_values import PRELUDE, value

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["", "nn.functional", "linalg", "fft", "special", "signal.windows", "nn.init", "nn", "autograd", "nn.utils", "func", "masked"]
# Functions that change the process, start others, wait for somebody, or read and write files; layers made of as many layers as asked for.
LEFT_OUT = re.compile(
    r"\.(set_|_|manual_seed|seed$|load|save|compile|hub|use_deterministic|enable_grad|no_grad|inference_mode|autocast|freeze|from_file|share_memory|"
    r"is_|get_|fork|wait|import_|export|vmap|detect_anomaly|profiler|storage$|pin_memory|register_|initial_seed|multiprocessing|Unflatten|Module$|init_num_threads|Transformer|RNN|LSTM|GRU)"
)
KINDS = {
    "Tensor": "tensor",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "Scalar": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Dimname": "str",
}
BY_NAME = [
    (r"dim|axis|^k$|^n$|num|diagonal|offset|groups|sections|chunks|steps|p$|correction|length|index$|degree|channels|features|blocks", "int"),
    (r"size|shape|stride|padding|dilation|kernel|dims|repeats|shifts|pad$|split|perm|output", "ints"),
    (r"dtype", "dtype"),
    (
        r"keepdim|inplace|ceil|unbiased|sorted|largest|training|affine|bias$|onesided|center|normalized|descending|upper|left|full|driver|batch_first",
        "bool",
    ),
    (r"mode|reduction|reduce|approximate|side|norm$|ord|equation|indexing", "str"),
    (r"tensors|operands|others|inputs", "tensors"),
    (r"eps|alpha|beta|value|scale|lower|min|max|std|mean|momentum|threshold|margin|rtol|atol|prob|rate|^q$|delta|gain|start|end|step", "float"),
]


@functools.cache
def table_kinds() -> dict[str, list[str]]:
    """The kinds of the arguments of each operator, from the tables."""
    kinds: dict[str, list[str]] = {}
    for path in sorted((ROOT / "ops").glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).values():
            if not isinstance(entry, dict):
                continue
            for sig in [entry["sig"]] if isinstance(entry.get("sig"), str) else entry.get("sig", []):
                name, _, rest = sig.partition("(")
                kinds.setdefault(name.partition(".")[0], [_kind(a) for a in rest.rpartition(")")[0].split(",") if a.strip() and a.strip() != "*"])
    return kinds


def _kind(argument: str) -> str:
    words = argument.split()
    plain = words[0].rstrip("?") if words else ""
    if plain.startswith("Tensor") and "[" in plain:
        return "tensors"
    if "[" in plain:
        return "ints"
    return KINDS.get(re.sub(r"\(.*", "", plain), "other")


def _kinds_of(name: str, function: Any) -> list[str]:
    known = table_kinds().get(name.rpartition(".")[2])
    if known:
        return known
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    except (TypeError, ValueError):
        return ["tensor", "other", "other"]
    kinds = []
    for p in parameters:
        named = next((kind for pattern, kind in BY_NAME if re.search(pattern, p.name)), None)
        kinds.append(
            "tensor" if p.name in ("self", "input", "other", "target", "weight", "x", "A", "B", "tensor", "query", "key") else named or "other"
        )
    return kinds


@functools.cache
def targets() -> list[tuple[str, tuple[str, ...]]]:
    """What can be called: an expression and the kinds of its arguments. Sorted, so that numbers mean the same everywhere."""
    import importlib

    import undertow as ut

    found: dict[str, tuple[str, ...]] = {}
    for module in MODULES:
        space = importlib.import_module(f"undertow.{module}" if module else "undertow")
        prefix = f"ut.{module}." if module else "ut."
        for name in sorted({*dir(space), *getattr(space, "__all__", [])}):
            if name.startswith("_") or LEFT_OUT.search(prefix + name):
                continue
            try:
                function = getattr(space, name)
            except AttributeError:
                continue
            if callable(function) and not inspect.ismodule(function) and not (isinstance(function, type) and issubclass(function, BaseException)):
                found[prefix + name] = tuple(_kinds_of(name, function))
    for name in dir(ut.Tensor):
        function = inspect.getattr_static(ut.Tensor, name)
        if (name.startswith("_") and name not in SPECIAL) or not callable(function) or LEFT_OUT.search("." + name):
            continue
        found["." + name] = tuple(_kinds_of(name, function) or ["tensor"])
    return sorted(found.items())


SPECIAL = ["__getitem__", "__setitem__", "__add__", "__matmul__", "__pow__", "__rpow__", "__floordiv__", "__mod__", "__and__", "__lshift__"]
SPECIAL += ["__iadd__", "__contains__", "__format__", "__reversed__"]


def expression(seed: int, number: int) -> str:
    """Return call number `number`."""
    rng = random.Random(f"{seed}:{number}")
    target, kinds = rng.choice(targets())
    arguments = [value(rng, kind) for kind in kinds]
    if target.startswith("."):
        receiver = value(rng, "tensor") if not arguments or rng.random() < 0.02 else arguments[0]
        arguments = arguments[1:]
        target = f"({receiver}){target}"
    del arguments[rng.choice([len(arguments), rng.randint(0, len(arguments)), len(arguments)]) :]
    if rng.random() < 0.05:
        arguments.append(value(rng, "other"))
    if rng.random() < 0.1:
        arguments.append(
            rng.choice(["dim=", "out=", "dtype=", "keepdim=", "bogus=", "size=", "p="]) + value(rng, rng.choice(["int", "tensor", "other", "dtype"]))
        )
    return f"{target}({', '.join(arguments)})"


def _use(result: Any, depth: int = 0) -> None:
    """Read everything that a call returned, and run backward through it."""
    import undertow as ut

    if isinstance(result, ut.Tensor):
        repr(result)
        if 0 < result.numel() < 10_000 and not result.is_meta:
            result.tolist()
        if result.requires_grad and result.numel() < 10_000:
            result.sum().backward()
    elif isinstance(result, ut.nn.Module) and depth == 0:
        repr(result)
        result(ut.rand(2, 3, 4))
    elif isinstance(result, (tuple, list)) and depth < 2:
        for item in result[:20]:
            _use(item, depth + 1)


def attempt(namespace: dict[str, Any], seed: int, number: int) -> list[tuple[str, str]]:
    """Make one call; return what was wrong about it."""
    try:
        _use(eval(expression(seed, number), namespace))
    except SystemError as error:
        return [("text", f"SystemError: {error}")]
    except Exception as error:
        try:
            text = str(error)
        except Exception:
            return []
        if children.LEAKED.search(text):
            return [("text", f"{type(error).__name__}: {text}")]
    return []


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.api", description=__doc__)
    children.limits(parser)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--show", action="store_true", help="print the calls instead of making them")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.show:
        for number in range(options.first, options.first + options.calls):
            print(expression(options.seed, number))
        return 0
    if options.child is not None:
        namespace: dict[str, Any] = {}
        exec(PRELUDE, namespace)
        targets()
        children.serve(lambda number: attempt(namespace, options.seed, number), options, options.child)
        return 0
    findings = children.run("tools.fuzz.api", options, options.calls, [], lambda number: expression(options.seed, number))
    print(f"tools.fuzz.api: {options.calls} calls of {len(targets())} functions, seed {options.seed}: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
