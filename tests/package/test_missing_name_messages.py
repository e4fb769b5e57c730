"""A name that torch has and Undertow lacks raises an error that says why, in Undertow's own modules and under as_torch."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import undertow as ut
from undertow import _missing_names
from undertow.as_torch import shims

MISSING = [
    "native_norm", "jit", "compile", "FloatTensor", "permute_copy", "functional", "xpu", "nn.quantized", "backends.mkl", "cuda.amp",
    "linalg.common_notes", "utils.mobile_optimizer", "utils.data.IterDataPipe",
]  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_name_has_the_same_message_as_under_as_torch(name):
    home, _, last = f"undertow.{name}".rpartition(".")
    module = importlib.import_module(home)
    assert not hasattr(module, last)
    with pytest.raises(AttributeError) as caught:
        getattr(module, last)
    reason = _missing_names.reason(f"torch.{name}")
    assert str(caught.value) == f"undertow.{name} is not in Undertow: {reason.replace('torch.', 'undertow.')}"
    assert reason.startswith(("planned: ", "not planned: ")) and caught.value.name == last and caught.value.obj is module


def test_a_name_that_torch_lacks_too_has_the_usual_message():
    for module in (ut, ut.nn, ut.autograd):
        with pytest.raises(AttributeError, match=rf"^module '{module.__name__}' has no attribute 'no_such_name'$"):
            module.no_such_name
        with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
            module.__wrapped__


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("zeros_lik", "zeros_like"), ("optim.Adamm", "Adam"), ("distributions.Normall", "Normal"), ("linalg.invv", "inv"), ("cuda.is_availabl", "is_available")],
)
def test_python_suggests_the_intended_name(wrong, right):
    done = subprocess.run([sys.executable, "-c", f"import undertow as ut; ut.{wrong}"], capture_output=True, text=True)
    module, _, last = f"undertow.{wrong}".rpartition(".")
    assert f"AttributeError: module '{module}' has no attribute '{last}'" in done.stderr
    assert f"Did you mean: '{right}'?" in done.stderr


@pytest.mark.parametrize("name", [n for n in shims.__all__ if not n.startswith("_")])
def test_names_that_exist_only_under_as_torch_have_a_reason(name):
    assert not hasattr(ut, name) and hasattr(shims, name)
    with pytest.raises(AttributeError, match="is not in Undertow: (not )?planned: "):
        getattr(ut, name)
