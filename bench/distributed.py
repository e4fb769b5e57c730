"""python -m bench.distributed [--ranks 2] [--quick] [--write]: collectives and training steps on several processes, beside MPI's own calls and gloo.

Prints: all-reduce latency and bandwidth of Undertow, of plain mpi4py and of gloo; the time of a training step with DistributedDataParallel;
the bytes per rank of parameters, gradients and optimizer state beside the formulas; a model of scaling beside the steps of this run. Every
process computes with one thread. --write saves the tables as bench/DISTRIBUTED.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = [8, 1 << 10, 1 << 14, 1 << 18, 1 << 22]  # float32 elements
WIDTHS = [16, 256, 1024]  # of the network of the training step
_TORCH_SECONDS = 120  # that torch's processes may take


def _best(call, rounds: int, inner: int) -> float:
    """Return the least mean time of one call, in seconds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(inner):
            call()
        times.append((time.perf_counter() - begin) / inner)
    return min(times)


def _loops(elements: int) -> int:
    return max(3, min(300, (1 << 20) // elements))


def reductions(library: str) -> dict[str, float]:
    """Times of all_reduce by the number of elements."""
    if library == "mpi4py":
        import numpy as np
        from mpi4py import MPI

        def call_of(count: int):
            x = np.ones(count, np.float32)
            return lambda: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)

    else:
        lib, dist = _library(library)

        def call_of(count: int):
            x = lib.ones(count)
            return lambda: dist.all_reduce(x, dist.ReduceOp.MAX)

    return {str(count): _best(call_of(count), _rounds(), _loops(count)) for count in SIZES}


def _rounds() -> int:
    return 2 if os.environ.get("QUICK") else 7


def steps(library: str) -> dict:
    """Times of a training step by the width of the network, with and without DistributedDataParallel; the bytes of its buckets."""
    lib, _ = _library(library)
    found: dict = {}
    for width in WIDTHS:
        for parallel in (False, True):
            lib.manual_seed(0)
            layers = [layer for _ in range(4) for layer in (lib.nn.Linear(width, width), lib.nn.Tanh())]
            model = lib.nn.Sequential(*layers)
            if parallel:
                model = lib.nn.parallel.DistributedDataParallel(model)
            optimizer, x = lib.optim.SGD(model.parameters(), lr=1e-3), lib.ones(16, width)

            def step(model=model, optimizer=optimizer, x=x):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()

            found[f"{width} {'ddp' if parallel else 'alone'}"] = _best(step, _rounds(), max(2, 2000 // width))
            if parallel and library == "undertow":
                found[f"{width} buckets"] = [bucket.memory.nbytes for bucket in model.reducer.buckets]
    return found


def memory() -> dict[str, list[int]]:
    """Bytes of parameters, gradients and optimizer state on this rank, found and by formula (n ranks, P bytes of parameters, Adam).

    The buckets of DistributedDataParallel are P more, unless gradients are views of them.
    """
    import undertow as ut
    import undertow.distributed as dist
    from undertow.distributed.fsdp import fully_shard
    from undertow.distributed.optim import ZeroRedundancyOptimizer
    from undertow.nn.parallel import DistributedDataParallel

    ranks, found = dist.get_world_size(), {}
    for kind in ("ddp", "zero", "fully_shard"):
        model = ut.nn.Sequential(*[ut.nn.Linear(256, 256) for _ in range(4)])
        whole = sum(p.nbytes for p in model.parameters())
        if kind == "fully_shard":
            model = fully_shard(model)
        else:
            model = DistributedDataParallel(model)
        make = (lambda p: ZeroRedundancyOptimizer(p, ut.optim.Adam)) if kind == "zero" else ut.optim.Adam
        optimizer = make(model.parameters())
        model(ut.ones(4, 256)).sum().backward()
        optimizer.step()
        inner = optimizer.optim if kind == "zero" else optimizer
        states = sum(v.nbytes for s in inner.state.values() for v in s.values() if isinstance(v, ut.Tensor) and v.dim())
        bytes_here = sum(p.nbytes + p.grad.nbytes for p in model.parameters()) + states
        formula = {"ddp": 4 * whole, "zero": (2 + 2 / ranks) * whole, "fully_shard": 4 * whole / ranks}[kind]
        found[kind] = [bytes_here, round(formula)]
    return found


def _library(name: str):
    import importlib

    return importlib.import_module(name), importlib.import_module(f"{name}.distributed")


def worker(library: str, rank: str, folder: str) -> None:
    """Measure on this rank and write what rank 0 found."""
    results = {}
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=int(rank), world_size=int(os.environ["RANKS"]))
        results = {"torch": reductions("torch"), "torch steps": steps("torch")}
        first = rank == "0"
    else:
        import undertow.distributed as dist

        dist.init_process_group("mpi")
        results = {"undertow": reductions("undertow"), "mpi4py": reductions("mpi4py"), "undertow steps": steps("undertow"), "memory": memory()}
        first = dist.get_rank() == 0
    if first:
        Path(folder, f"{library}.json").write_text(json.dumps(results))


# Note [Model Of Scaling]
# One step on n ranks takes max(compute, overlapped communication) + what cannot overlap. A ring all-reduce of B bytes takes
# 2 (n-1) latency + 2 (n-1)/n B / bandwidth. Assumptions: every rank has the same speed and its own link; the network has no congestion; the
# communication of all buckets but the last overlaps with the backward pass (two thirds of the compute time) and takes nothing from it; hooks
# and copies into buckets cost nothing; the batch per rank is constant. Where ranks share cores and memory, as on one machine, the bandwidth
# that an all-reduce alone finds is more than it has beside a backward pass, so the model is too fast there.
def step_time(ranks: int, compute: float, size: float, latency: float, bandwidth: float, last_bucket: float = 1 << 20) -> float:
    """Return the seconds of one training step by the model; sizes in bytes.

    >>> round(step_time(1, 0.1, 4e8, 1e-6, 1e10), 3)
    0.1
    """
    if ranks == 1:
        return compute

    def ring(count: float) -> float:
        return 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * count / bandwidth

    last = min(last_bucket, size)
    hidden = ring(size - last) if size > last else 0.0
    return compute / 3 + max(2 / 3 * compute, hidden) + ring(last)


def network_of(reductions: dict[str, float], ranks: int) -> tuple[float, float]:
    """Return the latency and the bandwidth that explain the smallest and the largest all-reduce of a run.

    >>> latency, bandwidth = network_of({"8": 2e-6, "1000008": 2e-6 + 4e-3}, 2)
    >>> round(latency * 1e6, 3), round(bandwidth / 1e9, 3)
    (1.0, 1.0)
    """
    (small, fast), (large, slow) = sorted((4 * int(count), seconds) for count, seconds in reductions.items())[:: len(reductions) - 1]
    return fast / (2 * (ranks - 1)), 2 * (ranks - 1) / ranks * (large - small) / (slow - fast)


def _ended_badly(process: subprocess.Popen) -> bool:
    try:
        return process.wait(timeout=_TORCH_SECONDS) != 0
    except subprocess.TimeoutExpired:
        process.kill()
        return True


def _run(folder: str, ranks: int, quick: bool) -> dict:
    from .processes import environment  # not at the top: the ranks run this file as a program

    threads = {"UNDERTOW_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    variables = {**environment(), **threads, "RANKS": str(ranks), "GLOO_SOCKET_IFNAME": "lo", **({"QUICK": "1"} if quick else {})}
    worker = [__file__, "--worker"]
    launcher = [sys.executable, "-m", "undertow.distributed.run", "--nproc-per-node", str(ranks)]
    subprocess.run([*launcher, *worker, "undertow", "-", folder], env=variables, check=True)
    from importlib.util import find_spec

    if find_spec("torch") is not None:
        program = [sys.executable, *worker, "torch"]
        started = [subprocess.Popen([*program, str(r), folder], env=variables, stderr=subprocess.DEVNULL) for r in range(ranks)]
        failed = [_ended_badly(process) for process in started]
        if any(failed):
            print("torch's processes failed, so its columns are empty\n", file=sys.stderr)
    results: dict = {}
    for path in Path(folder).glob("*.json"):
        results |= json.loads(path.read_text())
    return results


def report(found: dict, ranks: int) -> str:
    """Return the tables."""
    has_torch = "torch" in found
    lines = [f"all_reduce of float32 on {ranks} processes: microseconds, GB/s, gloo's time / ours\n"]
    lines.append("| elements | Undertow | plain mpi4py | torch gloo | GB/s | ratio |\n|---|---|---|---|---|---|")
    for count in map(str, SIZES):
        ours, mpi, torch = found["undertow"][count], found["mpi4py"][count], found["torch"][count] if has_torch else float("nan")
        rate = 4 * int(count) / ours / 1e9
        lines.append(f"| {count} | {ours * 1e6:.1f} | {mpi * 1e6:.1f} | {torch * 1e6:.1f} | {rate:.2f} | {torch / ours:.1f} |")
    lines.append("\ntraining step, milliseconds: four layers, batch 16\n")
    lines.append("| width | alone | with DDP | gloo: alone | gloo: with DDP | ratio |\n|---|---|---|---|---|---|")
    for width in WIDTHS:
        mine = [found["undertow steps"][f"{width} {kind}"] * 1e3 for kind in ("alone", "ddp")]
        theirs = [found["torch steps"][f"{width} {kind}"] * 1e3 if has_torch else float("nan") for kind in ("alone", "ddp")]
        lines.append(f"| {width} | {mine[0]:.2f} | {mine[1]:.2f} | {theirs[0]:.2f} | {theirs[1]:.2f} | {theirs[1] / mine[1]:.1f} |")
    lines.append("\nbytes per rank of parameters, gradients and Adam's state\n\n| | found | formula |\n|---|---|---|")
    lines += [f"| {kind} | {bytes_here:,} | {formula:,} |" for kind, (bytes_here, formula) in found["memory"].items()]
    latency, bandwidth = network_of(found["undertow"], ranks)
    network = f"{latency * 1e6:.1f} us and {bandwidth / 1e9:.2f} GB/s"
    lines.append(f"\nthe model and this run: milliseconds of a step, with {network} from the table above\n")
    lines.append("| width | model | found | found / model |\n|---|---|---|---|")
    for width in WIDTHS:
        compute, measured, buckets = (found["undertow steps"][f"{width} {kind}"] for kind in ("alone", "ddp", "buckets"))
        model = step_time(ranks, compute, sum(buckets), latency, bandwidth, buckets[-1])
        lines.append(f"| {width} | {model * 1e3:.2f} | {measured * 1e3:.2f} | {measured / model:.2f} |")
    lines.append("\nmodel of scaling (Note [Model Of Scaling]): efficiency of a step of 100 ms, 400 MB of gradients\n")
    networks = {"10 Gbit/s, 20 us": (2e-5, 1.25e9), "100 Gbit/s, 2 us": (2e-6, 1.25e10), "400 Gbit/s, 2 us": (2e-6, 5e10)}
    lines.append(f"| ranks | {' | '.join(networks)} |\n|{'---|' * (len(networks) + 1)}")
    for size in (2, 8, 64, 256, 1024):
        shares = [0.1 / step_time(size, 0.1, 4e8, *network) for network in networks.values()]
        lines.append(f"| {size} | {' | '.join(f'{share:.0%}' for share in shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the processes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, to see that it runs")
    parser.add_argument("--write", action="store_true", help="save the tables as bench/DISTRIBUTED.md")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = report(_run(folder, options.ranks, options.quick), options.ranks)
    print(text)
    if options.write:
        from .__main__ import versions
        from .report import describe_machine

        machine = describe_machine(versions(["undertow", "torch", "mpi4py", "mpich"]))
        head = f"# Several processes\n\nWritten by `python -m bench.distributed --write`. {machine}\n\n"
        Path(__file__).with_name("DISTRIBUTED.md").write_text(f"{head}{text}\n")


if __name__ == "__main__":
    main()
