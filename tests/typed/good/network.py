"""A network, its training loop, saving and loading: pyright accepts every line."""

import undertow as ut
import undertow.nn.functional as F
from undertow import nn
from undertow.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 2)
        self.scale = nn.Parameter(ut.ones(2))
        self.register_buffer("seen", ut.zeros(1))

    def forward(self, x: ut.Tensor) -> ut.Tensor:
        hidden = self.drop(F.relu(self.norm(self.first(x))))
        return self.out(hidden) * self.scale


def train(net: Net, data: DataLoader[tuple[ut.Tensor, ...]], epochs: int = 2) -> list[float]:
    optimizer = ut.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.01, betas=(0.9, 0.99))
    schedule = ut.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses: list[float] = []
    for _ in range(epochs):
        for x, y in data:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    return losses


@ut.no_grad()
def accuracy(net: Net, x: ut.Tensor, y: ut.Tensor) -> float:
    net.eval()
    chosen = net(x).argmax(dim=-1)
    return float((chosen == y).float().mean())


ut.manual_seed(0)
inputs, labels = ut.randn(32, 4), ut.randint(0, 2, (32,))
net = Net()
loader = DataLoader(TensorDataset(inputs, labels), batch_size=8, shuffle=True)
losses = train(net, loader)
print(sum(losses) / len(losses), accuracy(net, inputs, labels))
with ut.no_grad():
    logits = net(inputs)
    print(logits.shape[0], logits.dtype, logits.device)
ut.save(net.state_dict(), "net.pt")
other = Net()
other.load_state_dict(ut.load("net.pt"))
model = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 4 * 4, 10))
print(model(ut.rand(2, 1, 8, 8)).softmax(-1).max(dim=1).indices)
for name, parameter in model.named_parameters():
    if parameter.grad is not None:
        print(name, parameter.grad.norm().item())
print(sum(p.numel() for p in net.parameters() if p.requires_grad))
