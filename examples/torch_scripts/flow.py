"""A normalizing flow (RealNVP) on two moons: invertible layers whose Jacobians give the density of every point."""

import math

import torch
from common import arguments, progress, report
from torch import distributions, nn, optim


class Coupling(nn.Module):
    """Half of the features are scaled and shifted by a network of the other half."""

    def __init__(self, mask, width=32):
        super().__init__()
        self.register_buffer("mask", mask)
        self.scale = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(), nn.Linear(width, 2), nn.Tanh())
        self.move = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(), nn.Linear(width, 2))

    def parts(self, x):
        fixed = x * self.mask
        return fixed, self.scale(fixed) * (1 - self.mask), self.move(fixed) * (1 - self.mask)

    def forward(self, x):
        fixed, scale, move = self.parts(x)
        return fixed + (1 - self.mask) * (x - move) * torch.exp(-scale), -scale.sum(-1)

    def back(self, z):
        fixed, scale, move = self.parts(z)
        return fixed + (1 - self.mask) * (z * torch.exp(scale) + move)


class Flow(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        masks = torch.tensor([[0.0, 1.0], [1.0, 0.0]] * (layers // 2))
        self.layers = nn.ModuleList(Coupling(mask) for mask in masks)
        self.prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, slope = layer(x)
            total = total + slope
        return self.prior.log_prob(x) + total

    def sample(self, count):
        x = self.prior.sample((count,))
        for layer in reversed(self.layers):
            x = layer.back(x)
        return x


def moons(count):
    angle = torch.rand(count) * math.pi
    side = torch.randint(0, 2, (count,)) * 2 - 1
    points = torch.stack([torch.cos(angle) + 0.5 * side, torch.sin(angle) * side - 0.25 * side], dim=1)
    return points + torch.randn(count, 2) * 0.08


def main():
    args = arguments(__doc__, steps=300, batch=128)
    flow = Flow()
    optimizer = optim.Adam(flow.parameters(), lr=3e-3)
    for step in progress(args.steps, "training"):
        loss = -flow.log_prob(moons(args.batch)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss=loss.item())
    with torch.no_grad():
        for x, y in flow.sample(3).tolist():
            print(f"{x:.3f} {y:.3f}")


if __name__ == "__main__":
    main()
