"""A program that starts its own processes, as torch's tutorials do; arguments: how they meet, and how they end. Not a file of checks."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import undertow as ut
import undertow.distributed as dist
import undertow.multiprocessing as mp


def work(rank, size, how, end, folder):
    timeout = timedelta(seconds=60)
    if how == "env":
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", Path(folder, "port").read_text()
        dist.init_process_group("gloo", rank=rank, world_size=size, timeout=timeout)
    elif how == "file":
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=size, timeout=timeout)
    else:
        dist.init_process_group("nccl", store=dist.FileStore(f"{folder}/store"), rank=rank, world_size=size, timeout=timeout)
    x = ut.ones(2) * rank
    dist.all_reduce(x)
    ports = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines() if line.split()[3] == "0A"]
    inodes = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")}
    mine = [line.split()[1] for line in ports if f"socket:[{line.split()[9]}]" in inodes]
    assert all(address.startswith("0100007F:") for address in mine), mine  # loopback only
    os.write(1, f"rank {rank} has {x.tolist()}\n".encode())  # in one piece
    if end == "killed" and rank == 1:
        os.kill(os.getpid(), 9)
    if end == "raises" and rank == 1:
        raise ValueError("a bad sample")
    if end != "well":
        dist.all_reduce(x)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2, *sys.argv[1:]), nprocs=2)
