"""A job whose rank 1 fails in the first attempt and continues from a file in the second. Not a file of checks."""

import os
import sys

import undertow as ut
import undertow.distributed as dist

path = sys.argv[1]
dist.init_process_group()
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
start = int(open(path).read()) if os.path.exists(path) else 0  # noqa: SIM115
total = ut.tensor([float(start)])
for step in range(start, 6):
    one = ut.ones(1)
    dist.all_reduce(one)
    total += one / dist.get_world_size()
    if rank == 0:
        with open(path, "w") as file:
            file.write(str(step + 1))
    dist.barrier()
    if step == 3 and attempt == 0 and rank == 1:
        raise ValueError("out of memory, say")
os.write(1, f"rank {rank} attempt {attempt} began at {start} and has {total.item()}\n".encode())
dist.destroy_process_group()
