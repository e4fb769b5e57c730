"""The properties an entry must have, by name, and which of them apply to it."""

from __future__ import annotations

import importlib.util
import inspect

import cases
import checks_derivative
import checks_layout
import checks_values
from apply import cases_of, reference_of, smooth_arguments, undifferentiable
from samples import Array
from table import find, formula, is_hidden, plain_id

HAS_FORWARD_MODE = importlib.util.find_spec("undertow.autograd.forward_ad") is not None

PROPERTIES = {name.removeprefix("check_"): f for module in (checks_values, checks_derivative, checks_layout) for name, f in vars(module).items()
              if name.startswith("check_") and inspect.isfunction(f) and f.__module__ == module.__name__}
SLOW = {name for name in PROPERTIES if name.startswith("more_")}


def properties_of(key: str, e) -> list[str]:
    """Which properties apply to an entry."""
    found = cases_of(key, e)
    if not found or find(e) is None:
        return []
    chosen = []
    if any(reference_of(e, c) for c in found) and e.name not in cases.RANDOM:
        chosen.append("values")
    chosen += ["dtypes"] if is_hidden(e) else ["dtypes", "errors"]  # users cannot call a hidden operator with bad arguments
    arrays = [a for c in found for a in c.args if isinstance(a, Array)]
    in_lists = [b for c in found for a in c.args if isinstance(a, list) for b in a if isinstance(b, Array)]
    deterministic = e.name not in cases.RANDOM
    if (arrays or in_lists) and deterministic:
        chosen.append("layouts")
        if any(a.shape and 0 not in a.shape for a in arrays) and e.variants & {"function", "method"}:
            chosen.append("expanded")
    smooth = smooth_arguments(e) and any(c.differentiable for c in found) and e.name not in cases.NOT_SMOOTH
    excepted = set(cases.EXCEPT.get(plain_id(key), ()))
    if "forward_mode" in excepted:
        excepted.add("forward_over_reverse")
    if smooth and (arrays or in_lists) and deterministic and "first_derivative" not in excepted:
        chosen += ["cotangents", "more_cotangents"]
        if e.name not in cases.LAYOUT_MATTERS:
            chosen += ["input_layouts", "more_input_layouts"]
        if find(e, "inplace") and not e.spec.get("view") and e.name not in ("swapaxes", "swapdims"):  # which are views
            chosen += ["written_views", "more_written_views"]
    smooth = smooth and bool(e.variants & {"function", "method"})  # an in-place operator cannot write to a leaf
    if smooth and (arrays or in_lists) and deterministic:
        chosen += ["first_derivative", "second_derivative"]
        if HAS_FORWARD_MODE:
            chosen += ["forward_mode", "forward_over_reverse"]
    if undifferentiable(e):
        chosen.append("no_derivative")
    if e.spec.get("constants"):
        chosen.append("constants")
    if find(e, "inplace") and arrays and deterministic and "function" in e.variants:
        chosen.append("inplace")
    if "out" in e.variants and deterministic and not is_hidden(e) and e.return_type == "Tensor":
        chosen.append("out")
    if e.grad and not e.is_composite and formula.all_saved(e) and deterministic:
        chosen.append("saved_names")
    pointwise_or_reduction = e.is_pointwise or e.family == "scan" or str(e.spec.get("samples")).startswith("reduc")
    if pointwise_or_reduction and deterministic and any(a.shape and 0 not in a.shape for a in arrays):
        chosen.append("threads")
    return [c for c in chosen if c not in excepted]
