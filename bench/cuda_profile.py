"""python -m bench.cuda_profile [--library undertow|torch|both] [--top N] [CASE ...]: the kernels of a step; --start: the parts of a first step.

PyTorch's profiler records every kernel of the process through CUPTI, so it also times those of Undertow, which does not use PyTorch.
For each case: the time of a step, how long the GPU was busy, the number of kernels, and the kernels that take the most time, added up by name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cuda_models as models
from .cuda_cases import all_cases

WIDTH = 110  # columns of a kernel's name
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
STEPS = 3
CASES: dict[str, Callable[[Any], models.Step]] = {
    "gpt2-8x1024": lambda L: models.gpt2(L, 8, 1024),
    "gpt2-1x128": lambda L: models.gpt2(L, 1, 128),
    "gpt2-1x128-captured": lambda L: models.captured(L, models.gpt2(L, 1, 128, capturable=True)),
    "resnet50": models.resnet50,
}


@dataclass
class Row:
    """All runs of one kernel: microseconds and count, of all recorded steps."""

    name: str
    time: float = 0
    count: int = 0


@dataclass
class Trace:
    rows: list[Row]  # the longest first
    span: float  # microseconds from the first kernel's begin to the last one's end
    busy: float  # of them, those in which a kernel ran


def short(name: str) -> str:
    """A kernel's name without what is the same in all: namespaces, the return type, the list of parameters."""
    name = re.sub(r"\b(void|undertow::|at::native::|cutlass::|\(anonymous namespace\)::|std::)\s*", "", name)
    depth = 0
    for i, letter in enumerate(name):  # the first parenthesis outside template arguments
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and i:
            name = name[:i].rstrip()
            break
    return name if len(name) <= WIDTH else name[: WIDTH - 3] + "..."


def read(events: Iterable[dict[str, Any]]) -> Trace:
    """What the events of a Chrome trace say about the device."""
    rows: dict[str, Row] = {}
    times = []
    for event in events:
        if event.get("cat") in ON_DEVICE and "dur" in event:
            name = short(event["name"])
            row = rows.setdefault(name, Row(name))
            row.time += event["dur"]
            row.count += 1
            times.append((event["ts"], event["ts"] + event["dur"]))
    times.sort()
    busy, end = 0.0, float("-inf")
    for start, stop in times:  # streams may overlap
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return Trace(sorted(rows.values(), key=lambda r: -r.time), end - times[0][0] if times else 0.0, busy)


def report(case: str, library: str, trace: Trace, step: float, top: int) -> str:
    """The table of one case, times per step."""
    kernels = sum(r.count for r in trace.rows)
    lines = [f"== {case}, {library}: {step * 1e3:.2f} ms a step; GPU busy {trace.busy / STEPS / 1e3:.2f} ms of {trace.span / STEPS / 1e3:.2f}; "
             f"{kernels / STEPS:.0f} kernels"]  # fmt: skip
    groups: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for r in trace.rows:
        group = groups[re.split(r"[<\s]", r.name)[0]]
        group[0] += r.time
        group[1] += r.count
    whole = sorted(groups.items(), key=lambda g: -g[1][0])[:8]
    lines.append("   by template: " + "; ".join(f"{name[:40]} {t / STEPS:.0f} us x{n / STEPS:.0f}" for name, (t, n) in whole))
    for r in trace.rows[:top]:
        lines.append(f"{r.time / STEPS:9.1f} us {r.count / STEPS:6.1f} x {r.time / r.count:8.1f} us  {r.name}")
    rest = trace.rows[top:]
    if rest:
        lines.append(f"{sum(r.time for r in rest) / STEPS:9.1f} us {sum(r.count for r in rest) / STEPS:6.1f} x           {len(rest)} further kernels")
    return "\n".join(lines)


def profile(case: str, library: str, top: int) -> str:
    import torch

    L = __import__(library)
    found = CASES.get(case) or next(c.make for c in all_cases() if c.name == case)
    step = found(L)
    for _ in range(4):
        step()
    L.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    L.cuda.synchronize()
    duration = (time.perf_counter() - begin) / STEPS
    torch.cuda.init()  # CUPTI is ready before the steps that count
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as recorded:
        for _ in range(STEPS):
            step()
        L.cuda.synchronize()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return report(case, library, read(events), duration, top)


def start() -> None:
    """The parts of the first step of GPT-2, each until the GPU has done it."""
    last = time.perf_counter()

    def part(name: str, f: Callable[[], Any]) -> Any:
        nonlocal last
        result = f()
        if "undertow" in sys.modules and name != "import":
            L.cuda.synchronize()
        now = time.perf_counter()
        print(f"{now - last:7.3f} s  {name}", flush=True)
        last = now
        return result

    L = part("import", lambda: __import__("undertow"))
    part("driver and context", lambda: L.cuda.synchronize())
    part("first kernel", lambda: L.zeros(8, device="cuda"))
    x = part("random numbers and a conversion", lambda: L.randn(256, 256, device="cuda").to(L.bfloat16))
    part("first product (cuBLASLt)", lambda: x @ x)
    part("second product, another shape", lambda: x[:128] @ x)
    q = part("a view", lambda: x.view(1, 4, 256, 64).requires_grad_())
    y = part("first attention (cuDNN)", lambda: L.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True))
    part("its gradient", lambda: y.sum().backward())
    model = part("the model", lambda: models.gpt2_model(L))
    optimizer = L.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = L.randint(0, 50257, (1, 129), device="cuda")
    places = L.arange(128, device="cuda")
    targets = tokens[:, 1:].contiguous().view(-1)
    for number in ("first", "second", "third"):
        loss = part(f"{number} forward", lambda: L.nn.functional.cross_entropy(model(tokens[:, :-1].contiguous(), places).view(-1, 50257), targets))
        part(f"{number} backward", lambda loss=loss: loss.backward())
        part(f"{number} optimizer step", lambda: optimizer.step())
        optimizer.zero_grad(set_to_none=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}, or names of bench.cuda; default: the first and the last two of these")
    parser.add_argument("--library", default="undertow", choices=("undertow", "torch", "both"))
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--start", action="store_true")
    given = parser.parse_args()
    if given.start:
        start()
        return
    for case in given.cases or ("gpt2-8x1024", "gpt2-1x128-captured", "resnet50"):
        for library in ("undertow", "torch") if given.library == "both" else (given.library,):
            try:
                print(profile(case, library, given.top), flush=True)
            except Exception as error:  # the other cases are worth having
                print(f"== {case}, {library}: {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
