"""A generative adversarial network: one network generates points on a ring, another distinguishes them from real ones."""

import math

import torch
from common import arguments, progress, report
from torch import nn, optim


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.2)
        nn.init.zeros_(m.bias)


def ring(count):
    angle = torch.rand(count) * 2 * math.pi
    radius = 1 + 0.05 * torch.randn(count)
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)


def main():
    args = arguments(__doc__, steps=400, batch=128)
    latent = 4
    generator = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
    discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
    generator.apply(weights_init)
    discriminator.apply(weights_init)
    criterion = nn.BCELoss()
    optimizer_d = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizer_g = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    for step in progress(args.steps, "training"):
        real = ring(args.batch)
        fake = generator(torch.randn(args.batch, latent))
        ones, zeros = torch.full((args.batch,), 1.0), torch.full((args.batch,), 0.0)

        discriminator.zero_grad()
        loss_real = criterion(discriminator(real).view(-1), ones)
        loss_real.backward()
        loss_fake = criterion(discriminator(fake.detach()).view(-1), zeros)
        loss_fake.backward()
        optimizer_d.step()

        generator.zero_grad()
        loss_g = criterion(discriminator(fake).view(-1), ones)
        loss_g.backward()
        optimizer_g.step()
        report(step, loss_d=(loss_real + loss_fake).item(), loss_g=loss_g.item())
    with torch.no_grad():
        radius = generator(torch.randn(512, latent)).norm(dim=1)
    print(f"distance of generated points from the center: mean {radius.mean().item():.2f}, standard deviation {radius.std().item():.2f}")


if __name__ == "__main__":
    main()
