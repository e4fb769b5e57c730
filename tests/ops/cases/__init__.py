"""Handwritten cases by entry, one module per family of ops/, and the entries to which some properties do not apply, with reasons."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

FAMILIES = {path.stem: import_module(f"cases.{path.stem}") for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
CASES = {key: found for module in FAMILIES.values() for key, found in module.CASES.items()}

# Entries whose results are random: only shapes, dtypes and errors are tested.
RANDOM = {
    "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "bernoulli", "cauchy", "exponential", "geometric",
    "binomial", "log_normal", "multinomial", "native_dropout", "normal", "poisson", "random", "uniform", "empty", "empty_like", "empty_strided", "new_empty",
    "new_empty_strided", "_standard_gamma",
}
# Entries whose meaning is the memory layout itself.
LAYOUT_MATTERS = {
    "as_strided", "as_strided_scatter", "view", "_view_dtype", "view_as_complex", "empty_like", "_strided_sum", "_unsafe_view", "view_as", "resize_", "resize_as_",
}
# Not a function of the values.
NOT_SMOOTH = {"fill", "detach", "zero"}
# Properties that do not apply to single entries, each with its reason.
EXCEPT: dict[str, dict[str, str]] = {key: found for module in FAMILIES.values() for key, found in getattr(module, "EXCEPT", {}).items()}
