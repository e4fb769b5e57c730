"""Every example in torch's documentation prints the same here, except for those listed below with the reason."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

pytest.importorskip("torch", reason="torch, whose documentation it is, is not installed")
PROGRAM = Path(__file__).with_name("doc_examples.py")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")

UNINITIALIZED = "prints uninitialized memory"
SIGNS = "singular vectors and eigenvectors are fixed up to a sign"
OTHER = {
    "torch.BFloat16Tensor.new_empty": UNINITIALIZED,
    "torch.BFloat16Tensor.new_empty_strided": UNINITIALIZED,
    "torch.empty": UNINITIALIZED,
    "torch.empty_strided": UNINITIALIZED,
    "torch.nn.utils.skip_init": UNINITIALIZED,
    "torch.svd": SIGNS,
    "torch.linalg.eigh": "a zero has another sign",
    "torch.Generator.seed": "draws from the system",
    "torch.cholesky_inverse": "prints an error of rounding",
    "torch.sort": "an unstable sort: ours keeps the order",
    "torch.set_default_dtype": "there is no complex of halves",
    "torch.set_flush_denormal": "denormal numbers are never flushed",
    "torch.typename": "Parameter's home is undertow.nn",
    "torch.linalg.lstsq": "the rank of a broadcast matrix is given for each",
    "torch.linalg.lu_solve": "torch's own example is not close enough",
    "torch.nn.RMSNorm": "one node instead of several",
    "torch.autograd.graph.saved_tensors_hooks": "an output is packed without its own node",
    "torch.autograd.graph.register_multi_grad_hook": "prints the handle's class",
    "torch.overrides.get_ignored_functions": "lists our own functions",
    "torch.func.functionalize": "needs torch.fx",
}
MISSING = """
torch.hash_tensor torch.native_channel_shuffle torch.thread_safe_generator torch.linalg.ldl_factor torch.linalg.ldl_factor_ex
torch.linalg.ldl_solve torch.overrides.get_testing_overrides torch.overrides.redispatch_function torch.serialization.register_package
torch.serialization.skip_data torch.autograd.graph.region_activation_memory_budget torch.serialization.add_safe_globals torch.serialization.safe_globals
"""


def cleaned(text: str) -> str:
    text = re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "0x", text)).replace("undertow", "torch")
    return text.replace("torch._C.", "torch.").replace("method dot of type object at 0x", "function dot")


def alike(a: str, b: str) -> bool:
    a, b = cleaned(a), cleaned(b)
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(abs(float(x) - float(y)) <= 2e-4 * (1 + abs(float(x))) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True))


@pytest.mark.slow
def test_the_examples_of_torchs_documentation_match_torch(tmp_path):
    sources, theirs, ours = (str(tmp_path / f"{name}.json") for name in ("sources", "theirs", "ours"))
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    program = str(PROGRAM)
    for command in ([program, "list", sources], [program, "run", sources, theirs], ["-m", "undertow.as_torch", program, "run", sources, ours]):
        subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True, timeout=1800)
    sessions, want, got = (json.loads(Path(p).read_text()) for p in (sources, theirs, ours))
    assert len(sessions) > 500
    differ = []
    for name in sessions:
        for source, theirs_said, ours_said in zip(sessions[name], want[name], got[name], strict=True):
            if theirs_said[0] in ("TimeoutError", "NameError") or name in OTHER or name in MISSING.split():
                break
            if theirs_said[0] != ours_said[0] or (theirs_said[0] == "ok" and not alike(theirs_said[1], ours_said[1])):
                differ.append(f"{name}: {source.strip()[:100]}\n  torch: {theirs_said}\n  here:  {ours_said}")
                break
    assert not differ, "\n".join(differ)
