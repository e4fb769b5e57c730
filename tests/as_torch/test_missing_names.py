"""Every public torch name exists here, or the table of missing names says whether it is planned."""

from __future__ import annotations

import importlib
import warnings

import pytest
from torch_names import Names
from torch_public_names import NAMESPACES, stored

from undertow import _missing_names


def has(space: object, name: str) -> bool:
    try:
        getattr(space, name)
    except AttributeError:
        return False
    return True


def here(name: str) -> object:
    """What programs get for the name under as_torch."""
    module = Names(name[len("torch") :])
    return module if module.homes else getattr(Names(name.rpartition(".")[0][len("torch") :]), name.rpartition(".")[2])


def missing(name: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours = here(name)
        except (ImportError, AttributeError):
            return [name]
        names = [n for n in stored()[name] if not has(ours, n)]
        return [f"{name}.{n}" for n in names if not _is_our_module(f"{name}.{n}")]


def _is_our_module(name: str) -> bool:
    """Under as_torch a submodule is found as an attribute, as torch imports most of its own early."""
    try:
        return any(importlib.util.find_spec(root + name[len("torch") :]) is not None for root in ("undertow", "undertow.as_torch.shims"))
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_missing_name_is_explained(namespace):
    silent = [name for name in missing(namespace) if "no public name" in _missing_names.reason(name)]
    assert not silent


def _is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec("undertow" + name[len("torch") :]) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("module", [name for name in NAMESPACES if _is_here(name)])
def test_a_misspelled_name_is_not_taken_for_one_of_torchs(module):
    assert not _missing_names.is_torchs(f"{module}.no_such_name")


def test_a_reason_says_planned_or_not_planned():
    for _, reason in _missing_names.REASONS:
        assert reason.startswith(("planned: ", "not planned: "))
