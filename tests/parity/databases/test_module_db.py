"""Every module of torch's module database, in both libraries: values, gradients, text, state, copies and errors.

The quick form walks the first inputs of each in float32 and training; the whole form (slow) all of them, in two dtypes and both modes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch, the oracle, is not installed")
pytest.importorskip("expecttest", reason="torch's module database needs expecttest, which is not installed")

sys.path.insert(0, str(Path(__file__).resolve().parent))
import module_walk
from torch.testing._internal.common_modules import module_db

INFOS = [info for info in module_db if info.name.startswith("nn.")]  # there are no quantized ones here
WIDE = {"nn.Transformer", "nn.TransformerEncoder", "nn.TransformerEncoderLayer", "nn.TransformerDecoderLayer", "nn.MultiheadAttention"}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
def test_a_module_of_the_database_matches_torch(info):
    first = 1 if info.name in WIDE else 4
    assert module_walk.differences(info, torch.float32, training=True, first=first) == []
    assert module_walk.error_differences(info, torch.float32, training=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
def test_a_module_of_the_database_matches_torch_for_all_inputs(info, dtype, training):
    if not training and not info.train_and_eval_differ:
        pytest.skip("the module is the same in both modes")
    found = module_walk.differences(info, dtype, training) + module_walk.error_differences(info, dtype, training)
    if info.name == "nn.CTCLoss":  # torch reads concatenated targets that are not contiguous as if they were
        found = [each for each in found if "1d_target" not in each or "non-contiguous" not in each]
    assert found == []
