"""Random programs compute the same as PyTorch: values, layouts, errors, first and second derivatives, tangents."""

from __future__ import annotations

import pytest

from tools.fuzz.programs.check import check_seeds


@pytest.mark.parametrize("first", range(0, 1000, 20))
def test_random_programs_agree_with_torch(first):
    _, findings = check_seeds(range(first, first + 20), differences=False, strides=True)
    assert not findings, "\n".join(f"{kind}: {description}\n{text}" for kind, _, description, text in findings)
