"""Model-agnostic meta-learning of sines: initial weights from which two gradient steps fit a new sine (functional_call, create_graph)."""

import math

import torch
import torch.nn.functional as F
from common import arguments, progress, report
from torch import nn, optim
from torch.func import functional_call


def sines(tasks, points):
    """Points of `tasks` sines of random amplitude and phase."""
    height = torch.rand(tasks, 1, 1) * 4.9 + 0.1
    phase = torch.rand(tasks, 1, 1) * math.pi
    x = torch.rand(tasks, points, 1) * 10 - 5
    return x, height * torch.sin(x + phase)


def adapted(model, params, x, y, rate, steps):
    """The weights after some steps on one task; the steps themselves are part of the graph."""
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {name: p - rate * g for (name, p), g in zip(params.items(), grads)}
    return params


def main():
    args = arguments(__doc__, steps=200, tasks=8, shots=10)
    model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    params = dict(model.named_parameters())
    optimizer = optim.Adam(params.values(), lr=1e-3)
    for step in progress(args.steps, "training"):
        x, y = sines(args.tasks, 2 * args.shots)
        losses = []
        for task in range(args.tasks):
            fast = adapted(model, params, x[task, : args.shots], y[task, : args.shots], 0.01, 2)
            prediction = functional_call(model, fast, (x[task, args.shots :],))
            losses.append(F.mse_loss(prediction, y[task, args.shots :]))
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, loss=loss.item())


if __name__ == "__main__":
    main()
