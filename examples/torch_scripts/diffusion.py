"""Denoising diffusion of digits: a small U-Net predicts the noise that was added; then samples are made by removing noise step by step."""

import copy
import math

import torch
import torch.nn.functional as F
from common import arguments, digits, progress, report
from torch import nn, optim

TIMES = 30


class Block(nn.Module):
    def __init__(self, inside, out, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inside), nn.Conv2d(inside, out, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(4, out), nn.Conv2d(out, out, 3, padding=1)
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, 2 * out))
        self.skip = nn.Conv2d(inside, out, 1) if inside != out else nn.Identity()

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(t)[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (scale + 1) + shift
        return self.conv2(F.silu(h)) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width=8, time=32):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.GELU(), nn.Linear(time, time))
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.down, self.shrink = Block(width, width, time), nn.Conv2d(width, 2 * width, 4, 2, 1)
        self.middle = Block(2 * width, 2 * width, time)
        self.grow = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * width, width, 3, padding=1))
        self.up = Block(2 * width, width, time)
        self.last = nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, t):
        half = self.width // 2
        angles = t[:, None] * torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        t = self.time(torch.cat((angles.sin(), angles.cos()), dim=-1))
        kept = self.down(self.first(x), t)
        h = self.middle(self.shrink(kept), t)
        return self.last(self.up(torch.cat([self.grow(h), kept], dim=1), t))


def at(values, t):
    return values.gather(0, t).view(-1, 1, 1, 1)


@torch.inference_mode()
def sampled(model, betas, kept, shape):
    image = torch.randn(shape)
    for i in reversed(range(TIMES)):
        t = torch.full(shape[:1], i)
        noise = model(image, t.to(image.dtype))
        image = (image - at(betas, t) * noise / at((1 - kept).sqrt(), t)) / at((1 - betas).sqrt(), t)
        if i > 0:
            image = image + at(betas, t).sqrt() * torch.randn_like(image)
    return image.clamp(-1, 1)


def main():
    args = arguments(__doc__, steps=300, batch=32)
    images, _ = digits(512)
    images = images.view(-1, 1, 12, 12).clamp(0, 1) * 2 - 1
    betas = torch.linspace(1e-4, 0.2, TIMES)
    kept = torch.cumprod(1 - betas, dim=0)
    model = UNet()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=args.steps + 1)
    for step in progress(args.steps, "training"):
        x = images[torch.randint(len(images), (args.batch,))]
        t, noise = torch.randint(0, TIMES, (args.batch,)), torch.randn_like(x)
        noisy = at(kept.sqrt(), t) * x + at((1 - kept).sqrt(), t) * noise
        loss = F.mse_loss(model(noisy, t.to(x.dtype)), noise)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.05)
        report(step, loss=loss.item())
    for row in sampled(average, betas, kept, (1, 1, 12, 12))[0, 0]:
        print("".join(" .:*#"[int(2.49 * (v + 1))] for v in row.tolist()))


if __name__ == "__main__":
    main()
