"""A job that fails on rank 1 in the way that the first argument names; the others must say so. Not a file of checks."""

import os
import signal
import sys
import time
from datetime import timedelta

import undertow as ut
import undertow.distributed as dist

how = sys.argv[1]
dist.init_process_group("mpi", timeout=timedelta(seconds=4))
dist.all_reduce(ut.ones(3))
rank = dist.get_rank()
if how == "shapes":
    dist.all_reduce(ut.ones(3 + rank))
elif how == "order":
    dist.broadcast(ut.ones(2), 0) if rank else dist.all_reduce(ut.ones(2))
elif how == "monitored":
    if rank != 1:
        dist.monitored_barrier(timeout=timedelta(seconds=2))
    else:
        time.sleep(8)
elif rank == 1:
    if how == "raises":
        raise ValueError("a bad sample")
    if how == "exits":
        sys.exit(3)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs":
        time.sleep(60)
dist.all_reduce(ut.ones(5))  # rank 1 does not come here
