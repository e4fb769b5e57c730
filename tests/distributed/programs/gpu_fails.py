"""A rank of a job on GPUs fails: gpu_fails.py HOW. The others must end with its name, also while they wait for the GPU."""

import os
import sys
import time
from datetime import timedelta

import undertow as ut
import undertow.distributed as dist

how = sys.argv[1]
limit = timedelta(seconds=2 if how == "hangs" else 60)
dist.init_process_group("nccl", os.environ["MEET"], timeout=limit)
x = ut.ones(3, device="cuda")
dist.all_reduce(x)
x.tolist()
if dist.get_rank() == 1:
    if how == "hangs":
        time.sleep(8)
        os._exit(0)
    if how == "killed":
        os.kill(os.getpid(), 9)
    if how == "raises":
        raise ValueError("a bad sample")
dist.all_reduce(x)
print(x.tolist(), flush=True)  # waits for rank 1
dist.all_reduce(x)
