"""A physics-informed network for Burgers' equation: u_t + u u_x = nu u_xx, with nu learned too (second derivatives, LBFGS)."""

import math

import torch
from common import arguments, progress, report
from torch import nn, optim


class Field(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.nu = nn.Parameter(torch.tensor(0.02))
        self.net.apply(self.init)

    @staticmethod
    def init(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight)
            nn.init.zeros_(module.bias)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))

    def residual(self, x, t):
        """The residual of the equation."""
        x.requires_grad_()
        t.requires_grad_()

        def slope(of, by):
            return torch.autograd.grad(of, by, torch.ones_like(of), create_graph=True)[0]

        u = self(x, t)
        u_x, u_t = slope(u, x), slope(u, t)
        return u_t + u * u_x - self.nu * slope(u_x, x)


def main():
    args = arguments(__doc__, steps=300, points=200)
    model = Field()
    x, t = torch.rand(args.points, 1) * 2 - 1, torch.rand(args.points, 1)
    start, edge = torch.linspace(-1, 1, 40)[:, None], torch.rand(20, 1)
    wanted = -torch.sin(math.pi * start)

    def total():
        inside = model.residual(x, t).pow(2).mean()
        begin = (model(start, torch.zeros_like(start)) - wanted).pow(2).mean()
        walls = sum(model(side * torch.ones_like(edge), edge).pow(2).mean() for side in (-1, 1))
        return inside + begin + walls

    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    for step in progress(args.steps, "training"):
        optimizer.zero_grad()
        loss = total()
        loss.backward()
        optimizer.step()
        report(step, loss=loss.item(), nu=model.nu.item())
    finish = optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe")

    def closure():
        finish.zero_grad()
        loss = total()
        loss.backward()
        return loss

    report(args.steps, loss=finish.step(closure).item())


if __name__ == "__main__":
    main()
