"""Device sources compile for the GPUs that we support, by NVRTC, which needs no GPU.

Each source compiles alone here. Which instances of its templates are used is known only when operators run: UNDERTOW_CUDA_PROGRAMS names a folder of
kernels that an emulated run has left (its UNDERTOW_CUDA_CACHE), and all of them are compiled; `make cuda-sources` does both.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import nvrtc
import pytest

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc")
FILES = [name.decode() for name in nvrtc.headers()[0] if name.endswith(b".cuh")]


@pytest.mark.parametrize("file", FILES)
def test_a_device_source_compiles_alone(file: str):
    assert nvrtc.errors_of(f'#include "{file}"\n', [], "sm_90") == ""


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ("sm_80", "sm_100"))
@pytest.mark.parametrize("file", FILES)
def test_a_device_source_compiles_for_other_gpus(file: str, architecture: str):
    assert nvrtc.errors_of(f'#include "{file}"\n', [], architecture) == ""


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("UNDERTOW_CUDA_PROGRAMS"), reason="UNDERTOW_CUDA_PROGRAMS names no folder of programs")
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
def test_every_kernel_that_operators_used_compiles(architecture: str):
    by_text = defaultdict(list)
    for text, expression in nvrtc.programs_in(Path(os.environ["UNDERTOW_CUDA_PROGRAMS"])):
        by_text[text].append(expression)
    assert by_text
    failures = []
    for text, expressions in by_text.items():
        if nvrtc.errors_of(text, expressions, architecture):
            for expression in expressions:  # which one?
                if message := nvrtc.errors_of(text, [expression], architecture):
                    failures.append(f"{expression}: {message.splitlines()[0]}")
    assert not failures, "\n".join(failures)


def test_a_mistake_in_a_source_is_found():
    assert "undefined" in nvrtc.errors_of("__global__ void f() { missing(); }", [], "sm_90")
