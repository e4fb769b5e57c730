"""The examples in torch's docstrings: found in an installed torch, run by either library.

`python doc_examples.py list FILE` writes them to a file; `python doc_examples.py run FILE RESULTS`, on torch or by `-m undertow.as_torch`,
runs each docstring as a separate session and writes what every example printed or raised. test_doc_examples.py compares.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import re
import signal
import sys
import tempfile
import types
import warnings

MODULES = """
torch torch.amp torch.autograd torch.autograd.forward_ad torch.autograd.function torch.autograd.functional torch.autograd.grad_mode torch.autograd.graph
torch.distributions torch.distributions.constraints torch.fft torch.func torch.functional torch.linalg torch.nn torch.nn.functional torch.nn.grad
torch.nn.init torch.nn.modules.module torch.nn.parameter torch.nn.utils torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.prune
torch.nn.utils.rnn torch.nn.utils.stateless torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.overrides torch.quasirandom torch.random
torch.serialization torch.signal.windows torch.special torch.testing torch.utils.checkpoint torch.utils.data torch.utils.weak
"""
# Devices, files and processes that do not exist, or output of a compiler, which we lack.
ELSEWHERE = re.compile(
    r"cuda|distributed|\bdist\.|xpu|\bmps\b|sparse|quantiz|onnx|hub\.load|compile|DataParallel|download|input\(|while True|init_process|torchvision|"
    r"Process\(|mtia|num_workers|spawn|torch\.ops|meta\b|nested|torch\.fx"
)


def examples() -> dict[str, list[str]]:
    """The sources of the examples of each public object, by its name."""
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    parser = doctest.DocTestParser()

    def add(name: str, value: object) -> None:
        text = getattr(value, "__doc__", None)
        if not isinstance(text, str) or ">>>" not in text or text in seen:
            return
        seen.add(text)
        with contextlib.suppress(ValueError):
            sources = [e.source for e in parser.get_examples(text)]
            if not ELSEWHERE.search(name + "\n".join(sources)):
                found[name] = sources

    for module in MODULES.split():
        space = importlib.import_module(module)
        for name in (n for n in dir(space) if not n.startswith("_")):
            value = getattr(space, name, None)
            if isinstance(value, types.ModuleType) or not str(getattr(value, "__module__", "torch") or "torch").startswith(("torch", "builtins")):
                continue
            add(f"{module}.{name}", value)
            for inner in dir(value) if isinstance(value, type) else ():
                if not inner.startswith("__"):
                    add(f"{module}.{name}.{inner}", getattr(value, inner, None))
    return found


def run(sources: list[str]) -> list[tuple[str, str]]:
    """What each example gave: ("ok", what it printed), or the class and message of what it raised."""
    import numpy
    import torch

    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": numpy, "numpy": numpy, "math": importlib.import_module("math"), "__name__": "doc"}
    torch.manual_seed(0)
    numpy.random.seed(0)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    results = []
    for source in sources:
        out = io.StringIO()

        def show(value: object, out: io.StringIO = out) -> None:
            if value is not None:
                out.write(repr(value)[:3000] + "\n")

        before, sys.displayhook = sys.displayhook, show
        signal.alarm(20)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(source, "<doc>", "single"), names)
            results.append(("ok", out.getvalue()))
        except BaseException as error:  # noqa: BLE001 - what is raised is the result
            results.append((type(error).__name__, str(error)[:300]))
        finally:
            signal.alarm(0)
            sys.displayhook = before
    return results


def main(what: str, file: str, results: str = "") -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("an example took longer than 20 s")))
    if what == "list":
        with open(file, "w") as f:
            json.dump(examples(), f)
        return
    with open(file) as f:
        sessions = json.load(f)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done = {name: run(sources) for name, sources in sessions.items()}
        os.chdir("/")
    with open(results, "w") as f:
        json.dump(done, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
