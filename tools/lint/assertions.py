"""Every test can fail: it asserts something, itself or through a helper, and an expected error is distinguished from others.

A helper counts if a function with its name, anywhere under tests/, asserts. Functions called through a table count too:
the lint prefers missing a test to reporting one wrongly.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from .files import text

ASSERTING = ("assert", "gradcheck", "gradgradcheck", "raises", "warns", "fail", "deprecated_call", "same_as_torch")
BROAD = {"Exception", "BaseException", "RuntimeError"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(node: ast.expr) -> str:
    """The last part of a name: `assert_close` of `ut.testing.assert_close`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def asserts(function: ast.AST, helpers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            if isinstance(node.func, ast.Subscript) or name in helpers or name.lstrip("_").startswith(ASSERTING):
                return True
            if name == "run" and any(k.arg == "check" and getattr(k.value, "value", False) is True for k in node.keywords):
                return True  # a program that asserts, and whose exit status is checked
    return False


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def asserting_helpers(trees: list[ast.AST]) -> set[str]:
    """Names of the functions that assert, directly or through one another."""
    others = [f for tree in trees for f in functions(tree) if not f.name.startswith("test")]
    helpers: set[str] = set()
    while more := {f.name for f in others if f.name not in helpers and asserts(f, helpers)}:
        helpers |= more
    return helpers


def too_broad(tree: ast.AST) -> Iterator[int]:
    """Lines of `with pytest.raises(RuntimeError):` where neither the message nor the caught error is checked."""
    for node in ast.walk(tree):
        for item in node.items if isinstance(node, ast.With) else []:
            call = item.context_expr
            if not isinstance(call, ast.Call) or name_of(call.func) != "raises" or item.optional_vars is not None or not call.args:
                continue
            kinds = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            if not any(k.arg in ("match", "check") for k in call.keywords) and any(name_of(kind) in BROAD for kind in kinds):
                yield node.lineno


def check(files: list[Path]) -> list[str]:
    trees = {p: ast.parse(text(p)) for p in files if p.parts[0] == "tests" and p.suffix == ".py"}
    helpers = asserting_helpers(list(trees.values()))
    out = []
    for path, tree in trees.items():
        if path.name.startswith("test_"):
            out += [
                f"{path}:{f.lineno}: {f.name} asserts nothing"
                for f in functions(tree)
                if f.name.startswith("test") and not asserts(f, helpers)
            ]
        out += [f"{path}:{line}: pytest.raises of a broad class; add match= or look at the caught error" for line in too_broad(tree)]
    return out
