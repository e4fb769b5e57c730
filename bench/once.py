"""Measurements that need a fresh process each: bytes per object, import time, installed size, and CPU workers."""

from __future__ import annotations

from .processes import fresh

MODULES = {"undertow": "import undertow as L", "torch": "import torch as L", "numpy": "import numpy as L"}
RSS = """
import gc, json, os
def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""

# Growth of the resident set over many objects, divided by their number; the eight bytes of the list are included.
TENSORS = RSS + """
{module}
{make}
keep = [a * b for _ in range(1000)]
keep.clear()
gc.collect()
before, n = rss(), {n}
keep = [a * b for _ in range(n)]
print(json.dumps({{"bytes": (rss() - before) / n}}))
"""
NODES = RSS + """
{module}
x = L.ones(8).requires_grad_(); w = L.ones(8)
def chain(n):
    y = x
    for _ in range(n):
        y = y * w
    return y
chain(1000)
gc.collect()
before, n = rss(), {n}
y = chain(n)
grown = rss() - before
print(json.dumps({{"bytes": grown / n}}))
os._exit(0)
"""


def bytes_per_tensor(library: str, n: int = 200_000) -> dict:
    if library == "numpy":
        make = "r = L.random.default_rng(0); a = r.random(8, dtype=L.float32); b = r.random(8, dtype=L.float32)"
    else:
        make = "a = L.ones(8); b = L.ones(8)"
    return fresh(TENSORS.format(module=MODULES[library], make=make, n=n))


def bytes_per_node(library: str, n: int = 200_000) -> dict:
    return fresh(NODES.format(module=MODULES[library], n=n))


def import_seconds(library: str, repeats: int) -> dict:
    code = f"import json, time; t = time.perf_counter(); import {library}; print(json.dumps({{'seconds': time.perf_counter() - t}}))"
    answers = [fresh(code) for _ in range(repeats)]
    good = [a["seconds"] for a in answers if "seconds" in a]
    return {"seconds": min(good)} if good else answers[0]


def installed_bytes(library: str) -> dict:
    """Files of the package's folder without byte code and without our CUDA backend; links of a development tree are followed."""
    return fresh(f"""
import importlib.util, json, pathlib
root = pathlib.Path(importlib.util.find_spec("{library}").origin).parent
files = [p for p in root.rglob("*") if p.is_file() and p.suffix != ".pyc" and p.name != "libundertow_cuda.so"]
print(json.dumps({{"bytes": sum(p.stat().st_size for p in files)}}))
""")


# Two equal branches that share only the last addition, each with enough work to be worth a thread. Products, because
# branches of pointwise operations share one memory: on the reference machine two such processes at once gain a factor of 1.74.
BRANCHES = """
import hashlib, json, timeit
import undertow as L
L.set_num_threads(1)
L.autograd.set_num_workers({workers})
n, depth = 256, 12
grid = L.arange(n * n).view(n, n) / (n * n)
leaves = [(grid * (i + 1)).requires_grad_() for i in range(2)]
weights = [((grid - 0.3) / n).requires_grad_() for i in range(2)]
def graph():
    sums = []
    for x, w in zip(leaves, weights):
        y = x
        for _ in range(depth):
            y = (y @ w).tanh()
        sums.append(y.sum())
    return sums[0] + sums[1]
best = 1e9
for _ in range({repeats}):
    for x in leaves + weights:
        x.grad = None
    loss = graph()
    best = min(best, timeit.timeit("loss.backward()", globals=globals(), number=1))
digest = hashlib.sha256(b"".join(x.grad.numpy().tobytes() for x in leaves + weights)).hexdigest()
print(json.dumps({{"seconds": best, "digest": digest}}))
"""


def branches(workers: int, repeats: int) -> dict:
    return fresh(BRANCHES.format(workers=workers, repeats=repeats))
