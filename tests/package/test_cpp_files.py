"""C++ and Python read each other's files, and print tensors with the same text. Uses a C++ test program of the build."""

from __future__ import annotations

import os
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest
from frontend_programs import frontend_program

import undertow as ut
from undertow.serialization import _safetensors


def run(*arguments: str | Path) -> str:
    program = frontend_program("test_files")
    env = {**os.environ, "UNDERTOW_NUM_THREADS": "1"}
    done = subprocess.run([program, *arguments], capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


DTYPES = [
    ut.float32, ut.float64, ut.float16, ut.bfloat16, ut.int64, ut.int32, ut.int16, ut.int8, ut.uint8, ut.bool, ut.complex64, ut.complex128,
    ut.uint16, ut.uint32, ut.uint64, ut.float8_e4m3fn, ut.float8_e5m2,
]  # fmt: skip


def numbers(dtype) -> ut.Tensor:
    return ut.tensor([[0, 1, 2], [3, 0, 1]]).to(dtype)


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_cpp_copies_what_python_saved(tmp_path, suffix):
    known = [d for d in DTYPES if suffix == "pt" or d in _safetensors._NAMES]
    tensors = OrderedDict((str(d), numbers(d)) for d in known)
    tensors["scalar"], tensors["empty"], tensors["large"] = ut.tensor(2.5), ut.empty(0, 3), ut.randn(300, 70)
    ut.save(tensors, tmp_path / f"a.{suffix}")
    run("copy", tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}")
    got = ut.load(tmp_path / f"b.{suffix}")
    assert list(got) == list(tensors) or suffix == "safetensors"
    for name, t in tensors.items():
        assert got[name].dtype == t.dtype and got[name].shape == t.shape
        assert got[name].untyped_storage().tolist() == t.untyped_storage().tolist(), name


def test_cpp_copies_nested_values_views_and_state_dicts(tmp_path):
    base = ut.arange(12.0)
    model = ut.nn.Sequential(ut.nn.Linear(3, 4), ut.nn.BatchNorm1d(4))
    values = {
        "views": [base.view(3, 4).t(), base[2:5], base.expand(2, 12)],
        "leaf": ut.ones(2, requires_grad=True),
        "parameter": ut.nn.Parameter(ut.ones(3)),
        "conj": ut.tensor([1 + 2j]).conj(),
        "numbers": [0, 255, 256, -1, 1 << 40, -(1 << 62), 0.5, float("inf"), True, None, 1 - 2j],
        "text": ["", "a'\"\n", "äöü \U0001f600"],
        "tuples": ((), (1,), (1, (2, 3))),
        "state": model.state_dict(),
        7: "an int is a key too",
    }
    ut.save(values, tmp_path / "a.pt")
    run("copy", tmp_path / "a.pt", tmp_path / "b.pt")
    got = ut.load(tmp_path / "b.pt")
    assert got["numbers"] == values["numbers"] and got["text"] == values["text"] and got["tuples"] == values["tuples"] and got[7] == values[7]
    for a, b in zip(got["views"], values["views"], strict=True):
        assert a.equal(b) and a.stride() == b.stride()
    assert got["views"][0].data_ptr() == got["views"][2].data_ptr()
    assert got["leaf"].requires_grad and got["conj"].equal(values["conj"]) and got["parameter"].requires_grad
    model.load_state_dict(got["state"])


def test_code_in_a_file_is_refused(tmp_path):
    ut.save({"f": ut.nn.Linear(2, 2)}, tmp_path / "a.pt")
    with pytest.raises(AssertionError, match="Unsupported global"):
        run("copy", tmp_path / "a.pt", tmp_path / "b.pt")


def printed() -> list[ut.Tensor]:
    ut.manual_seed(0)
    inf, nan = float("inf"), float("nan")
    out = [numbers(d) for d in DTYPES]
    out += [ut.tensor(v) for v in (1, 2.5, True, 1 + 2j, nan, -inf, [], [1.0], [1.0, nan], [inf, 2.5], [-0.0, 0.0], [1e10, 1.0], [1e-5, 1.0])]
    out += [ut.tensor(v) for v in ([[0.1, 1000.5]], [[1e8, 1.0]], [[1e9, 1.0]], [123456.0, 0.001], [100000.0, 1.0], [0.00011], [0.00009], [1 + 0.5j, -2 - 1e5j])]
    out += [ut.tensor([nan + 1j, complex(0, -inf), complex(-0.0, nan)]), ut.tensor([(1 << 64) - 1], dtype=ut.uint64), ut.tensor([-(1 << 63), 5])]
    out += [ut.randn(5), ut.randn(30), ut.randn(7, 3) * 1e4, ut.randn(2, 3, 4), ut.randn(2, 1, 2, 2), ut.randn(4, 40), ut.randint(0, 10**6, (3, 40))]
    out += [ut.arange(1001), ut.randn(1001), ut.zeros(40, 40), ut.randn(2, 1000), ut.randn(1000, 2), ut.randn(20, 20, 20), ut.randn(7, 7, 7, 7)]
    out += [ut.randn(6, 200), ut.randn(200, 6), ut.arange(2000).view(2, 1000), ut.rand(1001) > 0.5, ut.randn(1100, dtype=ut.complex64)]
    out += [ut.empty(0), ut.empty(0, 3), ut.empty(2, 0, dtype=ut.float64), ut.empty(0, dtype=ut.int64), ut.zeros(1, 1, 1, dtype=ut.float64)]
    out += [ut.randn(3, 4).t(), ut.randn(8)[::2], ut.randn(4).expand(3, 4), ut.randn(30, 40).t(), ut.ones(3, requires_grad=True), ut.ones(50, requires_grad=True)]
    return out


def test_cpp_prints_tensors_as_python_does(tmp_path):
    tensors = printed()
    ut.save(tensors, tmp_path / "a.pt")
    got = run("print", tmp_path / "a.pt").split("\0")
    assert len(got) == len(tensors) + 1
    for ours, t in zip(got, tensors, strict=False):
        assert ours == repr(t)
