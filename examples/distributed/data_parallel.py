"""Data parallel training: `python -m undertow.distributed.run --nproc-per-node 2 data_parallel.py`, or `mpiexec -n 2 python data_parallel.py`.

Each process has its own part of the data; gradients are averaged while the backward pass runs. Prints the loss on rank 0.
"""

import undertow as ut
import undertow.distributed as dist
from undertow import nn
from undertow.nn.parallel import DistributedDataParallel
from undertow.utils.data import DataLoader, DistributedSampler, TensorDataset


def main() -> None:
    """Fit a product of two numbers."""
    dist.init_process_group("mpi")
    ut.manual_seed(0)  # the same data everywhere; the sampler divides it
    x = ut.rand(512, 2)
    data = TensorDataset(x, x[:, :1] * x[:, 1:])
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = ut.optim.Adam(model.parameters(), lr=0.03)
    for epoch in range(40):
        sampler.set_epoch(epoch)
        for inputs, target in loader:
            loss = nn.functional.mse_loss(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    mean = loss.detach()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, loss {mean.item():.5f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
