"""Custom datasets, loaders, every optimizer's usual arguments, distributions."""

import undertow as ut
from undertow import nn, optim
from undertow.utils.data import DataLoader, Dataset, Subset, random_split


class Squares(Dataset[tuple[int, int]]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, index * index


first, second = random_split(Squares(), [7, 3])
part: Subset[tuple[int, int]] = first
for batch in DataLoader(second, batch_size=2, num_workers=0, drop_last=True):
    print(batch)
layer = nn.Linear(2, 2, bias=True)
groups = [{"params": [layer.weight], "lr": 0.1}, {"params": [layer.bias]}]
optimizers: list[optim.Optimizer] = [
    optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    optim.Adam(layer.parameters(), lr=1e-3, betas=(0.9, 0.999), amsgrad=True),
    optim.AdamW(groups, lr=1e-3),
    optim.RMSprop(layer.parameters(), alpha=0.9),
    optim.Adagrad(layer.parameters()),
    optim.NAdam(layer.parameters()),
]
for optimizer in optimizers:
    optimizer.zero_grad()
    layer(ut.ones(1, 2)).sum().backward()
    optimizer.step()
    print(optimizer.param_groups[0]["lr"], optimizer.state_dict().keys())


def closure() -> ut.Tensor:
    lbfgs.zero_grad()
    loss = layer(ut.ones(1, 2)).square().sum()
    loss.backward()
    return loss


lbfgs = optim.LBFGS(layer.parameters(), lr=0.5)
lbfgs.step(closure)
normal = ut.distributions.Normal(0.0, 1.0)
print(normal.log_prob(normal.rsample((3,))).sum(), ut.distributions.kl_divergence(normal, ut.distributions.Normal(1.0, 2.0)))
