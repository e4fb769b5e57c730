"""Differentially private training: per-sample gradients by vmap, clipped to a norm, summed with noise."""

import torch
from common import arguments, digits, progress, report
from torch import nn
from torch.func import functional_call, grad, vmap


def main():
    args = arguments(__doc__, steps=100, batch=32, bound=1.0, noise=0.5)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(200, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    def loss_of(parameters, image, label):
        logits = functional_call(model, parameters, (image.unsqueeze(0),))
        return nn.functional.cross_entropy(logits, label.unsqueeze(0))

    each = vmap(grad(loss_of), in_dims=(None, 0, 0))
    for step in progress(args.steps, "training"):
        images, labels = digits(args.batch)
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        grads = each(parameters, images, labels)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        scale = (args.bound / norms).clamp(max=1.0)
        for name, p in model.named_parameters():
            total = torch.einsum("i,i...->...", scale, grads[name])
            p.grad = (total + args.noise * args.bound * torch.randn_like(p)) / args.batch
        optimizer.step()
        loss = vmap(loss_of, in_dims=(None, 0, 0))(parameters, images, labels).mean()
        report(step, loss=loss.item(), cut=(scale < 1).double().mean())


if __name__ == "__main__":
    main()
