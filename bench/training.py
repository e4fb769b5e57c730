"""Whole training steps compared with PyTorch: their cases, and the peak memory of a step. The steps themselves are in models.py."""

from __future__ import annotations

from . import models
from .cases import Case
from .processes import ROOT, fresh

# (function of models.py, its name in the table, minimum of PyTorch's time over ours)
STEPS = [
    (models.small_network, "4-64-64-2, batch 32, Adam", 4),
    (models.digits_network, "784-512-512-10, batch 64, SGD", 1),
    (models.convolutional_network, "CNN of two blocks on 28x28, batch 32", 1),
    (models.residual_block, "residual block 64x32x32, batch 8", 1),
    (models.lstm, "LSTM by hand, 64 steps", 4),
    (models.gpt, "GPT, 4 layers of width 128", 1),
    (models.hessian, "Hessian of 20 variables", 4),
    (models.pointwise, "8 pointwise over 4M floats and back", 1),
]


def cases() -> list[Case]:
    """Two steps run before the measurement: optimizers create their state, libraries choose their kernels."""
    return [Case(f"step: {name}", f"step = models.{f.__name__}(L); step(); step()", "step()", target, threads=2) for f, name, target in STEPS]


# Growth of the resident set over some steps, their model and optimizer: of its maximum (VmHWM), or of what is left at the end (VmRSS).
# The smallest step runs before, so that what a library loads at its first step (PyTorch: 75 MB) is not counted.
GROWTH = """
import json, runpy
import {library} as L
models = runpy.run_path({models!r})
L.set_num_threads(2)
models["small_network"](L)()
def resident():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith({field!r}))
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # resets the maximum resident set
before = resident()
step = models[{name!r}](L)
loss = [float(step()) for _ in range({steps})]
print(json.dumps({{"bytes": resident() - before, "loss": loss[:3]}}))
"""
LONG_RUNS = (models.digits_network, models.convolutional_network)  # a thousand steps of these take seconds


def growth(library: str, name: str, field: str, steps: int) -> dict:
    return fresh(GROWTH.format(library=library, models=str(ROOT / "bench/models.py"), name=name, field=field, steps=steps))


def relative_difference(ours: dict, torch: dict) -> float | None:
    """The largest relative difference of the losses of three steps from the same weights; None if one library failed."""
    if "loss" not in ours or "loss" not in torch:
        return None
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(ours["loss"], torch["loss"]))
